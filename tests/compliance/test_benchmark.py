"""What the benchmark measures with: a template as large as it says, whose references stay among its copies."""

from __future__ import annotations

import pytest

from benchmarks.compliance import repeated
from constructs_lib.compliance import check_template

FLEET = {
    "Parameters": {"Tokens": {"Type": "String", "Default": "optional"}},
    "Resources": {
        "Launch": {
            "Type": "AWS::EC2::LaunchTemplate",
            "Properties": {
                "LaunchTemplateData": {
                    "InstanceType": "g6.xlarge",
                    "MetadataOptions": {"HttpTokens": {"Ref": "Tokens"}},
                }
            },
        },
        "Group": {
            "Type": "AWS::AutoScaling::AutoScalingGroup",
            "Properties": {
                "MinSize": "0",
                "MaxSize": "1",
                "LaunchTemplate": {
                    "LaunchTemplateId": {"Ref": "Launch"},
                    "Version": {"Fn::GetAtt": ["Launch", "LatestVersionNumber"]},
                },
            },
        },
    },
}


@pytest.mark.parametrize("count", [0, 1, 2, 7])
def test_there_are_as_many_resources_as_asked_for(count: int) -> None:
    assert len(repeated(FLEET, count)["Resources"]) == count


def test_each_copy_is_judged_as_the_first_is() -> None:
    found = check_template(repeated(FLEET, 6), select=["instance-metadata-v1"]).findings
    assert [each.resource for each in found] == ["Launch0", "Launch1", "Launch2"]
