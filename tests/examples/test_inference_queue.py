"""The inference queue: a VPC that is given, and jobs that are not lost."""

from __future__ import annotations

from typing import Any

import pytest
from aws_cdk import App

from examples.inference_queue.app import build
from tests.constructs.reading import as_list, plain, properties, resources


def templates(**context: str) -> dict[str, dict[str, Any]]:
    app = App(context=context)
    build(app)
    return {stack.stack_name: stack.template for stack in app.synth().stacks_recursively}


@pytest.fixture(scope="module")
def made() -> dict[str, dict[str, Any]]:
    return templates()


def test_a_given_vpc_is_used_and_none_is_made(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CDK_DEFAULT_ACCOUNT", "111122223333")
    monkeypatch.setenv("CDK_DEFAULT_REGION", "eu-central-1")
    found = templates(vpc_id="vpc-0123456789abcdef0")
    assert found.keys() == {"InferenceQueue"}
    assert resources(found["InferenceQueue"], "AWS::EC2::VPC") == {}


def test_own_network_costs_nothing_while_the_fleet_is_at_zero(made: dict[str, dict[str, Any]]) -> None:
    network = made["InferenceQueueNetwork"]
    for billed in ("AWS::EC2::NatGateway", "AWS::EC2::VPCEndpoint", "AWS::EC2::EIP"):
        assert resources(network, billed) == {}


def test_case_52_nothing_is_left_after_destroy(made: dict[str, dict[str, Any]]) -> None:
    for template in made.values():
        assert not [id for id, each in template["Resources"].items() if each.get("DeletionPolicy") == "Retain"]


def test_a_job_that_fails_three_times_is_kept_apart(made: dict[str, dict[str, Any]]) -> None:
    jobs = properties(made["InferenceQueue"], "Jobs", "AWS::SQS::Queue")
    assert plain(jobs["RedrivePolicy"]) == {"deadLetterTargetArn": "<FailedJobs.Arn>", "maxReceiveCount": 3}


def test_workers_may_take_jobs_from_the_queue(made: dict[str, dict[str, Any]]) -> None:
    policy = properties(made["InferenceQueue"], "InferenceRoleDefaultPolicy", "AWS::IAM::Policy")
    (statement,) = plain(policy["PolicyDocument"]["Statement"])
    assert statement["Resource"] == "<Jobs.Arn>"
    assert {"sqs:ReceiveMessage", "sqs:DeleteMessage", "sqs:ChangeMessageVisibility"} <= set(
        as_list(statement["Action"])
    )
