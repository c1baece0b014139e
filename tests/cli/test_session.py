"""Whose credentials ask AWS, and how its answers are followed."""

from __future__ import annotations

import boto3
from moto import mock_aws

from constructs_lib.cli.session import session_for, tell_calls


@mock_aws
def test_each_call_of_the_clients_is_told() -> None:
    session = session_for(None, "eu-west-1")
    told: list[str] = []
    tell_calls(session, told.append)

    session.client("ec2", aws_access_key_id="a", aws_secret_access_key="b").describe_regions()

    assert told == ["ec2:DescribeRegions"]
    assert isinstance(session, boto3.Session)
