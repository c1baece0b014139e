"""A fleet that is told what it is for: types, largest size and warm-up follow, or the reason why they cannot."""

from __future__ import annotations

from typing import Any

import pytest
from aws_cdk import App, Duration, Environment, Stack
from aws_cdk.assertions import Annotations, Match, Template

from constructs_lib import (
    AcceleratedFleet,
    ArgumentError,
    FleetNetwork,
    FlexibleTypes,
    IdlePolicy,
    Purchase,
    Workload,
)
from constructs_lib.catalog import known_types
from constructs_lib.rightsizing import recommend
from tests.support.stacks import stack, vpc

CHAT = Workload.inference(model="llama-3.1-8b", rate=2000)


def build(scope: Stack, **arguments: Any) -> AcceleratedFleet:
    return AcceleratedFleet(scope, "Fleet", vpc=vpc(scope), **arguments)


def group_of(scope: Stack) -> dict[str, Any]:
    (found,) = Template.from_stack(scope).find_resources("AWS::AutoScaling::AutoScalingGroup").values()
    return dict(found)


def types_of(group: dict[str, Any]) -> list[str]:
    template = group["Properties"]["MixedInstancesPolicy"]["LaunchTemplate"]
    return [each["InstanceType"] for each in template["Overrides"]]


def release_settings(scope: Stack) -> dict[str, Any]:
    functions = Template.from_stack(scope).find_resources("AWS::Lambda::Function").values()
    found: list[dict[str, Any]] = [each["Properties"].get("Environment", {}).get("Variables", {}) for each in functions]
    (settings,) = (each for each in found if "WARM_UP_SECONDS" in each)
    return settings


def warnings(scope: Stack) -> str:
    found = Annotations.from_stack(scope).find_warning("*", Match.any_value())
    return "\n".join(str(each.entry.data) for each in found)


def test_the_first_type_is_the_one_that_is_recommended() -> None:
    scope = stack()
    build(scope, workload=CHAT)
    best = recommend(CHAT).accelerated[0]
    group = group_of(scope)
    assert types_of(group)[0] == best.instance_type
    facts = [known_types()[name] for name in types_of(group)]
    assert len({(each.kind, each.architecture, each.driver) for each in facts}) == 1
    assert set(group["Metadata"]["RightSizing"]) == set(types_of(group))
    assert "USD per 1M tokens" in group["Metadata"]["RightSizing"][best.instance_type]


def test_the_maximum_is_what_the_rate_takes_on_the_weakest_type() -> None:
    scope = stack()
    build(scope, workload=CHAT)
    group = group_of(scope)
    needed = {each.instance_type: each.instances for each in recommend(CHAT).choices}
    assert group["Properties"]["MaxSize"] == str(max(needed[name] or 0 for name in types_of(group)))
    assert group["Properties"]["MinSize"] == "0"


def test_what_the_user_says_goes_before_what_is_computed() -> None:
    scope = stack()
    policy = IdlePolicy(window=Duration.minutes(20), warm_up=Duration.minutes(5))
    build(scope, workload=CHAT, instance_types="g6e.xlarge", max_capacity=1, idle=policy)
    group = group_of(scope)
    assert group["Properties"]["MaxSize"] == "1"
    assert "MixedInstancesPolicy" not in group["Properties"]
    assert release_settings(scope)["WARM_UP_SECONDS"] == "300"
    assert "takes 2 instances of g6e.xlarge, and max_capacity is 1" in warnings(scope)


def test_a_large_model_gets_a_warm_up_that_its_load_fits_into() -> None:
    """140 GB at 8 s for each GB are 19 minutes, besides boot, image and server."""
    scope = stack()
    large = Workload.inference(model="llama-3.1-70b")
    build(scope, workload=large, instance_types="g6e.24xlarge", max_capacity=2)
    settings = release_settings(scope)
    assert 2 * 20 * 60 <= int(settings["WARM_UP_SECONDS"]) <= 3600
    assert int(settings["WINDOW_SECONDS"]) >= int(settings["WARM_UP_SECONDS"])


def test_a_small_model_keeps_the_default_warm_up() -> None:
    scope = stack()
    build(scope, workload=Workload.inference(model="smollm-135m", stack=["cuda"]), max_capacity=2)
    assert release_settings(scope)["WARM_UP_SECONDS"] == "600"


def test_the_same_workload_gives_the_same_template() -> None:
    one, other = stack(), stack()
    build(one, workload=CHAT)
    build(other, workload=CHAT.with_changes())
    assert Template.from_stack(one).to_json() == Template.from_stack(other).to_json()


