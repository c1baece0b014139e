"""The scaling of cluster managers and auto-stop tools: nodes for what waits, at once; an idle one ends after a time."""

from __future__ import annotations

from typing import TYPE_CHECKING

from constructs_lib.rehearsal.optimum import billionths
from constructs_lib.rehearsal.rooms import Rooms

if TYPE_CHECKING:
    from constructs_lib.rehearsal.cloud.group import Group
    from constructs_lib.rehearsal.work import Work
    from constructs_lib.rehearsal.world import World

_MINUTE = 60


class IdleNodes:
    """Looks at the queue and at each node once a minute, and needs no metric for it: the scheduler knows its nodes.

    It launches what the waiting jobs need beside the room that there is or will be, and ends each node that has had
    nothing to do for ``idle_minutes`` since it could take work. It never ends one at work.
    """

    def __init__(self, idle_minutes: int) -> None:
        self._idle_s = idle_minutes * _MINUTE

    def minute(self, world: World) -> None:
        """Do what is to be done in a minute."""
        assert world.staff is not None, "there are jobs"
        self._end_idle(world.group, world.staff.work, world.now)
        self._launch(world.group, world.staff.work)

    def _end_idle(self, group: Group, work: Work, now: int) -> None:
        for instance in group.in_service:
            since = work.idle_since(instance.id)
            if since is not None and now - since >= self._idle_s:
                group.terminate(instance.id, decrement=True)

    def _launch(self, group: Group, work: Work) -> None:
        """Ask for the nodes that are there and those that the waiting jobs need beside them, first come, first served.

        What was asked for before and is no longer needed is asked for no longer.
        """
        wanted = self._needed(group, work) if work.queue.visible else len(group.alive)
        if wanted != group.desired and group.minimum <= wanted <= group.maximum:
            group.set_desired(wanted)

    def _needed(self, group: Group, work: Work) -> int:
        rooms = Rooms(work.accelerators)
        for number, instance in enumerate(group.alive):
            rooms.open(number)
            rooms.hold(number, billionths(work.in_use(instance.id)))
        for job in work.queue.visible:
            held = billionths(work.jobs[job].accelerators)
            place = rooms.fullest_for(held)
            if place is None:
                if len(rooms) >= group.maximum:
                    break
                place = len(rooms)
                rooms.open(place)
            rooms.hold(place, held)
        return len(rooms)
