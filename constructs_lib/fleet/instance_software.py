"""The software that the fleet puts on its instances: the node program, the agent's configuration, the boot script."""

from __future__ import annotations

from aws_cdk import RemovalPolicy, Stack
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_iam as iam
from aws_cdk import aws_logs as logs
from constructs import Construct

from constructs_lib.fleet.agent_delivery import AgentDelivery, deliver_agent_configuration
from constructs_lib.fleet.boot import UserDataSize, boot_user_data
from constructs_lib.fleet.fleet_tag import fleet_tag_value
from constructs_lib.fleet.instance_role import drain_statement
from constructs_lib.fleet.node_program import NodeProgram, settings_json
from constructs_lib.fleet.settings import FleetSettings
from constructs_lib.fleet.warm_pool import READY_HOOK
from constructs_lib.release import IdleSignal
from constructs_lib.telemetry import AgentConfiguration, log_statement


class InstanceSoftware:
    """What is made once for all instances, in the fleet's own scope.

    Attributes:
        log_group: where log files go; None without ``Telemetry(logs=...)``.
    """

    def __init__(self, scope: Construct, settings: FleetSettings) -> None:
        self._scope = scope
        self._settings = settings
        self._program = NodeProgram(scope, "NodeProgram")
        self.log_group = self._build_log_group()
        self._configurations = self._build_agent_configurations()

    def statements(self) -> list[iam.PolicyStatement]:
        """What the instances must be allowed: to fetch all this, to write to the log group, to complete the hook."""
        logging = [] if self.log_group is None else [log_statement(self.log_group)]
        drain = drain_statement(fleet_tag_value(self._scope))
        return [self._program.read_statement, *(each.statement for each in self._configurations), *logging, drain]

    def user_data(self, workload: ec2.UserData | None) -> ec2.UserData:
        """The boot script, with the team's own at its end.

        Raises:
            ArgumentError: the workload is not a Linux script, or everything together is longer than EC2 takes.
        """
        where = self._scope.node.path
        user_data = boot_user_data(
            where,
            driver_probe=self._settings.kind.driver_probe,
            node_program=self._program.url,
            node_settings=self._program_settings(),
            agent_sources=[each.source for each in self._configurations],
            fallback_config=AgentConfiguration.fallback(self._settings.telemetry).to_json(),
            log_group_name=self._log_group_name,
            asset_region=Stack.of(self._scope).region,
            workload=workload,
            ready_hook=None if self._settings.warm_pool is None else READY_HOOK,
        )
        self._scope.node.add_validation(UserDataSize(where, user_data, workload))
        return user_data

    def _build_log_group(self) -> logs.LogGroup | None:
        options = self._settings.telemetry.logs
        if options is None:
            return None
        return logs.LogGroup(self._scope, "Logs", retention=options.retention, removal_policy=RemovalPolicy.DESTROY)

    def _build_agent_configurations(self) -> list[AgentDelivery]:
        """In the order in which an instance tries them: an older agent refuses what it does not know."""
        settings, where = self._settings, self._scope.node.path
        full = AgentConfiguration.full(settings.types, settings.telemetry, where=where)
        essential = AgentConfiguration.essential(settings.types, settings.telemetry, where=where)
        return [
            deliver_agent_configuration(self._scope, id, each.to_json(), log_group_name=self._log_group_name)
            for id, each in (("AgentConfiguration", full), ("EssentialAgentConfiguration", essential))
            if each is not None
        ]

    @property
    def _log_group_name(self) -> str | None:
        return None if self.log_group is None else self.log_group.log_group_name

    def _program_settings(self) -> str:
        settings, where = self._settings, self._scope.node.path
        return settings_json(
            kind=settings.kind,
            types=settings.types,
            interval_seconds=settings.telemetry.resolution_seconds,
            measurements=settings.telemetry.node_measurements(settings.kind, settings.types, where=where),
            use_threshold=settings.idle.threshold(settings.kind, where=where),
            setup=settings.machine_settings,
            drain=settings.drain.settings(),
            network=IdleSignal.NETWORK in settings.idle.signals_with_node_program(),
        )
