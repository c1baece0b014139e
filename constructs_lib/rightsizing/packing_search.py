"""Makes a packing smaller with OR-Tools' CP-SAT, a few units at a time.

Each step takes the emptiest unit and some others, and asks the solver for the packing of their items into the same
units that leaves the least in the emptiest one. When nothing is left in it, it is gone. Where all units fit into one
step, a complete answer of the solver also proves that no packing needs fewer.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from types import ModuleType
from typing import Any

from constructs_lib.errors import MissingExtraError
from constructs_lib.rightsizing.packing_problem import Problem, Unit

_UNITS_AT_A_TIME = 6
# Places for all items together, up to which all units are taken at a time.
_FEW_PLACES = 500
_EFFORT_OF_A_STEP = 0.1
# A step that the solver answers at once still costs the time to write it down.
_LEAST_OF_A_STEP = 0.005
# So many steps in a row that find nothing: more of them will not.
_MOST_STEPS_IN_VAIN = 200


def solver() -> ModuleType:
    """Return OR-Tools' CP-SAT.

    Raises:
        MissingExtraError: it is not installed.
    """
    try:
        from ortools.sat.python import cp_model
    except ImportError as error:
        raise MissingExtraError(
            "pack: ortools must be installed, and is not; pip install ortools, "
            "or pip install '.[packing]' in a checkout of the library"
        ) from error
    return cp_model


def search(problem: Problem, units: list[Unit], *, enough: int, effort: float) -> tuple[list[Unit], bool]:
    """Return a packing of at most as many units, and whether it is proven that none needs fewer.

    Args:
        problem: the items and the units.
        units: a packing.
        enough: number of units that no packing can do without.
        effort: of the solver in all, in its deterministic seconds: steps of its work, the same on every machine.
    """
    cp_model = solver()
    choice = random.Random(0)
    spent, in_vain = 0.0, 0
    while len(units) > enough and spent < effort and in_vain < _MOST_STEPS_IN_VAIN:
        units.sort(key=lambda unit: _load(problem, unit))
        places = len(problem.items) * len(units) * problem.slots
        everything = len(units) <= _UNITS_AT_A_TIME or places <= _FEW_PLACES
        chosen = range(1, len(units))
        picked = [0, *(chosen if everything else choice.sample(chosen, _UNITS_AT_A_TIME - 1))]
        step = effort - spent if everything else _EFFORT_OF_A_STEP
        packed, complete, used = _pack_again(cp_model, problem, [units[each] for each in picked], step)
        spent += max(used, _LEAST_OF_A_STEP)
        in_vain = 0 if _load(problem, packed[0]) < _load(problem, units[0]) else in_vain + 1
        for each, unit in zip(picked, packed, strict=True):
            units[each] = unit
        units = [unit for unit in units if any(unit)]
        if everything and len(units) == len(packed):
            return units, complete
    return units, len(units) <= enough


def _load(problem: Problem, unit: Unit) -> int:
    return sum(problem.weight(problem.items[number]) for slot in unit for number in slot)


def _pack_again(
    cp_model: Any, problem: Problem, units: Sequence[Unit], effort: float
) -> tuple[list[Unit], bool, float]:
    """Pack the items of some units into the same units, as little as possible into the first one.

    Return the units, whether less in the first one is impossible, and the effort.
    """
    model = cp_model.CpModel()
    places = [(unit, slot) for unit in range(len(units)) for slot in range(problem.slots)]
    lies = {
        (number, unit, slot): model.new_bool_var("")
        for number in sorted(number for each in units for slot in each for number in slot)
        for unit, slot in places
    }
    numbers = sorted({number for number, _, _ in lies})
    for number in numbers:
        model.add_exactly_one(lies[number, unit, slot] for unit, slot in places)
    for unit, slot in places:
        for size, capacity in (("memory", problem.memory), ("share", problem.share)):
            sizes = [getattr(problem.items[number], size) for number in numbers]
            model.add(cp_model.LinearExpr.weighted_sum([lies[each, unit, slot] for each in numbers], sizes) <= capacity)
    for members in _members(problem, numbers):
        for unit in range(len(units)):
            model.add_at_most_one(lies[each, unit, slot] for each in members for slot in range(problem.slots))
    for (number, unit, slot), variable in lies.items():
        model.add_hint(variable, number in units[unit][slot])
    weights = [problem.weight(problem.items[number]) for number, unit, _ in lies if unit == 0]
    model.minimize(cp_model.LinearExpr.weighted_sum([lies[each] for each in lies if each[1] == 0], weights))

    asked = cp_model.CpSolver()
    asked.parameters.num_workers = 1
    asked.parameters.random_seed = 0
    asked.parameters.max_deterministic_time = effort
    status = asked.solve(model)
    used = float(asked.response_proto.deterministic_time)
    if status not in (cp_model.OPTIMAL, cp_model.FEASIBLE):
        return list(units), False, used
    packed: list[list[list[int]]] = [[[] for _ in range(problem.slots)] for _ in units]
    for (number, unit, slot), variable in lies.items():
        if asked.boolean_value(variable):
            packed[unit][slot].append(number)
    return [tuple(map(tuple, unit)) for unit in packed], status == cp_model.OPTIMAL, used


def _members(problem: Problem, numbers: Sequence[int]) -> list[list[int]]:
    """Items of each group that has two or more of them."""
    groups = sorted({group for number in numbers for group in problem.items[number].groups})
    members = [[number for number in numbers if group in problem.items[number].groups] for group in groups]
    return [each for each in members if len(each) > 1]
