"""One sweep: read, judge, note; read what is due once more; free it; tell."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from orphan_sweep.decision import Judgement, Standing, judge, plan
from orphan_sweep.endpoints import Endpoints
from orphan_sweep.fleet import Belongings, FleetUnreadable, read_belongings
from orphan_sweep.leftovers import Account, Leftovers, NotFreed, is_gone
from orphan_sweep.log_groups import LogGroups
from orphan_sweep.machines import Machines
from orphan_sweep.marks import write_mark
from orphan_sweep.network import Addresses, Interfaces
from orphan_sweep.report import SweepReport
from orphan_sweep.storage import Snapshots, Volumes
from orphan_sweep.templates import TemplateVersions
from orphan_sweep.things import Thing
from runtime.aws_errors import AWS_ERRORS, error_code
from runtime.patience import OutOfTime
from runtime.structured_log import Json, StructuredLog

MOST_FREED = 100
"""In one sweep. Whatever is wrong with a sweep that wants more, it has a day to be stopped."""

_READ_AGAIN_TOGETHER = 10

# An answer without a field that must be there is as good as none.
_UNREADABLE = (*AWS_ERRORS, OutOfTime, FleetUnreadable, KeyError, TypeError, ValueError)


class SweepIncomplete(Exception):
    """Something could not be read or done.

    Raised when everything else is done and told, so that the invocation counts as failed. Of a sort that could not be
    read, nothing has been freed.
    """


@dataclass(frozen=True, kw_only=True)
class Sweep:
    """A sweep of one fleet's leftovers. With `changes_nothing` it judges and tells, and notes nothing either."""

    account: Account
    log: StructuredLog
    changes_nothing: bool

    def run(self) -> dict[str, Json]:
        """Return the summary. Raises `SweepIncomplete` after a partial sweep."""
        settings = self.account.settings
        acts = settings.acts and not self.changes_nothing
        report = SweepReport(
            group_name=settings.auto_scaling_group, hold_tag_key=settings.rules.hold_tag_key, acts=acts
        )
        sorts = self._sorts()
        belongings = self._belongings(report)
        if belongings is None:
            report.unknown = [each.sort for each in sorts]
        elif belongings.going:
            self.log.info("nothing to sweep", why="the group is being deleted, and its leftovers with it")
            return report.summary()
        else:
            self._sweep(sorts, belongings, report)
        report.write(self.log, settings.namespace, self.account.patience.clock.now())
        self._tell(report)
        if report.failures:
            raise SweepIncomplete(f"{len(report.failures)} failures, first: {report.failures[0]}")
        return report.summary()

    def _sorts(self) -> list[Leftovers]:
        snapshots = [] if self.account.settings.rules.snapshot_age is None else [Snapshots(self.account)]
        return [
            Machines(self.account),
            Addresses(self.account),
            Interfaces(self.account),
            Volumes(self.account),
            *snapshots,
            TemplateVersions(self.account),
            LogGroups(self.account),
            Endpoints(self.account),
        ]

    def _belongings(self, report: SweepReport) -> Belongings | None:
        try:
            return read_belongings(self.account.clients, self.account.settings, self.account.patience)
        except _UNREADABLE as error:
            report.failures.append(f"what belongs to the fleet could not be read: {_why(error)}")
            return None

    def _sweep(self, sorts: Sequence[Leftovers], belongings: Belongings, report: SweepReport) -> None:
        judged: list[tuple[Leftovers, list[Judgement]]] = []
        for each in sorts:
            try:
                things = each.find(belongings)
            except _UNREADABLE as error:
                report.unknown.append(each.sort)
                report.failures.append(f"{each.sort.value}: could not be read: {_why(error)}")
                continue
            judged.append((each, self._judge(things)))
        report.judgements = [judgement for _, judgements in judged for judgement in judgements]
        if self.changes_nothing:
            return
        for each, judgements in judged:
            self._note(each, judgements, report)
        if report.acts:
            for each, judgements in judged:
                self._act(each, plan(judgements).free, report)

    def _judge(self, things: Sequence[Thing]) -> list[Judgement]:
        now, rules = self.account.patience.clock.now(), self.account.settings.rules
        return [judge(thing, rules, now) for thing in things]

    def _note(self, leftovers: Leftovers, judgements: Sequence[Judgement], report: SweepReport) -> None:
        asked = plan(judgements)
        if not asked.mark and not asked.unmark:
            return
        mark = write_mark(self.account.patience.clock.now())
        refused = leftovers.note(asked.mark, asked.unmark, mark)
        report.failures += [f"{id}: the sighting could not be noted: {why}" for id, why in refused.items()]
        # What could not be noted is new once more the next time; told every day, nobody would read it.
        report.noted += [thing for thing in asked.mark if not {thing.id, thing.id.partition(":")[0]} & refused.keys()]

    def _act(self, leftovers: Leftovers, due: Sequence[Thing], report: SweepReport) -> None:
        """Free what is due, as long as there is room for more."""
        room = MOST_FREED - len(report.freed)
        for thing in due[room:]:
            report.spared[thing.id] = f"more than {MOST_FREED} in one sweep"
        for start in range(0, min(room, len(due)), _READ_AGAIN_TOGETHER):
            self._act_on(leftovers, due[start : min(room, start + _READ_AGAIN_TOGETHER)], report)

    def _act_on(self, leftovers: Leftovers, due: Sequence[Thing], report: SweepReport) -> None:
        """Read a few again, with all that may use them, and free what is still due.

        Nobody is chosen anew: what was not due a moment ago waits for the next sweep.
        """
        chosen = {thing.id: thing for thing in due}
        try:
            belongings = read_belongings(self.account.clients, self.account.settings, self.account.patience)
            again = self._judge([] if belongings.going else leftovers.again(list(chosen), belongings))
        except _UNREADABLE as error:
            report.failures.append(f"{leftovers.sort.value}: could not be read again: {_why(error)}")
            report.spared.update(dict.fromkeys(chosen, "could not be read again"))
            return
        now = {each.thing.id: each for each in again}
        for id in chosen:
            if id not in now:
                report.spared[id] = "gone meanwhile, or the group is going"
            elif now[id].standing is not Standing.DUE:
                report.spared[id] = now[id].reason
            else:
                self._free(leftovers, chosen[id], report)

    def _free(self, leftovers: Leftovers, thing: Thing, report: SweepReport) -> None:
        try:
            leftovers.free(thing)
        except (*AWS_ERRORS, OutOfTime, NotFreed) as error:
            if not is_gone(error):
                report.spared[thing.id] = _why(error)
                report.failures.append(f"{thing.id}: could not be freed: {_why(error)}")
                return
        report.freed.append(thing)
        self.log.info("freed", sort=thing.sort.value, id=thing.id)

    def _tell(self, report: SweepReport) -> None:
        said = None if self.changes_nothing else report.message()
        if said is None:
            return
        subject, text = said
        sns, topic = self.account.clients.sns, self.account.settings.topic_arn
        try:
            self.account.patience.call(
                "telling the topic", lambda: sns.publish(TopicArn=topic, Subject=subject, Message=text)
            )
        except (*AWS_ERRORS, OutOfTime) as error:
            report.failures.append(f"the topic could not be told: {_why(error)}")


def _why(error: Exception) -> str:
    return error_code(error) if isinstance(error, AWS_ERRORS) else f"{type(error).__name__}: {error}"
