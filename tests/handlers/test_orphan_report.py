"""What a sweep tells: lines, metrics, the topic; and what each sort would free in a month."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import timedelta
from typing import Any

import pytest

from orphan_sweep import index
from orphan_sweep.sweep import SweepIncomplete
from runtime.environment import SettingError
from runtime.triggers import MalformedEvent
from tests.handlers.driving import MANUAL, alarm_event
from tests.handlers.fake_aws import Context, FakeAws
from tests.handlers.sweeping import DAY, HOLD_TAG, OURS, SORTS, SWEEP_ENVIRONMENT, Sweeper, leave

# A g6.xlarge at 0.80 USD an hour; 0.005 USD an hour; 100 GiB of gp3; 200 GiB of snapshot.
USD = {"instance": 584.0, "Elastic IP address": 3.65, "volume": 8.0, "snapshot": 10.0}


@pytest.fixture
def sweeper(aws: FakeAws) -> Sweeper:
    return Sweeper(aws)


@pytest.mark.parametrize("sort", SORTS)
def test_a_line_tells_what_it_is_why_and_what_it_costs(sweeper: Sweeper, sort: str) -> None:
    left = leave(sweeper, sort)
    told = sweeper.run()
    line = sweeper.told(left.id)
    assert (line["message"], line["sort"], line["level"]) == ("orphan", sort, "INFO")
    assert line["reason"] == "belongs to nothing, seen for the first time"
    assert line["usd_a_month"] == USD.get(sort, 0.0)
    assert line["price"]
    assert told["usd_a_month"] == USD.get(sort, 0.0)


def test_an_instance_is_told_with_the_volumes_and_the_address_that_go_with_it(sweeper: Sweeper, aws: FakeAws) -> None:
    left = leave(sweeper, "instance")
    sweeper.world.add_volume("vol-1", OURS, attached_to=left.id)
    sweeper.world.add_volume("vol-2", {}, attached_to=left.id, VolumeType="gp2", Size=50)
    kept = sweeper.world.add_volume("vol-3", {}, attached_to=left.id)
    kept.document["Attachments"][0]["DeleteOnTermination"] = False
    document = aws.ec2.machines[left.id].document
    aws.ec2.machines[left.id].document = lambda: {  # type: ignore[method-assign]
        **document(),
        "PublicIpAddress": "198.51.100.1",
    }
    assert sweeper.run()["usd_a_month"] == pytest.approx(584.0 + 3.65 + 8.0 + 5.0)


def test_a_stopped_instance_costs_its_volumes(sweeper: Sweeper, aws: FakeAws) -> None:
    left = leave(sweeper, "instance")
    aws.ec2.machines[left.id].state = "stopped"
    sweeper.world.add_volume("vol-1", OURS, attached_to=left.id)
    assert sweeper.run()["usd_a_month"] == 8.0


def test_an_instance_whose_volumes_cannot_be_read_is_an_orphan_of_unknown_price(sweeper: Sweeper, aws: FakeAws) -> None:
    left = leave(sweeper, "instance")
    aws.fail("DescribeVolumes", "UnauthorizedOperation")
    with pytest.raises(SweepIncomplete, match="volume: could not be read"):
        sweeper.run()
    assert sweeper.told(left.id)["usd_a_month"] is None


def test_what_has_no_price_is_said_to_be_unknown_and_never_counted_as_nothing(sweeper: Sweeper, aws: FakeAws) -> None:
    aws.add_machine("i-spot", tags=OURS).spot = True
    aws.add_machine("i-new-type", tags=OURS).instance_type = "g9.xlarge"
    sweeper.world.add_volume("vol-1", OURS)
    told = sweeper.run()
    assert (told["usd_a_month"], told["unpriced"]) == (8.0, 2)
    assert sweeper.told("i-spot")["usd_a_month"] is None
    (message,) = aws.sns.published
    assert "3, 8.0 USD a month, 2 of unknown price" in message["Message"]
    assert "- instance i-new-type: unknown price (g9.xlarge: no price known)" in message["Message"]


def metric(sweeper: Sweeper) -> Mapping[str, Any]:
    (document,) = sweeper.lines.metrics()
    return document


def test_metrics_count_what_is_still_there(sweeper: Sweeper) -> None:
    for sort in SORTS:
        leave(sweeper, sort)
    sweeper.run()
    document = metric(sweeper)
    (directive,) = document["_aws"]["CloudWatchMetrics"]
    assert directive["Namespace"] == "AcceleratedFleet"
    assert directive["Dimensions"] == [["AutoScalingGroupName"]]
    assert [each["Name"] for each in directive["Metrics"]] == ["OrphansFound", "OrphanUsdPerMonth"]
    assert (document["OrphansFound"], document["OrphanUsdPerMonth"]) == (8, 605.65)
    sweeper.wait(DAY)
    sweeper.run()
    assert (metric(sweeper)["OrphansFound"], metric(sweeper)["OrphanUsdPerMonth"]) == (0, 0)


def test_a_sweep_that_finds_nothing_says_zero(sweeper: Sweeper) -> None:
    sweeper.run()
    assert metric(sweeper)["OrphansFound"] == 0


def test_the_topic_hears_once_of_what_is_new_and_once_of_what_was_freed(sweeper: Sweeper, aws: FakeAws) -> None:
    leave(sweeper, "volume")
    sweeper.run()
    sweeper.run()
    sweeper.wait(DAY)
    sweeper.run()
    sweeper.run()
    new, freed = aws.sns.published
    assert new["TopicArn"] == SWEEP_ENVIRONMENT["TOPIC_ARN"]
    assert new["Subject"] == "Accelerated fleet: 1 new orphans, 0 freed"
    assert "- volume vol-left: 8.00 USD a month (gp3: 100 GiB at 0.08 USD" in new["Message"]
    assert HOLD_TAG in new["Message"]
    assert "us-east-1" in new["Message"]
    assert freed["Subject"] == "Accelerated fleet: 0 new orphans, 1 freed"


def test_a_dry_run_tells_that_it_is_one(aws: FakeAws) -> None:
    sweeper = Sweeper(aws, environment={"ACT": "false"})
    leave(sweeper, "volume")
    for _ in range(3):
        sweeper.run()
        sweeper.wait(DAY)
    (message,) = aws.sns.published
    assert "This is a dry run: nothing is freed." in message["Message"]


def test_a_long_list_is_cut(sweeper: Sweeper, aws: FakeAws) -> None:
    for number in range(200):
        sweeper.world.add_volume(f"vol-{number}", OURS)
    sweeper.run()
    (message,) = aws.sns.published
    assert "- and 150 more" in message["Message"]
    assert "200, 1600.0 USD a month" in message["Message"]


def test_members_are_no_line_each(sweeper: Sweeper) -> None:
    told = sweeper.run()
    assert told["looked_at"] == 1
    assert [each["message"] for each in sweeper.lines.documents() if "message" in each] == ["orphan sweep"]


def test_calls_of_a_sweep_that_finds_nothing_grow_with_pages_and_not_with_instances(
    sweeper: Sweeper, aws: FakeAws
) -> None:
    sweeper.run()
    few = len(aws.calls)
    group = aws.autoscaling.groups["train"]
    for number in range(900):
        group.members.append(type(group.members[0])(f"i-{number}"))
        aws.add_machine(f"i-{number}", tags=OURS, age=timedelta(days=1))
        sweeper.world.add_volume(f"vol-{number}", OURS, attached_to=f"i-{number}")
        sweeper.world.add_interface(f"eni-{number}", OURS, attached_to=f"i-{number}")
    aws.calls.clear()
    sweeper.run()
    assert len(aws.calls) == few
    assert few <= 13


# --- as Lambda calls it ----------------------------------------------------------------------------------------------


@pytest.fixture
def _cold_start(aws: FakeAws, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(index, "make_client", aws.client)
    monkeypatch.setattr(index, "SystemClock", lambda: aws.clock)
    for name in SWEEP_ENVIRONMENT:
        monkeypatch.delenv(name, raising=False)
    index.make_clients.cache_clear()
    index.load_settings.cache_clear()
    yield
    index.make_clients.cache_clear()
    index.load_settings.cache_clear()


@pytest.mark.usefixtures("_cold_start")
def test_the_handler_finds_its_settings_and_clients(
    aws: FakeAws, sweeper: Sweeper, monkeypatch: pytest.MonkeyPatch
) -> None:
    leave(sweeper, "volume")
    for name, value in SWEEP_ENVIRONMENT.items():
        monkeypatch.setenv(name, value)
    assert index.handler(MANUAL, Context(aws.clock))["new"] == ["vol-left"]


@pytest.mark.usefixtures("_cold_start")
def test_without_settings_no_call_is_made(aws: FakeAws) -> None:
    with pytest.raises(SettingError):
        index.handler(MANUAL, Context(aws.clock))
    assert aws.calls == []


@pytest.mark.parametrize("event", [{}, [], None, alarm_event(), {"source": "aws.ec2"}])
def test_an_event_that_is_none_of_its_own_makes_no_call(sweeper: Sweeper, aws: FakeAws, event: object) -> None:
    with pytest.raises(MalformedEvent):
        sweeper.run(event)
    assert aws.calls == []
