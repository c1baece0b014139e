"""What an instance that is to go would do: its drain service, on a clock that the demo moves, in the emulator."""

from __future__ import annotations

import json
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from constructs_lib.node import names
from constructs_lib.node.drain.decision import Work
from constructs_lib.node.drain.service import Machine, Service
from constructs_lib.node.events import Events
from constructs_lib.node.instance_metadata import Identity
from constructs_lib.node.places import Places
from constructs_lib.node.settings import Drain
from demo.deployment import Deployment
from demo.emulator import REGION, Emulator

WAITING = "Terminating:Wait"
_LONGEST_SECONDS = 3600
_POLL_SECONDS = 0.3


@dataclass(frozen=True)
class Drained:
    """How an instance went: each thing that its drain service told, with the second in which it did."""

    instance_id: str
    events: tuple[tuple[float, str], ...]

    @property
    def seconds(self) -> float:
        """How long it took."""
        return self.events[-1][0]


def drain(deployed: Deployment, instance_id: str, work: Callable[[float], Work]) -> Drained:
    """Let the instance go, as its drain service does. ``work`` says what is on it after so many seconds.

    Raises TimeoutError if the service does not come to an end.
    """
    settings = deployed.node_settings.drain
    if settings is None:
        raise LookupError("the deployed settings of the node program ask for no drain")
    with tempfile.TemporaryDirectory(prefix="drain-") as root:
        return _Instance(deployed, instance_id, work, settings, Path(root)).run()


def waiting(deployed: Deployment) -> list[str]:
    """The members that a termination hook holds."""
    members = deployed.group()["Instances"]
    return [member["InstanceId"] for member in members if member["LifecycleState"] == WAITING]


@contextmanager
def attended(deployed: Deployment, work: Callable[[float], Work]) -> Iterator[list[Drained]]:
    """Let every instance that is to go drain by itself meanwhile. Gives the list of those that did."""
    gone: list[Drained] = []
    failures: list[Exception] = []
    over = threading.Event()

    def attend() -> None:
        while not over.wait(_POLL_SECONDS):
            try:
                gone.extend(drain(deployed, each, work) for each in waiting(deployed))
            except LookupError:
                return  # the group has gone
            except Exception as failure:
                failures.append(failure)
                return

    thread = threading.Thread(target=attend, name="drain", daemon=True)
    thread.start()
    try:
        yield gone
    finally:
        over.set()
        thread.join()
    if failures:
        raise failures[0]


@dataclass
class _Instance:
    deployed: Deployment
    instance_id: str
    work: Callable[[float], Work]
    settings: Drain
    root: Path
    seconds: float = 0.0
    completed: bool = False
    signalled: bool = False
    told: list[tuple[float, str]] = field(default_factory=list)

    def run(self) -> Drained:
        machine = Machine(
            identity=lambda: Identity(self.instance_id, "", 0.0, REGION),
            session=lambda: self._metadata,
            look=lambda _guard: self.work(self.seconds),
            team=_NoCommands(),
            crier=self,
            cloud=lambda _identity: self,
            now=lambda: self.seconds,
        )
        service = Service(self.settings, machine, Events(self._tell, lambda: self.seconds), Places(self.root))
        while not self.completed:
            if self.seconds > _LONGEST_SECONDS:
                raise TimeoutError(f"{self.instance_id} does not come to an end")
            service.step()
            self.seconds += service.pause
        return Drained(self.instance_id, tuple(self.told))

    def _metadata(self, path: str) -> str | None:
        return "Terminated" if path.endswith("autoscaling/target-lifecycle-state") else None

    def _tell(self, line: str) -> None:
        said: dict[str, Any] = json.loads(line)
        facts = {name: value for name, value in said.items() if name not in ("time", "event", "until")}
        self.told.append((self.seconds, " ".join([said["event"], *(f"{name}={facts[name]}" for name in facts)])))

    # The programs that hold a mark.

    def signal_holders(self) -> int:
        if self.signalled:
            return 0
        self.signalled = True
        return self.work(self.seconds).marks or 0

    def forget(self) -> None:
        self.signalled = False

    # AWS.

    def group(self) -> str:
        return self.deployed.group_name

    def publish(self, metric: str) -> None:
        self._client("cloudwatch").put_metric_data(
            Namespace=self.settings.namespace,
            MetricData=[
                {
                    "MetricName": metric,
                    "Dimensions": [{"Name": "AutoScalingGroupName", "Value": self.deployed.group_name}],
                    "Unit": "Count",
                    "Value": 1,
                }
            ],
        )

    def complete(self) -> bool:
        self._client("autoscaling").complete_lifecycle_action(
            AutoScalingGroupName=self.deployed.group_name,
            LifecycleHookName=names.DRAIN_HOOK,
            InstanceId=self.instance_id,
            LifecycleActionResult="CONTINUE",
        )
        self.completed = True
        return True

    def _client(self, service: str) -> Any:
        emulator: Emulator = self.deployed.emulator
        return emulator.client(service)


class _NoCommands:
    """The example gives none."""

    def start(self, which: str, text: str, reason: str, seconds_left: float) -> None:
        raise NotImplementedError(which)

    def running(self) -> frozenset[str]:
        return frozenset()

    def kill(self, which: str) -> None:
        raise NotImplementedError(which)
