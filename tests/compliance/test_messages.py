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


def test_what_stops_an_instance_by_its_id_is_told_as_that() -> None:
    nights = {"Name": "AWS-StopEC2Instance", "Targets": [{"Key": "ParameterValues", "Values": [{"Ref": "Box"}]}]}
    checked_one = checked(
        template(
            Box={"Type": "EC2::Instance", "Properties": {"InstanceType": "g6.xlarge"}},
            Nights={"Type": "SSM::Association", "Properties": nights},
        ),
        "no-idle-release",
    )
    assert [each.reason for each in checked_one.not_judged] == ["Nights refers to it and may change it"]
