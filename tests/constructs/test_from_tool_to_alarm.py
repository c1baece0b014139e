"""From what a kind's tool prints to what the handler and the alarms read, through the program's own code.

The template gives the program its settings and the agent its configuration; recorded answers of the tools go through
reader and program; the agent's model says which series come of it.
"""

from __future__ import annotations

import json
from functools import cache
from typing import Any

import pytest

from constructs_lib import FleetImage
from constructs_lib.node.derived import Counts, State, derive
from constructs_lib.node.readings import HUNG, Answer, NoReading, Reading
from constructs_lib.node.settings import Settings, parse_settings
from constructs_lib.node.statsd import packets
from tests.constructs.reading import agent_configuration, properties, user_data
from tests.node.readers.recorded import answer, recorded
from tests.support.agent_model import Sent, Series, published_series
from tests.support.stacks import fleet_template

# One type of each kind that the program reads, and answers of its tool: an idle and a busy one.
KINDS = {
    "neuron": ("inf2.xlarge", ["idle.json"], ["busy.json"]),
    "gaudi": ("dl1.24xlarge", ["idle.csv"], ["busy.csv"]),
    "qualcomm": ("dl2q.24xlarge", ["idle.txt"], ["busy.txt"]),
    "fpga": ("f2.6xlarge", ["idle.txt"], ["busy.txt"]),
    "media": ("vt1.3xlarge", ["idle.json"], ["busy.json"]),
    "amd": ("g4ad.xlarge", ["idle.txt"], ["busy.txt"]),
}


@cache
def made(kind: str) -> dict[str, Any]:
    image = None if kind == "neuron" else FleetImage.from_ssm_parameter("/golden/ami")
    return fleet_template(instance_types=KINDS[kind][0], image=image)


def program_settings(kind: str) -> Settings:
    """What the boot script writes for the program, read as the program reads it."""
    lines = user_data(made(kind)).splitlines()
    written = next(at for at, line in enumerate(lines) if line.startswith("cat >/etc/accelerated-fleet/node.json "))
    return parse_settings(lines[written + 1], "node.json")


def readings(kind: str, names: list[str]) -> Answer:
    return answer(kind, *(recorded(kind, name) for name in names))


def sent(kind: str, now: Answer, *, before: Answer | None = None, devices: int | None = None) -> dict[str, float]:
    """The greatest value that the program sends under each name for an answer, one interval after another one."""
    settings = program_settings(kind)
    known = now if isinstance(now, Reading) else before
    assert isinstance(known, Reading)
    counts = Counts(expected_devices=len(known.devices) if devices is None else devices, busy_marks=0, sessions=0)
    state = State() if before is None else derive(settings, State(), before, counts, 60.0).state
    lines = b"\n".join(packets(derive(settings, state, now, counts, 120.0).metrics)).decode().splitlines()
    values: dict[str, float] = {}
    for line in lines:
        name, value = line.split("|")[0].split(":")
        values[name] = max(values.get(name, 0.0), float(value))
    return values


def series_of(kind: str, values: dict[str, float]) -> set[Series]:
    """What the agent makes of these lines, and of the host."""
    lines = [Sent(name, "c" if name.endswith("joules") else "g") for name in values]
    return published_series(agent_configuration(made(kind)), instance_id="i-1", group="g", gpus=0, sent=lines)


def signals(kind: str) -> dict[str, dict[str, Any]]:
    variables = properties(made(kind), "FleetReleaseHandler", "AWS::Lambda::Function")["Environment"]["Variables"]
    return {signal["name"]: signal for signal in json.loads(variables["SIGNALS"])}


@pytest.mark.parametrize("kind", KINDS)
def test_case_05_every_signal_of_the_handler_is_sent_by_a_program_that_reads_its_accelerators(kind: str) -> None:
    _, idle, _ = KINDS[kind]
    published = series_of(kind, sent(kind, readings(kind, idle), before=readings(kind, idle)))
    for signal in signals(kind).values():
        assert ("AcceleratedFleet", signal["metric"], frozenset({("InstanceId", "i-1")})) in published


@pytest.mark.parametrize("kind", KINDS)
def test_idle_accelerators_are_idle_to_the_handler_and_busy_ones_are_not(kind: str) -> None:
    _, idle, busy = KINDS[kind]
    for names, in_use in ((idle, False), (busy, True)):
        values = sent(kind, readings(kind, names), before=readings(kind, idle))
        use, doubt = signals(kind)["accelerator"], signals(kind)["unknown_accelerators"]
        assert (values[use["metric"]] >= use["idle_below"]) is in_use
        assert values[doubt["metric"]] < doubt["idle_below"]


@pytest.mark.parametrize("kind", KINDS)
def test_case_45_a_hung_tool_leaves_the_handler_in_doubt_and_without_a_figure(kind: str) -> None:
    _, _, busy = KINDS[kind]
    values = sent(kind, NoReading(HUNG, "no answer within 10 s"), before=readings(kind, busy))
    assert signals(kind)["accelerator"]["metric"] not in values
    doubt = signals(kind)["unknown_accelerators"]
    assert values[doubt["metric"]] >= doubt["idle_below"]


@pytest.mark.parametrize("kind", KINDS)
def test_case_16_one_accelerator_too_few_leaves_the_handler_in_doubt(kind: str) -> None:
    _, idle, _ = KINDS[kind]
    now = readings(kind, idle)
    assert isinstance(now, Reading)
    values = sent(kind, now, before=now, devices=len(now.devices) + 1)
    assert values["accelerators_missing"] == values["accelerators_unknown"] == 1


@pytest.mark.parametrize("kind", KINDS)
def test_settings_of_the_program_expect_what_the_type_has(kind: str) -> None:
    settings = program_settings(kind)
    expected = {"neuron": 1, "gaudi": 8, "qualcomm": 8, "fpga": 1, "media": 2, "amd": 1}
    assert settings.expected == {KINDS[kind][0]: expected[kind]}
    assert (settings.kind, settings.interval_seconds, settings.setup) == (kind, 60, None)
