"""Runs the commands that read a machine, with time limits, so that no tool can hold the program up."""

from __future__ import annotations

import select
import signal
from collections.abc import Callable, Sequence

from .child import Child
from .readings import FAILED, HUNG, MISSING, Command, NoReading, Output
from .stuck import Stuck

KILL_GRACE_SECONDS = 1.0
"""How long a child may take to end after SIGTERM, and again after SIGKILL."""


Waiter = Callable[[Sequence[int], float], Sequence[int]]
"""Waits until one of the files has something, at most for so many seconds, and returns those that have."""


def wait_for_files(files: Sequence[int], seconds: float) -> list[int]:
    """Wait in real time."""
    poll = select.poll()
    for file in files:
        poll.register(file, select.POLLIN)
    return [file for file, _ in poll.poll(max(0.0, seconds) * 1000)]


class Tools:
    """Runs commands side by side. Each is a process group, of which nothing is left afterwards.

    A child that cannot be ended is left to `stuck`: as long as it lives, its command counts as hung and is not started
    again. `clock` gives seconds and never goes back.
    """

    def __init__(self, stuck: Stuck, clock: Callable[[], float], wait: Waiter = wait_for_files) -> None:
        self._stuck = stuck
        self._clock = clock
        self._wait = wait

    def run(self, commands: Sequence[Command]) -> list[Output | NoReading]:
        """Run the commands at the same time and return what each answered.

        It returns within the longest time limit, and two seconds more when something has to be killed.
        """
        attempts = [self._start(command) for command in commands]
        children = [attempt for attempt in attempts if isinstance(attempt, Child)]
        try:
            self._listen(children)
        finally:
            self._end(children)
        return [attempt.answer() if isinstance(attempt, Child) else attempt for attempt in attempts]

    def run_one(self, command: Command) -> Output | NoReading:
        """Run a single command."""
        return self.run([command])[0]

    def _start(self, command: Command) -> Child | NoReading:
        name = command.argv[0]
        pid = self._stuck.living(command.argv)
        if pid is not None:
            return NoReading(HUNG, f"{name}: process {pid} cannot be ended; it is not started again before that")
        try:
            return Child(command, self._clock() + command.time_limit_seconds)
        except FileNotFoundError:
            return NoReading(MISSING, f"{name}: not on this machine")
        except OSError as error:
            return NoReading(FAILED, f"{name}: cannot be started: {error}")

    def _listen(self, children: Sequence[Child]) -> None:
        """Take in what the children say until each has answered or its time is over."""
        while True:
            now = self._clock()
            for child in children:
                if not child.done and now >= child.deadline:
                    child.give_up(HUNG, f"no answer within {child.command.time_limit_seconds:g} s")
            talking = [child for child in children if not child.done]
            if not talking:
                return
            owners = {file: child for child in talking for file in child.files}
            for file in self._wait(tuple(owners), min(child.deadline for child in talking) - now):
                owners[file].take(file)

    def _end(self, children: Sequence[Child]) -> None:
        for number in (signal.SIGTERM, signal.SIGKILL):
            for child in children:
                child.ask_to_end(number)
            self._see_them_end([child for child in children if not child.exited])
        for child in children:
            child.close()
            if not child.exited:
                self._stuck.remember(child.command.argv, child.process)

    def _see_them_end(self, children: list[Child]) -> None:
        deadline = self._clock() + KILL_GRACE_SECONDS
        while children and self._clock() < deadline:
            ended = self._wait([child.end_file for child in children], deadline - self._clock())
            for child in children:
                child.exited = child.end_file in ended
            children = [child for child in children if not child.exited]
