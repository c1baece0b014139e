"""Accelerators whose use nobody knows, among others that are seen at rest (field case 24)."""

from __future__ import annotations

import json

import pytest

from tests.handlers.driving import GPU_SIGNAL, GROUP, Release
from tests.handlers.fake_aws import FakeAws

# The numbers of samples stand in the series themselves here, since this fake keeps one sample a minute.
TOLD, USED = "memory_samples", "use_samples"
DOUBT = {"name": "doubt", "metric": TOLD, "less": USED, "statistic": "Sum", "idle_below": 1, "means": "doubt"}


def group_of_two(aws: FakeAws, *, with_doubt: bool) -> Release:
    """Two instances at rest; of the second one's eight accelerators one has memory and no use."""
    aws.add_group(GROUP, ["i-1", "i-2"])
    for instance_id, used in (("i-1", 8), ("i-2", 7)):
        aws.publish(instance_id, 0.0)
        aws.publish(instance_id, 8, metric=TOLD)
        aws.publish(instance_id, used, metric=USED)
    signals = [GPU_SIGNAL, DOUBT] if with_doubt else [GPU_SIGNAL]
    return Release(aws, {"SIGNALS": json.dumps(signals)})


def test_case_24_an_accelerator_without_a_reading_keeps_its_instance(aws: FakeAws) -> None:
    summary = group_of_two(aws, with_doubt=True).run()
    assert summary["released"] == ["i-1"]
    ((kept),) = summary["kept"]
    assert (kept["instance_id"], kept["verdict"]) == ("i-2", "unknown")
    assert f"doubt ({TOLD} less {USED} Sum)" in kept["reason"]


def test_case_24_without_the_guard_it_would_go(aws: FakeAws) -> None:
    assert sorted(group_of_two(aws, with_doubt=False).run()["released"]) == ["i-1", "i-2"]


@pytest.mark.parametrize("silent", [TOLD, USED])
def test_case_24_a_side_that_cannot_be_read_is_unknown(aws: FakeAws, silent: str) -> None:
    release = group_of_two(aws, with_doubt=True)
    identities = [each for each in aws.cloudwatch.samples if each[1] == silent]
    for identity in identities:
        del aws.cloudwatch.samples[identity]
    assert release.run()["released"] == []
