"""What findings say of what they found, where the rule alone does not say it."""

from __future__ import annotations

from typing import Any

import pytest

from tests.compliance.cases import checked, group, template


@pytest.mark.parametrize(
    ("rule", "told"),
    [
        ({"IpProtocol": "tcp", "FromPort": 0, "ToPort": 65535}, "for all ports, SSH, RDP and Jupyter among them"),
        ({"IpProtocol": "-1"}, "for all ports, SSH, RDP and Jupyter among them"),
        (
            {"IpProtocol": "tcp", "FromPort": 20, "ToPort": 4000},
            "for port 22 (SSH), port 2375 (Docker) and port 3389 (RDP)",
        ),
        (
            {"IpProtocol": "tcp", "FromPort": 20, "ToPort": 9000},
            "for port 22 (SSH), port 2375 (Docker), port 3389 (RDP) and 7 others",
        ),
        ({"IpProtocol": "tcp", "FromPort": 8888, "ToPort": 8888}, "for port 8888 (Jupyter)"),
    ],
)
def test_whatever_ports_are_open_to_everybody_are_named(rule: dict[str, Any], told: str) -> None:
    properties = {"SecurityGroupIngress": [{**rule, "CidrIp": "0.0.0.0/0"}]}
    door = {"Type": "EC2::SecurityGroup", "Properties": properties}
    opened = group(launch={"SecurityGroupIds": [{"Ref": "Door"}]}, Door=door)
    (finding,) = checked(opened, "administration-open-to-everybody").findings
    assert told in finding.message


@pytest.mark.parametrize("rule", ["instance-metadata-v1", "accelerators-not-measured", "cost-not-attributed"])
def test_of_a_fleet_of_many_specifications_one_is_told(rule: str) -> None:
    specifications = [{"InstanceType": each} for each in ("g6.xlarge", "g5.xlarge", "g4dn.xlarge")]
    fleet = {"SpotFleetRequestConfigData": {"LaunchSpecifications": specifications}}
    (finding,) = checked(template(Fleet={"Type": "EC2::SpotFleet", "Properties": fleet}), rule).findings
    assert finding.location.property.startswith("SpotFleetRequestConfigData.LaunchSpecifications[0]")


def test_a_region_that_nobody_knows_is_told_once_a_stack() -> None:
    several = template(
        **{
            name: {"Type": "EC2::Instance", "Properties": {"ImageId": "ami-1", "InstanceType": "g5.xlarge"}}
            for name in ("One", "Two", "Three")
        }
    )
    (open_,) = checked(several, "type-not-offered-in-region").not_judged
    assert open_.reason == "the Region that the stack goes to is not known: pass --region"


@pytest.mark.parametrize(
    ("size", "ends"),
    [({"Ref": "Least"}, ", got '3', the default of parameter Least"), ("3", ", got '3'")],
)
def test_a_value_that_is_the_default_of_a_parameter_is_told_as_such(size: Any, ends: str) -> None:
    declared = {"Parameters": {"Least": {"Type": "Number", "Default": "3"}}}
    (finding,) = checked(declared | group(properties={"MinSize": size}), "minimum-above-zero").findings
    assert finding.message.endswith(ends)


def test_a_list_that_is_the_default_of_a_parameter_is_told_as_such() -> None:
    declared = {"Parameters": {"Types": {"Type": "CommaDelimitedList", "Default": "p3.2xlarge, p3.8xlarge"}}}
    nodes = template(Nodes={"Type": "EKS::Nodegroup", "Properties": {"InstanceTypes": {"Ref": "Types"}}})
    found = checked(declared | nodes, "previous-generation-type").findings
    assert all(each.message.endswith(", the default of parameter Types") for each in found)
    assert len(found) == 2


def _stopping(**more: Any) -> list[tuple[str, str]]:
    """Of which machine nobody can tell whether it is stopped, and why, or that it is not: of two, one beside more."""
    machine = {"Type": "EC2::Instance", "Properties": {"InstanceType": "g6.xlarge"}}
    report = checked(template(Box=machine, Other=machine, **more), "no-idle-release")
    found = [(each.resource, "found") for each in report.findings]
    return sorted([*found, *((each.resource, each.reason) for each in report.not_judged)])


def test_what_stops_a_machine_by_its_id_is_told_as_that_and_stops_no_other() -> None:
    told = [("Box", "Nights refers to it and may change it"), ("Other", "found")]
    by_id = {"Targets": [{"Key": "ParameterValues", "Values": [{"Ref": "Box"}]}]}
    assert (
        _stopping(Nights={"Type": "SSM::Association", "Properties": {"Name": "AWS-StopEC2Instance", **by_id}}) == told
    )

    target = {"ResourceType": "INSTANCE", "Targets": [{"Key": "InstanceIds", "Values": [{"Ref": "Box"}]}]}
    task = {
        "TaskArn": "AWS-StopEC2Instance",
        "Targets": [{"Key": "WindowTargetIds", "Values": [{"Ref": "Chosen"}]}],
    }
    window = {
        "Chosen": {"Type": "SSM::MaintenanceWindowTarget", "Properties": target},
        "Nights": {"Type": "SSM::MaintenanceWindowTask", "Properties": task},
    }
    assert _stopping(**window) == told


def test_what_stops_machines_by_a_tag_may_stop_each() -> None:
    by_tag = {"Name": "AWS-StopEC2Instance", "Targets": [{"Key": "tag:team", "Values": ["vision"]}]}
    reason = "Nights may stop it, if it has the tags that are looked for"
    assert _stopping(Nights={"Type": "SSM::Association", "Properties": by_tag}) == [("Box", reason), ("Other", reason)]
