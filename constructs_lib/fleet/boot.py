"""What an instance does when it boots: node program, driver, machine settings, agent, and last the workload."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import jsii
from aws_cdk import IResolveContext, IStringProducer, Lazy
from aws_cdk import aws_ec2 as ec2
from constructs import IValidation

from constructs_lib.errors import ArgumentError
from constructs_lib.fleet.agent_delivery import largest_size
from constructs_lib.node import names
from constructs_lib.telemetry.names import LOG_GROUP_PLACEHOLDER
from constructs_lib.validation import complaint

_HERE = Path(__file__).resolve().parent
_NODE = _HERE.parent / "node"
_CONFIG_DIRECTORY = names.SETTINGS_FILE.rpartition("/")[0]
_FALLBACK_CONFIG = f"{_CONFIG_DIRECTORY}/agent-fallback.json"
_DRIVER_ENVIRONMENT = f"{_CONFIG_DIRECTORY}/driver.env"
_WORKLOAD = f"{_CONFIG_DIRECTORY}/workload"
_WARM_SCRIPT = f"{_CONFIG_DIRECTORY}/warm-boot.sh"
_WARM_UNIT = "/etc/systemd/system/accelerated-warm.service"
_USUAL_FALLBACK = _NODE / "units" / "agent-fallback.json"
_END_OF_FILE = "FLEET_END_OF_FILE"
_DRIVER_TIMEOUT_SECONDS = 300
_TOKEN_BYTES = 128  # longer than what names, ARNs and addresses mostly are; all at their longest would leave no room
_EC2_LIMIT_BYTES = 16_384  # "User data is limited to 16 KB, in raw form, before it is base64-encoded", EC2 User Guide


def boot_user_data(
    where: str,
    *,
    driver_probe: str,
    node_program: str,
    node_settings: str,
    agent_sources: Sequence[str],
    fallback_config: str,
    log_group_name: str | None,
    asset_region: str,
    workload: ec2.UserData | None,
    ready_hook: str | None = None,
) -> ec2.UserData:
    """The instances' user data.

    The workload runs as a program of its own, after everything else, whether or not the accelerator answered (a team's
    script may be what installs the driver); ``ACCELERATOR_READY`` in its environment says ``yes`` or ``no``.

    Args:
        where: construct path, for messages.
        driver_probe: shell command that lists the accelerators and succeeds once the driver answers.
        node_program: ``NodeProgram.url``.
        node_settings: what ``settings_json`` returned.
        agent_sources: ``AgentDelivery.source`` of each configuration with the accelerator, in the order in which the
            agent is offered them until it takes one.
        fallback_config: the configuration without the accelerator, as JSON: the last one that the agent is offered. The
            node program brings that of a fleet with ``Telemetry()``.
        log_group_name: stands for the placeholder in the configurations. None: none of them names a log group.
        asset_region: Region of the assets' bucket, that of the stack.
        workload: the team's own user data.
        ready_hook: name of the launch hook of a group with a warm pool. The workload is then started when the instance
            enters service, at each boot. None: there is no pool, and it is started by this script.

    Raises:
        ArgumentError: the workload is not a Linux script, or everything together is longer than EC2 takes.
    """
    group = "" if log_group_name is None else log_group_name
    user_data = ec2.UserData.for_linux()
    user_data.add_commands(
        f"ASSET_REGION={_word(asset_region)}",
        f"NODE_PROGRAM={_word(node_program)}",
        f"AGENT_SOURCES=({' '.join(_word(source) for source in agent_sources)})",
        *([f"LOG_GROUP={_word(group)}"] if group else []),
        f"mkdir -p {_CONFIG_DIRECTORY}",
        *_file(_DRIVER_ENVIRONMENT, _driver_environment(driver_probe)),
        *_fallback(fallback_config, group),
        *_file(names.SETTINGS_FILE, node_settings),
        f". {_DRIVER_ENVIRONMENT}",
        *_program((_HERE / "boot.sh").read_text(encoding="utf-8")),
    )
    if workload is not None:
        if not workload.render().startswith("#!"):
            rule = "be a Linux script that begins with '#!'"
            cure = "make it with ec2.UserData.for_linux()"
            raise ArgumentError(complaint(where, "user_data", rule, workload.render(), cure))
        later = Lazy.uncached_string(_Rendered(workload))
        starts = [_WORKLOAD] if ready_hook is None else []
        user_data.add_commands(*_file(_WORKLOAD, later), f"chmod +x {_WORKLOAD}", *starts)
    if ready_hook is not None:
        user_data.add_commands(*_warm_service(ready_hook))
    check_user_data_size(where, user_data, workload)
    return user_data


def check_user_data_size(where: str, user_data: ec2.UserData, workload: ec2.UserData | None) -> None:
    """Refuse user data that EC2 would refuse at launch, when nobody is looking any more."""
    size = largest_size(user_data.render(), _TOKEN_BYTES)
    if workload is not None:
        # The script holds a token in the workload's place.
        size += largest_size(workload.render(), _TOKEN_BYTES) - _TOKEN_BYTES
    if size > _EC2_LIMIT_BYTES:
        rule = (
            f"leave the whole script within {_EC2_LIMIT_BYTES} bytes, {_TOKEN_BYTES} for each value not known at synth"
        )
        cure = (
            "put the workload on the image or in S3 and fetch it from the script, or measure or copy less "
            "(Telemetry: application_metrics, processes, log files)"
        )
        raise ArgumentError(complaint(where, "user_data", rule, size, cure))


@jsii.implements(IStringProducer)
class _Rendered:
    """A team's user data as it stands at synthesis, with what was added to it after the fleet was made."""

    def __init__(self, user_data: ec2.UserData) -> None:
        self._user_data = user_data

    def produce(self, context: IResolveContext) -> str:
        """Render it, as the CDK asks."""
        return self._user_data.render()


