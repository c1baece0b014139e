"""A fleet with a schedule: what it adds, and in which order it goes."""

from __future__ import annotations

import json
from typing import Any

import pytest
from aws_cdk import aws_iam as iam
from aws_cdk.assertions import Template

from constructs_lib import ArgumentError, FleetSchedule, Hours, WakeUp
from fleet_schedule.settings import read_settings
from tests.constructs.reading import plain, properties, resources
from tests.constructs.scenarios import template
from tests.support.stacks import fleet, fleet_template, stack

OFFICE = Hours(start="08:00", end="18:00", time_zone="Europe/Berlin")
SCHEDULE = FleetSchedule(office_hours=[OFFICE], wake_ups=[WakeUp(at="08:30", instances=2, time_zone="Europe/Berlin")])


def test_without_a_schedule_nothing_of_it_is_there() -> None:
    assert not [id for id in template("smallest")["Resources"] if "Schedule" in id]
    assert fleet(stack()).schedule_function is None


def test_the_handler_understands_what_it_is_told() -> None:
    made = fleet_template(schedule=SCHEDULE)
    variables = plain(properties(made, "FleetScheduleHandler", "AWS::Lambda::Function")["Environment"]["Variables"])
    assert (variables["TEMPLATE_MIN_SIZE"], variables["TEMPLATE_MAX_SIZE"]) == ("0", "8")
    assert json.loads(variables["SCHEDULE"]) == json.loads(SCHEDULE.settings())
    read_settings(variables)


def test_case_04_the_schedule_goes_before_the_clean_up_which_it_would_undo() -> None:
    made = fleet_template(schedule=SCHEDULE)
    (clean_up,) = resources(made, "Custom::AcceleratedFleetCleanup")
    for id, resource in made["Resources"].items():
        if id.startswith("FleetSchedule"):
            assert clean_up in resource["DependsOn"], id


def test_a_schedule_changes_nothing_else() -> None:
    plainly, scheduled = (fleet_template(schedule=each)["Resources"] for each in (None, SCHEDULE))

    def without_assets(resource: Any) -> Any:
        return {**resource, "Properties": {**resource.get("Properties", {}), "Code": None}}

    for id, resource in plainly.items():
        assert without_assets(scheduled[id]) == without_assets(resource)


def test_case_02_no_schedule_brings_a_desired_capacity_into_the_template() -> None:
    made = fleet_template(schedule=SCHEDULE)
    (group,) = resources(made, "AWS::AutoScaling::AutoScalingGroup").values()
    assert "DesiredCapacity" not in group["Properties"]
    assert resources(made, "AWS::AutoScaling::ScheduledAction") == {}


def test_grant_pause_gives_the_schedule_function_and_nothing_else() -> None:
    test_stack = stack()
    made = fleet(test_stack, schedule=FleetSchedule())
    person = iam.Role(test_stack, "Person", assumed_by=iam.AccountRootPrincipal())
    made.grant_pause(person)
    policy = properties(Template.from_stack(test_stack).to_json(), "PersonDefaultPolicy", "AWS::IAM::Policy")
    assert plain(policy["PolicyDocument"]["Statement"]) == [
        {"Effect": "Allow", "Action": "lambda:InvokeFunction", "Resource": "<FleetScheduleHandlerFunction.Arn>"}
    ]


def test_a_fleet_without_a_schedule_cannot_be_paused() -> None:
    test_stack = stack()
    person = iam.Role(test_stack, "Person", assumed_by=iam.AccountRootPrincipal())
    with pytest.raises(ArgumentError, match="Test/Fleet: schedule must be given to a fleet that is paused, got None"):
        fleet(test_stack).grant_pause(person)
