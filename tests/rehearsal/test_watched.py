"""Which series of instances somebody may ask for: what is published of others is left out of a rehearsal."""

from __future__ import annotations

import pytest

from constructs_lib.rehearsal.cloud.metrics import Key
from constructs_lib.rehearsal.template import Template
from constructs_lib.rehearsal.watched import Watched
from tests.rehearsal.fleets import queue_fleet

_WATCHED = Watched(
    named=frozenset({("CWAgent", "busiest", frozenset({("AutoScalingGroupName", "g")}))}),
    mentioned=frozenset({"cpu_usage_active", "path"}),
)


def _key(metric: str, **dimensions: str) -> Key:
    return "CWAgent", metric, frozenset(dimensions.items())


@pytest.mark.parametrize(
    ("key", "asked"),
    [
        (_key("busiest", AutoScalingGroupName="g"), True),
        (_key("busiest", AutoScalingGroupName="other"), False),
        (_key("busiest", InstanceId="i-1"), False),
        (_key("cpu_usage_active", InstanceId="i-1"), True),
        (_key("cpu_usage_active", InstanceId="i-1", path="/"), True),
        (_key("cpu_usage_active", InstanceId="i-1", fstype="xfs"), False),
        (_key("cpu_usage_active", AutoScalingGroupName="g"), False),
    ],
)
def test_alarms_ask_for_what_they_name_and_functions_for_instances(key: Key, asked: bool) -> None:
    assert _WATCHED.has_series(key) is asked


def test_fleet_asks_for_its_signals_by_instance_and_for_the_busiest_by_group() -> None:
    template = Template(queue_fleet())
    watched = Watched.by(template)
    group = frozenset({("AutoScalingGroupName", template.group()[0])})
    instance = frozenset({("InstanceId", "i-1")})
    for metric, by_group in (("nvidia_smi_utilization_gpu", True), ("cpu_usage_active", False)):
        assert watched.has_metric(metric)
        assert watched.has_series(("AcceleratedFleet", metric, instance))
        assert watched.has_series(("AcceleratedFleet", metric, group)) is by_group
    assert not watched.has_metric("disk_used_percent")
