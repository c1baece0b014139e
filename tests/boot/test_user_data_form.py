"""User data fits into EC2's limit at its longest, and stays a script that others can wrap."""

from __future__ import annotations

import email
import re
from email.message import Message
from email.mime.multipart import MIMEMultipart
from email.mime.text import MIMEText
from typing import Any

import pytest
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_fsx as fsx
from aws_cdk import aws_logs as logs
from constructs import Construct

from constructs_lib import AcceleratedFleet, FleetLogs, FleetStorage, LustreMount, MachineSetup, Telemetry
from constructs_lib.catalog import known_types
from tests.constructs.reading import text, user_data
from tests.constructs.scenarios import SCENARIOS, template
from tests.support.stacks import fleet, fleet_template, stack, vpc

LIMIT = 16_384  # "limited to 16 KB, in raw form, before it is base64-encoded", EC2 User Guide
FOR_THE_WORKLOAD = 4_096
MOST_TYPES = 40  # overrides of a mixed instances policy, "Amazon EC2 Auto Scaling quotas"
FLEETS = sorted(set(SCENARIOS) - {"idle_release"})


def file_system(scope: Construct, number: int) -> fsx.LustreFileSystem:
    """One whose names only a deploy settles."""
    network = vpc(scope, f"Vpc{number}")
    return fsx.LustreFileSystem(
        scope,
        f"FileSystem{number}",
        vpc=network,
        vpc_subnet=network.private_subnets[0],
        storage_capacity_gib=1_200,
        lustre_configuration=fsx.LustreConfiguration(deployment_type=fsx.LustreDeploymentType.SCRATCH_2),
    )


def longest(scope: Construct) -> AcceleratedFleet:
    """As many and as long types as a group takes, and everything that makes the script or its files longer."""
    chosen = [
        each.name
        for each in known_types().values()
        if (each.kind, each.driver, each.architecture, each.status) == ("nvidia", "open", "x86_64", "current")
        and each.instance_store_gb
        and each.fraction is None  # a fraction of an accelerator has no clocks of its own
    ]
    return fleet(
        scope,
        instance_types=sorted(chosen, key=len)[-MOST_TYPES:],
        telemetry=Telemetry(
            application_metrics=[f"application_metric_{number}" for number in range(10)],
            network=True,
            swap=True,
            processes=["python.*worker", "triton.*"],
            logs=FleetLogs(files=[f"/var/log/application/worker-{number}.log" for number in range(5)]),
        ),
        storage=FleetStorage(
            instance_store_path="/mnt/instance-store/data",
            lustre=[
                LustreMount(file_system=file_system(scope, number), path=f"/mnt/lustre/data-{number}", read_only=True)
                for number in range(4)
            ],
        ),
        machine=MachineSetup(persistence_mode=True, application_clocks=True, huge_pages=1_000, open_files=1_048_576),
    )


def deployed(rendered: str) -> str:
    """What the longest names make of it: 255 characters for a resource, the longest Region, an account of 12 digits."""
    rendered = rendered.replace("<AWS::Region>", "ap-southeast-99").replace("${AWS::Region}", "ap-southeast-99")
    return re.sub(r"<[A-Za-z0-9.:]+>", "n" * 255, rendered.replace("${AWS::AccountId}", "1" * 12))


def test_the_longest_script_leaves_room_for_a_workload() -> None:
    size = len(deployed(user_data(fleet_template(build=longest))).encode())
    assert size + FOR_THE_WORKLOAD <= LIMIT


@pytest.mark.parametrize("name", FLEETS)
def test_every_script_is_well_within_the_limit(name: str) -> None:
    assert len(deployed(user_data(template(name))).encode()) + FOR_THE_WORKLOAD <= LIMIT


@pytest.mark.parametrize("name", FLEETS)
def test_it_is_a_plain_script_of_bash(name: str) -> None:
    script = user_data(template(name))
    assert script.startswith("#!/bin/bash\n")
    assert "\r" not in script
    assert "\0" not in script


@pytest.mark.parametrize("name", FLEETS)
def test_it_survives_as_a_part_of_a_mime_message(name: str) -> None:
    """AWS Batch and EKS merge their own parts with ours: cloud-init reads each by its type."""
    script = user_data(template(name))
    message = MIMEMultipart()
    message.attach(MIMEText("#cloud-config\npackages: []\n", "cloud-config"))
    message.attach(MIMEText(script, "x-shellscript"))
    read = email.message_from_string(message.as_string())
    assert parts(read)["text/x-shellscript"] == script


def test_the_cdks_own_wrapping_keeps_it() -> None:
    """A launch template of a managed node group or compute environment is given it so."""
    made = stack()
    own = fleet(made).launch_template.user_data
    assert own is not None
    wrapped = ec2.MultipartUserData()
    wrapped.add_part(ec2.MultipartBody.from_user_data(own))
    (part,) = [
        each
        for each in email.message_from_string(text(made.resolve(wrapped.render()))).walk()
        if not each.is_multipart()
    ]
    assert part.get_content_type() == "text/x-shellscript"
    # CloudFormation encodes the part when it deploys; until then it stands there as it is.
    assert part["Content-Transfer-Encoding"] == "base64"
    assert str(part.get_payload()).strip() == text(made.resolve(own.render())).strip()


def parts(message: Message) -> dict[str, str]:
    """The parts of a message by their type, decoded."""
    found: dict[str, str] = {}
    for part in message.walk():
        if not part.is_multipart():
            body: Any = part.get_payload(decode=True)
            found[part.get_content_type()] = body.decode("utf-8")
    return found


def test_the_retention_of_logs_is_no_matter_of_the_script() -> None:
    def kept(days: logs.RetentionDays) -> str:
        return user_data(fleet_template(telemetry=Telemetry(logs=FleetLogs(retention=days))))

    assert kept(logs.RetentionDays.ONE_DAY) == kept(logs.RetentionDays.ONE_YEAR)
