"""What findings say of what they found, where the rule alone does not say it."""

from __future__ import annotations

from typing import Any

import pytest

from tests.compliance.cases import checked, group


@pytest.mark.parametrize(
    ("rule", "told"),
    [
        ({"IpProtocol": "tcp", "FromPort": 0, "ToPort": 65535}, "for all ports, SSH, RDP and Jupyter among them"),
        ({"IpProtocol": "-1"}, "for all ports, SSH, RDP and Jupyter among them"),
        ({"IpProtocol": "tcp", "FromPort": 20, "ToPort": 4000}, "for port 22 (SSH) and port 3389 (RDP)"),
        ({"IpProtocol": "tcp", "FromPort": 8888, "ToPort": 8888}, "for port 8888 (Jupyter)"),
    ],
)
def test_whatever_ports_are_open_to_everybody_are_named(rule: dict[str, Any], told: str) -> None:
    properties = {"SecurityGroupIngress": [{**rule, "CidrIp": "0.0.0.0/0"}]}
    door = {"Type": "EC2::SecurityGroup", "Properties": properties}
    template = group(launch={"SecurityGroupIds": [{"Ref": "Door"}]}, Door=door)
    (finding,) = checked(template, "administration-open-to-everybody").findings
    assert told in finding.message
