"""What an instance does when it boots: the agent first, then the workload."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.resources import files

import jsii
from aws_cdk import IResolveContext, IStringProducer, Lazy
from aws_cdk import aws_ec2 as ec2
from constructs import IValidation

from constructs_lib.errors import ArgumentError
from constructs_lib.validation import complaint

_AGENT_CTL = "/opt/aws/amazon-cloudwatch-agent/bin/amazon-cloudwatch-agent-ctl"
_FALLBACK_CONFIG = "/etc/accelerated-fleet/agent-without-accelerator.json"
_WORKLOAD = "/etc/accelerated-fleet/workload"
_END_OF_FILE = "ACCELERATED_FLEET_END_OF_FILE"
_DRIVER_TIMEOUT_SECONDS = 300
_EC2_LIMIT_BYTES = 16_384  # "User data is limited to 16 KB, in raw form, before it is base64-encoded", EC2 User Guide


def boot_user_data(
    where: str,
    *,
    agent_parameter: str,
    fallback_config: str,
    driver_probe: Sequence[str],
    workload: ec2.UserData | None,
) -> ec2.UserData:
    """The instances' user data.

    The workload runs as a program of its own, after the agent, whether or not the accelerator answered (a team's script
    may be what installs the driver); ``ACCELERATOR_READY`` in its environment says ``yes`` or ``no``.

    Args:
        where: construct path, for messages.
        agent_parameter: name of the SSM parameter with the agent's full configuration.
        fallback_config: the configuration without the accelerator, as JSON.
        driver_probe: command that lists the accelerators and succeeds once the driver answers.
        workload: the team's own user data.

    Raises:
        ArgumentError: the workload is not a Linux script, or everything together is longer than EC2 takes.
    """
    user_data = ec2.UserData.for_linux()
    user_data.add_commands(
        f"AGENT_CTL={_AGENT_CTL}",
        f"AGENT_CONFIG=ssm:{agent_parameter}",
        f"FALLBACK_CONFIG={_FALLBACK_CONFIG}",
        f"DRIVER_PROBE='{' '.join(driver_probe)}'",
        f"DRIVER_TIMEOUT={_DRIVER_TIMEOUT_SECONDS}",
        f"mkdir -p {_FALLBACK_CONFIG.rpartition('/')[0]}",
        *_file(_FALLBACK_CONFIG, fallback_config),
        *_program(files("constructs_lib.fleet").joinpath("boot.sh").read_text(encoding="utf-8")),
    )
    if workload is not None:
        if not workload.render().startswith("#!"):
            rule = "be a Linux script that begins with '#!'"
            cure = "make it with ec2.UserData.for_linux()"
            raise ArgumentError(complaint(where, "user_data", rule, workload.render(), cure))
        later = Lazy.uncached_string(_Rendered(workload))
        user_data.add_commands(*_file(_WORKLOAD, later), f"chmod +x {_WORKLOAD}", _WORKLOAD)
    check_user_data_size(where, user_data, workload)
    return user_data


def check_user_data_size(where: str, user_data: ec2.UserData, workload: ec2.UserData | None) -> None:
    """Refuse user data that EC2 would refuse at launch, when nobody is looking any more."""
    size = len(user_data.render().encode()) + len("" if workload is None else workload.render().encode())
    if size > _EC2_LIMIT_BYTES:
        rule = f"leave the whole script within {_EC2_LIMIT_BYTES} bytes"
        cure = "put the workload on the image or in S3 and fetch it from the script"
        raise ArgumentError(complaint(where, "user_data", rule, size, cure))


@jsii.implements(IStringProducer)
class _Rendered:
    """A team's user data as it stands at synthesis, with what was added to it after the fleet was made."""

    def __init__(self, user_data: ec2.UserData) -> None:
        self._user_data = user_data

    def produce(self, context: IResolveContext) -> str:
        """Render it, as the CDK asks."""
        return self._user_data.render()


def _file(path: str, content: str) -> list[str]:
    return [f"cat >{path} <<'{_END_OF_FILE}'", content, _END_OF_FILE]


def _program(source: str) -> list[str]:
    """The lines of the boot program without its comments, which are for readers of the file, not for the template."""
    return [line for line in source.splitlines() if line.strip() and not line.lstrip().startswith("#")]


@jsii.implements(IValidation)
class UserDataSize:
    """Measures the user data once more at synthesis, with whatever was added to it on the way."""

    def __init__(self, where: str, user_data: ec2.UserData, workload: ec2.UserData | None) -> None:
        self._where = where
        self._user_data = user_data
        self._workload = workload

    def validate(self) -> list[str]:
        """Return what is wrong, as the CDK asks."""
        try:
            check_user_data_size(self._where, self._user_data, self._workload)
        except ArgumentError as error:
            return [str(error)]
        return []
