"""Two or more passes at once, in every order that matters: a pass waits at each call until it is its turn."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from tests.handlers.fake_aws.world import FakeAws

_PATIENCE_SECONDS = 30


@dataclass
class Walk:
    """One pass on its way. `result` and `error` are what became of it."""

    run: Callable[[], Any]
    result: Any = None
    error: BaseException | None = None
    done: bool = False
    may_go: threading.Semaphore = field(default_factory=lambda: threading.Semaphore(0))
    has_stopped: threading.Semaphore = field(default_factory=lambda: threading.Semaphore(0))

    def walk(self) -> None:
        try:
            self.result = self.run()
        except BaseException as error:
            self.error = error
        self.done = True
        self.has_stopped.release()

    def step(self) -> None:
        """Let it make one call and go on to just before the next, or to its end."""
        self.may_go.release()
        assert self.has_stopped.acquire(timeout=_PATIENCE_SECONDS), "a pass neither called nor ended"


def run_interleaved(aws: FakeAws, turns: Sequence[int], *runs: Callable[[], Any]) -> list[Walk]:
    """Run the passes, each making a call when its number comes up in `turns`; who is left over then runs to its end."""
    walks = [Walk(run) for run in runs]
    of_thread: dict[int, Walk] = {}

    def wait_for_turn(call: object) -> None:
        walk = of_thread.get(threading.get_ident())
        if walk is not None:
            walk.has_stopped.release()
            assert walk.may_go.acquire(timeout=_PATIENCE_SECONDS), "a pass was left waiting"

    aws.before.append(wait_for_turn)
    threads = []
    for walk in walks:

        def start(walk: Walk = walk) -> None:
            of_thread[threading.get_ident()] = walk
            walk.walk()

        threads.append(threading.Thread(target=start, daemon=True))
        threads[-1].start()
        assert walk.has_stopped.acquire(timeout=_PATIENCE_SECONDS), "a pass neither called nor ended"
    for turn in turns:
        if not walks[turn].done:
            walks[turn].step()
    for walk in walks:
        while not walk.done:
            walk.step()
    for thread in threads:
        thread.join(timeout=_PATIENCE_SECONDS)
    aws.before.remove(wait_for_turn)
    return walks


def all_turns(first: int, second: int) -> Iterator[tuple[int, ...]]:
    """Yield every order of `first` calls of pass 0 and `second` calls of pass 1."""
    for places in itertools.combinations(range(first + second), first):
        yield tuple(0 if place in places else 1 for place in range(first + second))
