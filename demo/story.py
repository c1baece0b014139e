"""The story that the demo tells, chapter by chapter. Each claim is checked against what the emulator answers."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from constructs_lib.node.drain.decision import Work
from constructs_lib.node.statsd import Metric
from demo import agent, cdk, deployment, drain, inventory, rehearsal, work
from demo.deployment import Deployment, only
from demo.emulator import ACCOUNT, REGION, REPOSITORY, Emulator
from demo.expiry import Expiry
from demo.report import Report

_INSTANCES = 3
_JOBS_OF_THE_BUSY_ONE = 1
_LATE_JOB_SECONDS = 40.0
_DAYS_TO_LIVE = 2


class StoryFailed(Exception):
    """Something did not come true."""


@dataclass
class Summary:
    """The figures of the story, as the emulator reports them."""

    deployed_stacks: list[str] = field(default_factory=list)
    resources_created: int = 0
    placeholder_resource_types: list[str] = field(default_factory=list)
    instances_started: list[dict[str, str]] = field(default_factory=list)
    released: list[str] = field(default_factory=list)
    kept: list[dict[str, str]] = field(default_factory=list)
    drained: list[dict[str, Any]] = field(default_factory=list)
    expired: str = ""
    resources_left: list[str] = field(default_factory=list)
    rehearsal: str = ""
    bootstrap_resources: list[str] = field(default_factory=list)
    seconds: float = 0.0


class Story:
    """One run: what is shared between the chapters."""

    def __init__(self, emulator: Emulator, report: Report, directory: Path, results: Path) -> None:
        self._emulator = emulator
        self._report = report
        self._directory = directory
        self._results = results
        self._assembly = directory / "cdk.out"
        self.summary = Summary()

    def tell(self) -> dict[str, Any]:
        """Run all chapters and return the summary. Raises what went wrong."""
        started = time.monotonic()
        empty = inventory.take(self._emulator)
        self._bootstrap()
        bootstrapped = inventory.take(self._emulator)
        self.summary.bootstrap_resources = inventory.named(bootstrapped - empty)
        deployed = self._deploy()
        members = self._wake(deployed)
        busy = members[0]["InstanceId"]
        self._measure(deployed, members, busy)
        self._release(deployed, members, busy)
        self._drain(deployed, busy)
        self._destroy(deployed, bootstrapped)
        self._expire(bootstrapped)
        self._rehearse()
        self.summary.seconds = round(time.monotonic() - started, 1)
        return asdict(self.summary)

    def _bootstrap(self) -> None:
        self._report.chapter("Deploy with the CDK command line")
        # An empty directory: bootstrapping needs no app, so none is synthesized.
        nowhere = self._directory / "nowhere"
        nowhere.mkdir()
        self._cdk("bootstrap", f"aws://{ACCOUNT}/{REGION}", directory=nowhere, limit_seconds=120)

    def _deploy(self) -> Deployment:
        options = ["--require-approval", "never", "--output", str(self._assembly)]
        self._cdk("deploy", deployment.FLEET_STACK, *options, directory=REPOSITORY, limit_seconds=240)
        stacks = deployment.deployed_stacks(self._emulator)
        _expect(set(stacks) == set(deployment.STACKS), f"both stacks are deployed, there are {stacks}")
        types = [r["ResourceType"] for stack in stacks for r in deployment.resources(self._emulator, stack)]
        placeholders = self._emulator.control("placeholders", {"types": sorted(set(types))})
        self.summary.deployed_stacks = stacks
        self.summary.resources_created = len(types)
        self.summary.placeholder_resource_types = placeholders
        self._report.done(f"{' and '.join(stacks)}: {len(types)} resources of {len(set(types))} types")
        self._report.note(f"types that are only placeholders in the emulator: {', '.join(placeholders) or 'none'}")
        return deployment.read(self._emulator)

    def _wake(self, deployed: Deployment) -> list[dict[str, Any]]:
        self._report.chapter("Wake: from zero to what the queue needs")
        desired = deployed.group()["DesiredCapacity"]
        _expect(desired == 0, f"the fleet rests at zero, desired capacity is {desired}")
        jobs = deployed.messages_per_instance * (_INSTANCES - 1) + 1
        work.put_jobs(deployed, jobs)
        self._report.done(f"{jobs} jobs on the queue; an instance works on {deployed.messages_per_instance} at a time")
        self._report.note(f"the wake function's deployed schedule is {deployed.wake.schedule}; its tick is sent now")
        decision = deployed.wake.invoke_as_scheduled()
        self._report.done(f"the wake function says: {decision['reason']}")
        desired, members = deployed.group()["DesiredCapacity"], deployed.running()
        _expect(desired == _INSTANCES, f"desired capacity is {_INSTANCES}, got {desired}")
        _expect(len(members) == _INSTANCES, f"{_INSTANCES} instances run, got {len(members)}")
        self.summary.instances_started = [
            {
                "id": member["InstanceId"],
                "type": member["InstanceType"],
                "zone": member["Placement"]["AvailabilityZone"],
                "image": member["ImageId"],
            }
            for member in members
        ]
        rows = [list(started.values()) for started in self.summary.instances_started]
        self._report.table(["instance", "type", "zone", "image"], rows)
        return members

    def _measure(self, deployed: Deployment, members: Sequence[dict[str, Any]], busy: str) -> None:
        self._report.chapter("Measure: one instance works, two have run out of work")
        past = deployed.window_seconds + deployed.warm_up_seconds
        self._emulator.control("back-date", {"group": deployed.group_name, "seconds": past})
        self._report.note(f"no account could do this: the launch times are moved {past // 60} minutes back")
        waiting, in_flight = work.finish_jobs(deployed, _JOBS_OF_THE_BUSY_ONE)
        counted = f"{waiting} jobs waiting, {in_flight} in flight"
        _expect((waiting, in_flight) == (0, _JOBS_OF_THE_BUSY_ONE), f"one job is left, in flight; got {counted}")
        self._report.done(f"the other jobs are finished: {counted}")
        listens = deployed.agent_configuration["metrics"]["metrics_collected"]["statsd"]["service_address"]
        host, port = deployed.node_settings.statsd
        _expect(f"{host}:{port}" == listens, f"the node program sends to where the agent listens, {listens}")
        points, sent = work.report_use(deployed, members, busy)
        self._show_sent(members, busy, sent)
        self._report.done(f"{points} points published as the deployed agent configuration says")
        self._prove_alarm_sees_it(deployed)

    def _show_sent(self, members: Sequence[dict[str, Any]], busy: str, sent: Mapping[str, Sequence[Metric]]) -> None:
        self._report.done("the node program's own reader and core say, with its deployed settings:")
        idle = next(member["InstanceId"] for member in members if member["InstanceId"] != busy)
        said = [{metric.name: f"{metric.value:g}" for metric in sent[each]} for each in (busy, idle)]
        self._report.table(["metric", "busy", "idle"], [(name, *(each[name] for each in said)) for name in said[0]])

    def _prove_alarm_sees_it(self, deployed: Deployment) -> None:
        """Query with the idle alarm's own metrics: the series that it watches exist, and are its group's."""
        rows = []
        queries = work.watched(deployed.idle_alarm)
        for query, values in zip(queries, work.values(deployed, queries), strict=True):
            metric, statistic = query["MetricStat"]["Metric"], query["MetricStat"]["Stat"]
            name, dimensions = metric["MetricName"], [d["Name"] for d in metric["Dimensions"]]
            _expect(bool(values), f"the idle alarm finds {name} by {metric['Dimensions']}")
            if statistic == "Maximum" and name in agent.BUSY.values:
                _expect(max(values) == agent.BUSY.values[name], f"{name} shows the busiest instance, got {values}")
            rows.append((name, statistic, ", ".join(dimensions), ", ".join(f"{value:g}" for value in values)))
        self._report.done("the idle alarm's own queries find it:")
        self._report.table(["metric", "statistic", "by", "values"], rows)
        found = work.values(deployed, work.watched(deployed.idle_alarm, dimension_suffix="-other"))
        _expect(not any(found), f"another group's name finds nothing, got {found}")
        self._report.done("the same queries with another group's name find nothing")

    def _release(self, deployed: Deployment, members: Sequence[dict[str, Any]], busy: str) -> None:
        self._report.chapter("Release: the idle go, the busy stays")
        schedule = deployed.release.schedule
        self._report.note(f"the release function's deployed schedule is {schedule}; its tick is sent now")
        answer = deployed.release.invoke_as_scheduled()
        ids = [member["InstanceId"] for member in members]
        leaving = drain.waiting(deployed)
        verdicts = {v["instance_id"]: v for v in deployed.release.log_lines() if v.get("message") == "verdict"}
        _expect(set(verdicts) == set(ids), f"a verdict on each member is in the log, got {sorted(verdicts)}")
        outcomes = [(each, "released" if each in leaving else "kept", verdicts[each]) for each in ids]
        self._report.table(
            ["instance", "verdict", "outcome", "reason"],
            [(each, verdict["verdict"], outcome, verdict["reason"]) for each, outcome, verdict in outcomes],
        )
        self.summary.released = [each for each, outcome, _ in outcomes if outcome == "released"]
        self.summary.kept = [
            {"id": each, "verdict": verdict["verdict"], "reason": verdict["reason"]}
            for each, outcome, verdict in outcomes
            if outcome == "kept"
        ]
        idle = [each for each in ids if each != busy]
        _expect(self.summary.released == idle, f"exactly the two idle are released, got {self.summary.released}")
        _expect(sorted(answer["released"]) == sorted(idle), f"the function says so too, it said {answer['released']}")
        desired = deployed.group()["DesiredCapacity"]
        _expect(desired == 1, f"desired capacity is 1, got {desired}")
        self._report.done("two released, one kept; desired capacity is 1")

    def _drain(self, deployed: Deployment, busy: str) -> None:
        self._report.chapter("Drain: who is to go finishes what has slipped in")
        late, idle = drain.waiting(deployed)
        self._report.note(f"a job has reached {late} in the very minute; its worker holds a busy mark")
        for instance_id, finish in ((late, _LATE_JOB_SECONDS), (idle, 0.0)):
            gone = drain.drain(deployed, instance_id, _work_for(finish))
            self.summary.drained.append({"id": gone.instance_id, "seconds": gone.seconds})
            self._report.done(f"{instance_id}, by its drain service with the deployed settings:")
            self._report.table(["second", "what it tells"], [(f"{at:.0f}", what) for at, what in gone.events])
            _expect(gone.seconds >= finish, f"the hook is completed after the work, it was after {gone.seconds:.0f} s")
        running = [instance["InstanceId"] for instance in deployed.running()]
        _expect(running == [busy], f"only the busy one runs on, got {running}")
        self._report.done("both have gone, as soon as nothing was left to do")

    def _destroy(self, deployed: Deployment, before: inventory.Inventory) -> None:
        self._report.chapter("Destroy, with a busy and protected instance still there")
        member = only(deployed.group()["Instances"], "member in the group")
        _expect(member["ProtectedFromScaleIn"], "the last instance is protected from scale-in")
        self._report.note(f"{member['InstanceId']} is protected: CloudFormation alone could not delete its group")
        options = ["--force", "--app", str(self._assembly)]
        with drain.attended(deployed, _work_for(_LATE_JOB_SECONDS)) as gone:
            self._cdk("destroy", *deployment.STACKS, *options, directory=REPOSITORY, limit_seconds=180)
        _expect([each.instance_id for each in gone] == [member["InstanceId"]], f"it drained before it went, got {gone}")
        self._report.done(f"{member['InstanceId']} finished its job first, {gone[0].seconds:.0f} s of the drain's time")
        after = inventory.take(self._emulator)
        self.summary.resources_left = inventory.named(after - before)
        _expect(not self.summary.resources_left, f"nothing is left, there is still {self.summary.resources_left}")
        _expect(after == before, f"nothing else is gone either, missing is {inventory.named(before - after)}")
        self._report.done("nothing left but what cdk bootstrap made")

    def _expire(self, before: inventory.Inventory) -> None:
        self._report.chapter("Expiry: a development stack that nobody removes")
        options = ["--require-approval", "never", "-c", f"expire_after_days={_DAYS_TO_LIVE}"]
        self._cdk("deploy", deployment.FLEET_STACK, *options, directory=REPOSITORY, limit_seconds=240)
        expiry = Expiry.of(self._emulator, deployment.FLEET_STACK)
        passes = (
            (0, None, False),
            (expiry.life_seconds - expiry.warning_seconds, "warning", False),
            (expiry.warning_seconds, "deleting", True),
        )
        rows, hours = [], 0
        for seconds, told, deleted in passes:
            expiry.pass_time(seconds)
            hours += seconds // 3600
            said = expiry.look()
            rows.append((hours, said["told"] or "nobody is told", said["reason"], said["deleted"]))
            _expect((said["told"], said["deleted"]) == (told, deleted), f"after {hours} h it is {told}, got {said}")
        self._report.note("no account could do this: the stack's creation is moved back between the looks")
        self._report.table(["age in hours", "told", "why", "deleted"], rows)
        with self._report.working("the stack goes"):
            expiry.wait_for_the_end()
        network = [each for each in deployment.STACKS if each != deployment.FLEET_STACK]
        self._cdk("destroy", *network, "--force", directory=REPOSITORY, limit_seconds=120)
        left = inventory.take(self._emulator) - before
        self.summary.expired = deployment.FLEET_STACK
        self.summary.resources_left += inventory.named(left)
        _expect(not left, f"the expired stack has left nothing, there is still {inventory.named(left)}")
        self._report.done("it was warned of, it went, and it left nothing")

    def _rehearse(self) -> None:
        self._report.chapter("Rehearse: two days of work on a simulated clock")
        template = self._assembly / f"{deployment.FLEET_STACK}.template.json"
        with self._report.working("the deployed template meets the example's trace"):
            found = rehearsal.rehearse_example(template)
        self._report.table(rehearsal.COLUMNS, rehearsal.rows(found))
        _expect(found.is_fine, "all work of the trace is done, and none of it was cut off")
        page = rehearsal.write_page(found, self._results)
        self.summary.rehearsal = str(page.relative_to(REPOSITORY))
        self._report.done(f"open {self.summary.rehearsal}: when there was work, what was there, what it cost")

    def _cdk(self, command: str, *arguments: str, directory: Path, limit_seconds: float) -> None:
        with self._report.working(f"cdk {command}") as show:
            cdk.run(self._emulator, command, *arguments, directory=directory, limit_seconds=limit_seconds, on_line=show)


def _work_for(seconds: float) -> Callable[[float], Work]:
    """One job, with a busy mark and an accelerator in use, that ends after so many seconds."""
    return lambda passed: Work(marks=int(passed < seconds), in_use=passed < seconds)


def _expect(true: bool, what: str) -> None:
    if not true:
        raise StoryFailed(f"This did not come true: {what}.")