def _driver_environment(driver_probe: str) -> str:
    """Assignments that a shell and systemd read alike."""
    return f"DRIVER_PROBE={_word(driver_probe)}\nDRIVER_TIMEOUT={_DRIVER_TIMEOUT_SECONDS}"


def _fallback(configuration: str, log_group_name: str) -> list[str]:
    """Nothing for the usual one: every template that has it would be longer for it."""
    if configuration == _USUAL_FALLBACK.read_text(encoding="utf-8").strip():
        return []
    content = configuration.replace(LOG_GROUP_PLACEHOLDER, log_group_name)
    return [f"AGENT_FALLBACK={_FALLBACK_CONFIG}", *_file(_FALLBACK_CONFIG, content)]


def _warm_service(ready_hook: str) -> list[str]:
    """A service that begins when the whole user data is over, what is added to it later included, at each boot.

    It is wanted by cloud-init's own target, which some images order behind the usual one.
    """
    script = _program((_HERE / "warm_boot.sh").read_text(encoding="utf-8"))
    unit = [
        "[Unit]",
        "Description=Prepares this machine in its warm pool, and starts the workload in service",
        "After=cloud-final.service",
        "[Service]",
        # What the workload leaves running in the background is not ended with the script.
        "Type=oneshot",
        "RemainAfterExit=yes",
        f"ExecStart=/bin/bash {_WARM_SCRIPT}",
        "[Install]",
        "WantedBy=cloud-init.target",
    ]
    name = _WARM_UNIT.rpartition("/")[2]
    return [
        *_file(_WARM_SCRIPT, "\n".join([f"READY_HOOK={_word(ready_hook)}", *script])),
        *_file(_WARM_UNIT, "\n".join(unit)),
        f"systemctl daemon-reload; systemctl enable {name}; systemctl start --no-block {name}",
    ]


def _word(text: str) -> str:
    """One word of a shell command, whatever is in the text. What a token becomes at deploy has no quote in it."""
    return "'" + text.replace("'", "'\"'\"'") + "'"


def _file(path: str, content: str) -> list[str]:
    return [f"cat >{path} <<'{_END_OF_FILE}'", content, _END_OF_FILE]


def _program(source: str) -> list[str]:
    """The lines of a script without what is for readers of the file, not for the template: comments, indentation."""
    lines = [line.strip() for line in source.splitlines()]
    return [line for line in lines if line and not line.startswith("#")]


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
