"""The services together, behind clients that look like boto3's."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from datetime import datetime, timedelta
from typing import Any

from tests.handlers.fake_aws.auto_scaling import FakeAutoScaling, FakeGroup, FakeMember
from tests.handlers.fake_aws.calls import (
    Call,
    Fault,
    Parameters,
    check_answer,
    check_parameters,
    operation_names,
    refusal,
)
from tests.handlers.fake_aws.machines import FakeEc2, FakeMachine, FakeSessions
from tests.handlers.fake_aws.metrics import FakeMetrics
from tests.handlers.fake_aws.stacks import FakeStacks
from tests.handlers.fake_aws.time import ManualClock

NAMESPACE = "AcceleratedFleet"
GPU = "nvidia_smi_utilization_gpu"

_CHANGING = ("Terminate", "Set", "Update", "Suspend", "Modify", "Delete", "Put", "Create")


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


class FakeAws:
    """An account. `calls` records every call; `before` holds what happens just before each call."""

    def __init__(self) -> None:
        self.clock = ManualClock()
        self.autoscaling = FakeAutoScaling()
        self.cloudformation = FakeStacks()
        self.ec2 = FakeEc2()
        self.cloudwatch = FakeMetrics()
        self.ssm = FakeSessions()
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
        self.autoscaling.groups[name] = group
        for instance_id in ids:
            group.members.append(FakeMember(instance_id, protected=protected))
            self.add_machine(instance_id, age=age, tags={"aws:autoscaling:groupName": name, **tags})
        return group

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
        """Return the calls that asked for a change, answered or not."""
        return [call for call in self.calls if call.operation.startswith(_CHANGING)]

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
