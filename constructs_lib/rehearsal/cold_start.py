"""How long a fleet's instance takes from being asked for until it can take work: a distribution, stage by stage.

The figures are those of :mod:`constructs_lib.rightsizing.start_stages`. The stages of one start are drawn apart from
each other, each between the quantiles that were measured. None of it is of your image and your model: give what you
have measured in its place.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

from constructs_lib.rehearsal.traces.quantiles import Quantiles
from constructs_lib.rightsizing.cold_start import IMAGE_GB
from constructs_lib.rightsizing.start_stages import StartStage, start_stages
from constructs_lib.validation import number, one_of

MODEL_GB = 16.06
"""The weights whose fetching was measured: Llama 3.1 8B in 16 bits."""
POOL_STATES = ("Stopped", "Hibernated", "Running")
"""How Auto Scaling can keep the instances of a warm pool."""

_WHERE = "ColdStart"
_APART = "stages are drawn independently of each other, though a slow start may be slow in all; so are starts"


class Start(NamedTuple):
    """One start, in seconds.

    Attributes:
        capacity_wait_s: from being asked for until EC2 has the instance; nobody pays it.
        boot_s: from then until it runs its user data, and can be in service.
        ready_s: from the launch, as ``boot_s``, until it can take work.
    """

    capacity_wait_s: float
    boot_s: float
    ready_s: float


@dataclass(frozen=True, kw_only=True)
class Stage:
    """A stage of this fleet's starts.

    Attributes:
        figures: how long it takes.
        gigabytes: what it moves, for a stage whose time is by the GB. Default: None.
    """

    figures: StartStage
    gigabytes: float | None = None

    @cached_property
    def quantiles(self) -> Quantiles:
        """What its time is drawn from, before the GB."""
        return Quantiles(self.figures.quantiles)

    def seconds(self, share: float) -> float:
        """Return the time within which a share of the starts, from 0 to 1, are through with it."""
        return self.quantiles.at(share) * (1.0 if self.gigabytes is None else self.gigabytes)

    def describe(self) -> dict[str, Any]:
        """Return figures, source and date, fit for JSON."""
        figures = self.figures
        stated: dict[str, Any] = {
            "stage": figures.name,
            "unit": figures.unit,
            "quantiles": [list(point) for point in figures.quantiles],
            "median_s": round(self.seconds(0.5), 6),
            "measured": figures.measured,
            "what": figures.what,
            "source": figures.source,
            "date": figures.date,
            "licence": figures.licence,
        }
        if self.gigabytes is not None:
            stated["gigabytes"] = self.gigabytes
        return stated


@dataclass(frozen=True, kw_only=True)
class ColdStart:
    """The stages of a fleet's starts; made by one of the factories below.

    Attributes:
        capacity: the wait for capacity, None for none.
        boot: until the instance runs its user data.
        setup: what follows until it can take work.
        notes: what was taken for granted, for people.
    """

    capacity: Stage | None
    boot: Stage
    setup: tuple[Stage, ...] = ()
    notes: tuple[str, ...] = ()

    @staticmethod
    def default(
        *,
        image_gb: float = IMAGE_GB,
        model_gb: float = MODEL_GB,
        model_s: float | None = None,
        driver_baked: bool = True,
        capacity_wait: bool = True,
    ) -> ColdStart:
        """The published figures, put together for a fleet.

        Args:
            image_gb: size of the container image that a new instance pulls, as the registry has it; 0 if its machine
                image has all that it runs. Default: 10.78, the one whose pull was measured.
            model_gb: size of the weights that it fetches before it serves; 0 if they are there already.
                Default: 16.06, Llama 3.1 8B in 16 bits.
            model_s: seconds that your work takes from a container that runs until the first job, as you have measured
                them, in place of ``model_gb``; 0 for work that serves no model. Default: None.
            driver_baked: whether the machine image has the driver. Default: yes, as those of this library.
            capacity_wait: whether EC2 lets some launches wait for capacity. Default: yes.

        Raises:
            ArgumentError: a size or a time is no number from 0 on.
        """
        cure = "give GB, 0 for nothing to fetch"
        image_gb = number(_WHERE, "image_gb", image_gb, minimum=0, maximum=10_000, cure=cure)
        known = start_stages()
        setup = [] if driver_baked else [Stage(figures=known["driver"])]
        if image_gb:
            setup.append(Stage(figures=known["image"], gigabytes=image_gb))
        if model_s is not None:
            work = _given("work", model_s, parameter="model_s")
            setup += [work] if model_s else []
        else:
            model_gb = number(_WHERE, "model_gb", model_gb, minimum=0, maximum=100_000, cure=cure)
            setup.append(Stage(figures=known["server"]))
            if model_gb:
                setup.append(Stage(figures=known["weights"], gigabytes=model_gb))
        return ColdStart(
            capacity=Stage(figures=known["capacity"]) if capacity_wait else None,
            boot=Stage(figures=known["boot"]),
            setup=tuple(setup),
            notes=(_APART,),
        )

    @staticmethod
    def fixed(*, boot_s: float, ready_s: float) -> ColdStart:
        """Every start takes the same, and none waits for capacity.

        Args:
            boot_s: seconds from the launch until the instance is up.
            ready_s: seconds from the launch until it can take work; not before it is up.

        Raises:
            ArgumentError: one of them is no number from 0 on, or work could be taken before the instance is up.
        """
        boot = _given("boot", boot_s, parameter="boot_s")
        ready = number(_WHERE, "ready_s", ready_s, minimum=boot_s, cure="give seconds from the launch, boot included")
        return ColdStart(capacity=None, boot=boot, setup=(_given("setup", ready - boot_s, parameter="ready_s"),))

    def from_pool(self, state: str) -> ColdStart:
        """Return how an instance of a warm pool starts: it has gone through the set-up before.

        A server of models has its weights on the disk of a stopped instance, and loads them; a hibernated or a running
        one has them in memory.

        Args:
            state: in which the pool keeps its instances; ``Stopped``, ``Hibernated`` or ``Running``.

        Raises:
            ArgumentError: Auto Scaling has no such state.
        """
        one_of(_WHERE, "state", state, POOL_STATES, cure="name the state of the warm pool")
        loads = [stage for stage in self.setup if state == "Stopped" and stage.figures.name in ("server", "work")]
        boot = Stage(figures=start_stages()[state.lower()])
        return replace(self, capacity=None if state == "Running" else self.capacity, boot=boot, setup=tuple(loads))

    def sample(self, dice: random.Random) -> Start:
        """Draw one start. How many numbers it draws does not depend on what they are."""
        wait = 0.0 if self.capacity is None else self.capacity.seconds(dice.random())
        boot = self.boot.seconds(dice.random())
        return Start(wait, boot, boot + sum(stage.seconds(dice.random()) for stage in self.setup))

    def describe(self) -> dict[str, Any]:
        """Return every stage with its figures, their source and date, fit for JSON.

        ``median_s`` is the sum of the stages' medians without the wait for capacity.
        """
        paid = (self.boot, *self.setup)
        stages = paid if self.capacity is None else (self.capacity, *paid)
        return {
            "median_s": round(sum(stage.seconds(0.5) for stage in paid), 6),
            "stages": [stage.describe() for stage in stages],
            "notes": list(self.notes),
        }


def _given(name: str, seconds: float, *, parameter: str) -> Stage:
    """A stage that always takes what the user says."""
    value = number(_WHERE, parameter, seconds, minimum=0, cure="give seconds, 0 for none")
    return Stage(
        figures=StartStage(
            name=name,
            unit="s",
            quantiles=((0.0, value), (1.0, value)),
            measured=0,
            what="the same at each start",
            source="given",
            date="",
            licence=None,
        )
    )
