"""The services together, behind clients that look like boto3's."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from datetime import datetime, timedelta
from typing import Any

from botocore.exceptions import ReadTimeoutError

from tests.handlers.fake_aws.auto_scaling import FakeAutoScaling
from tests.handlers.fake_aws.calls import (
    Call,
    Fault,
    Parameters,
    check_answer,
    check_parameters,
    operation_names,
    refusal,
)
from tests.handlers.fake_aws.groups import FakeGroup, FakeMember
from tests.handlers.fake_aws.hooks import LAUNCHING, TERMINATING, FakeHook
from tests.handlers.fake_aws.machines import FakeEc2, FakeMachine, FakeSessions
from tests.handlers.fake_aws.metrics import FakeMetrics
from tests.handlers.fake_aws.parameters import FakeParameter, FakeParameters
from tests.handlers.fake_aws.stacks import FakeStacks
from tests.handlers.fake_aws.time import ManualClock
from tests.handlers.fake_aws.topics import FakeTopics

NAMESPACE = "AcceleratedFleet"
GPU = "nvidia_smi_utilization_gpu"

_CHANGING = (
    "Complete",
    "Create",
    "Delete",
    "Modify",
    "Put",
    "Resume",
    "Set",
    "Suspend",
    "Terminate",
    "Update",
)
# A parameter holds what a function remembers: no change of the fleet.
_REMEMBERING = "PutParameter"


class FakeQueues:
    """SQS. `attributes` is what GetQueueAttributes answers, whatever it was asked for."""

    def __init__(self) -> None:
        self.attributes: dict[str, str] = {}

    def hold(self, *, visible: int, in_flight: int = 0) -> None:
        self.attributes = {
            "ApproximateNumberOfMessages": str(visible),
            "ApproximateNumberOfMessagesNotVisible": str(in_flight),
        }

    def get_queue_attributes(self, parameters: Parameters) -> dict[str, Any]:
        return {"Attributes": self.attributes} if self.attributes else {}


class FakeSystemsManager(FakeSessions, FakeParameters):
    """Systems Manager: sessions and parameters."""

    def __init__(self, clock: ManualClock) -> None:
        FakeSessions.__init__(self)
        FakeParameters.__init__(self, clock)


class FakeAws:
    """An account. `calls` records every call; `before` holds what happens just before each call."""

    def __init__(self) -> None:
        self.clock = ManualClock()
        self.autoscaling = FakeAutoScaling(self.clock)
        self.cloudformation = FakeStacks()
        self.ec2 = FakeEc2()
        self.cloudwatch = FakeMetrics()
        self.sns = FakeTopics()
        self.ssm = FakeSystemsManager(self.clock)
        self.sqs = FakeQueues()
        self.calls: list[Call] = []
        self.faults: list[Fault] = []
        self.before: list[Callable[[Call], None]] = []

    def client(self, service: str) -> Any:
        return _Client(self, service)

    def fail(
        self,
        operation: str,
        error: Exception | str,
        *,
        times: int | None = None,
        matches: Callable[[Parameters], bool] = lambda parameters: True,
    ) -> None:
        """Make the next `times` calls of an operation fail, or all of them."""
        raised = refusal(error) if isinstance(error, str) else error
        self.faults.append(Fault(operation, raised, times, matches))

    def lose_answers(
        self,
        operation: str,
        error: Exception | None = None,
        *,
        times: int | None = None,
        matches: Callable[[Parameters], bool] = lambda parameters: True,
    ) -> None:
        """Let the next `times` calls of an operation take effect and answer with an error, or all of them."""
        lost = error or ReadTimeoutError(endpoint_url="https://aws")
        self.faults.append(Fault(operation, lost, times, matches, takes_effect=True))

    def add_group(
        self,
        name: str,
        members: Iterable[str] = (),
        *,
        min_size: int = 0,
        max_size: int = 10_000,
        desired: int | None = None,
        protected: bool = True,
        age: timedelta = timedelta(days=1),
        tags: Mapping[str, str] = {},
    ) -> FakeGroup:
        """Create a group whose members have all been running for `age`. Desired is their number by default; the
        tags are on the group and on its members."""
        ids = list(members)
        group = FakeGroup(name, min_size, max_size, len(ids) if desired is None else desired, tags=dict(tags))
        group.clock = self.clock
        self.autoscaling.groups[name] = group
        for instance_id in ids:
            group.members.append(FakeMember(instance_id, protected=protected))
            self.add_machine(instance_id, age=age, tags={"aws:autoscaling:groupName": name, **tags})
        return group

    def add_hook(
        self,
        group_name: str,
        name: str = "Drain",
        *,
        launching: bool = False,
        heartbeat_seconds: int = 360,
        default_result: str = "CONTINUE",
    ) -> FakeHook:
        transition = LAUNCHING if launching else TERMINATING
        hook = FakeHook(name, transition, heartbeat_seconds, default_result)
        self.autoscaling.groups[group_name].hooks.append(hook)
        return hook

    def add_parameter(self, name: str, value: str = "{}") -> FakeParameter:
        return self.ssm.hold(name, value)

    def bury(self, group_name: str) -> list[str]:
        """Let hooks time out and those go that nothing holds up; their machines end. Return who went."""
        group = self.autoscaling.groups[group_name]
        group.time_out()
        gone = group.bury()
        for instance_id in gone:
            self.ec2.machines[instance_id].state = "terminated"
        return gone

    def add_machine(
        self, instance_id: str, *, age: timedelta = timedelta(days=1), tags: Mapping[str, str] = {}
    ) -> FakeMachine:
        machine = FakeMachine(instance_id, self.clock.now() - age, dict(tags))
        self.ec2.machines[instance_id] = machine
        return machine

    def publish(
        self,
        instance_id: str,
        value: float,
        *,
        metric: str = GPU,
        minutes: int = 180,
        until: datetime | None = None,
    ) -> None:
        """Publish one value a minute for an instance, up to now."""
        end = until or self.clock.now()
        samples = {end - timedelta(minutes=back): value for back in range(1, minutes + 1)}
        self.cloudwatch.publish(NAMESPACE, metric, {"InstanceId": instance_id}, samples)

    def operations(self) -> list[str]:
        return [call.operation for call in self.calls]

    def changes(self) -> list[Call]:
        """Return the calls that asked for a change of the fleet, answered or not."""
        changing = [call for call in self.calls if call.operation.startswith(_CHANGING)]
        return [call for call in changing if call.operation != _REMEMBERING]

    def terminated(self) -> list[str]:
        """Return who is on the way out, by whatever way."""
        members = [m for group in self.autoscaling.groups.values() for m in group.members]
        machines = self.ec2.machines.values()
        return sorted(
            {m.instance_id for m in members if m.lifecycle_state.startswith("Terminating")}
            | {m.instance_id for m in machines if m.state in ("shutting-down", "terminated")}
        )

    def perform(self, call: Call, implementation: Callable[[Parameters], Any]) -> Any:
        check_parameters(call)
        self.calls.append(call)
        for happen in self.before:
            happen(call)
        for fault in self.faults:
            if fault.applies_to(call):
                if fault.takes_effect:
                    implementation(call.parameters)
                raise fault.error
        return implementation(call.parameters)


class _Client:
    def __init__(self, world: FakeAws, service: str) -> None:
        self._world = world
        self._service = service

    def __getattr__(self, method: str) -> Callable[..., Any]:
        operation = operation_names(self._service)[method]
        implementation = getattr(getattr(self._world, self._service), method)

        def call(**parameters: Any) -> Any:
            made = Call(self._service, operation, parameters)
            answer = self._world.perform(made, implementation)
            if answer is not None and not self._world.cloudwatch.raw_values:
                check_answer(made, answer)
            return answer

        return call