def test_a_cpu_that_is_enough_is_a_warning() -> None:
    scope = stack()
    build(scope, workload=Workload.inference(model="smollm-135m", rate=20), max_capacity=1)
    assert "A CPU is enough" in warnings(scope)


def test_spot_takes_types_that_are_sold_so() -> None:
    scope = stack()
    build(scope, workload=CHAT, purchase=Purchase.spot())
    assert all(known_types()[name].spot for name in types_of(group_of(scope)))


def test_efa_takes_one_type_that_has_it() -> None:
    scope = stack()
    build(scope, workload=CHAT, network=FleetNetwork.efa())
    (template,) = Template.from_stack(scope).find_resources("AWS::EC2::LaunchTemplate").values()
    name = template["Properties"]["LaunchTemplateData"]["InstanceType"]
    assert known_types()[name].efa_interfaces


def test_the_region_of_the_stack_limits_what_is_chosen() -> None:
    """eu-west-1 has g4dn and g5 of the GPU types, and no g6 (October 2026)."""
    scope = Stack(App(), "Test", env=Environment(region="eu-west-1"))
    build(scope, workload=CHAT)
    assert {known_types()[name].family for name in types_of(group_of(scope))} == {"g5"}


def infos(scope: Stack) -> str:
    found = Annotations.from_stack(scope).find_info("*", Match.any_value())
    return "\n".join(str(each.entry.data) for each in found)


def test_a_region_without_a_price_list_is_ranked_by_another_one_and_says_so() -> None:
    scope = Stack(App(), "Test", env=Environment(region="eu-north-1"))
    build(scope, workload=CHAT)
    assert all("eu-north-1" in (known_types()[name].regions or ()) for name in types_of(group_of(scope)))
    assert "Prices in eu-north-1 are in no table" in infos(scope)


def test_a_region_that_the_tables_do_not_know_is_no_silent_guess() -> None:
    scope = Stack(App(), "Test", env=Environment(region="cn-north-1"))
    build(scope, workload=CHAT)
    assert "The tables do not know cn-north-1" in infos(scope)


def test_types_that_were_measured_and_that_the_image_excludes_are_named() -> None:
    with pytest.raises(ArgumentError, match=r"exclude vt1.*which were measured: change them, or name types"):
        build(stack(), workload=Workload.transcoding(rate=10))


def test_too_small_a_maximum_is_told_of_whichever_types_were_measured() -> None:
    scope = stack()
    types = FlexibleTypes(kind="nvidia", models=["L4", "A10G"], accelerators=1)
    build(scope, workload=CHAT.with_changes(rate=5000), instance_types=types, max_capacity=1)
    assert "and max_capacity is 1" in warnings(scope)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"max_capacity": 1}, r"instance_types must be given without a workload, got None; "),
        ({"instance_types": "g6.xlarge"}, r"max_capacity must be given without a workload, got None; "),
        ({"workload": "chat"}, r"workload must be of type Workload, got 'chat'; "),
        ({"workload": CHAT.with_changes(rate=None)}, r"max_capacity must be given for a workload without a rate"),
        (
            {"workload": Workload.fpga(), "max_capacity": 1},
            r"workload must fit types that can be bought, wired and booted .*; change purchase, network or image, "
            r"which exclude f2.6xlarge",
        ),
        (
            {"workload": Workload.graphics(), "max_capacity": 1},
            r"workload must be one for which types can be chosen by what somebody has measured.*; name types beside it",
        ),
        (
            {"workload": CHAT, "instance_types": ["g6.xlarge", "g4dn.xlarge"]},
            r"instance_types must name types that the workload fits on, got 'g4dn.xlarge'; T4 does not .* bf16",
        ),
        (
            {"workload": Workload.hpc(memory_mib=10**9), "max_capacity": 1},
            r"workload must fit an accelerated instance type",
        ),
        (
            {"workload": CHAT, "purchase": Purchase.reservation(reservation_id="cr-0123456789abcdef0")},
            r"instance_types must be given for reserved capacity, got None; ",
        ),
    ],
)
def test_what_cannot_be_chosen_is_refused(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(ArgumentError, match=f"^Test/Fleet: {message}"):
        build(stack(), **arguments)


def test_a_workload_beside_types_is_checked_and_needs_no_measurement() -> None:
    scope = stack()
    with_card = Workload.training(parameters=3e8, memory_mib=20_000)
    build(scope, workload=with_card, instance_types=["g6.xlarge", "g5.xlarge"], max_capacity=2)
    assert types_of(group_of(scope)) == ["g6.xlarge", "g5.xlarge"]
