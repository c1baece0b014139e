"""Templates as other people write them (``foreign``): what the rules say of each, and nothing else.

A finding that is not listed here would be a false one, or a rule that nobody has looked at these templates with.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from constructs_lib.compliance import check_template

FOLDER = Path(__file__).parent / "foreign"
NOBODY_MEASURES_OR_PAYS = frozenset({"accelerators-not-measured", "cost-not-attributed"})
BARE = NOBODY_MEASURES_OR_PAYS | {"dead-accelerator-unnoticed"}
"""A group of which the template says no more than what it launches."""

EXPECTED: Mapping[str, frozenset[str]] = {
    # The schema of the agent knows the key nvidia_smi, its translator does not.
    "agent_with_the_wrong_key": frozenset(
        {
            "agent-configuration-ignored",
            "group-name-not-permitted",
            "busy-instances-unprotected",
            "silence-read-as-idle",
            "step-matches-nothing",
            "dead-accelerator-unnoticed",
            "cost-not-attributed",
        }
    ),
    "appstream_always_on": frozenset({"streaming-always-on", "cost-not-attributed"}),
    "arm_type_with_an_x86_image": BARE | {"no-idle-release", "image-of-other-architecture"},
    "batch_gpu_queue": frozenset(),
    # Batch takes instances away by itself, but for its minimum. What runs in containers may measure.
    "batch_that_never_sleeps": frozenset(
        {
            "minimum-above-zero",
            "batch-environment-named",
            "batch-launch-template-floating",
            "batch-best-fit",
            "previous-generation-type",
            "instance-metadata-v1",
            "cost-not-attributed",
        }
    ),
    "capacity_block_half_done": BARE
    | {"no-idle-release", "capacity-block-without-target", "capacity-block-without-end"},
    # Its role is a parameter's: it may mark instances unhealthy, or protect them.
    "cfn_init_with_an_agent": frozenset({"launch-failure-untold", "cost-not-attributed"}),
    # What it launches is the parent's to say.
    "child_with_a_group": frozenset(),
    "ecs_gpu_service_at_two": frozenset(
        {
            "no-idle-release",
            "minimum-above-zero",
            "ecs-service-never-at-zero",
            "image-without-driver",
            "launch-template-version-floats",
            "dead-accelerator-unnoticed",
            "cost-not-attributed",
        }
    ),
    "ecs_gpu_service_to_zero": frozenset({"dead-accelerator-unnoticed"}),
    "eks_capacity_block": frozenset(),
    "eks_node_group_always_on": frozenset(
        {"minimum-above-zero", "image-without-driver", "dead-accelerator-unnoticed", "cost-not-attributed"}
    ),
    "eks_node_group_from_zero": frozenset(),
    # The autoscaler runs with the rights of the nodes, on every group; of the label it learns from nodes alone.
    "eks_nodes_of_ones_own": frozenset(
        {"may-end-anything", "may-change-any-data", "tags-do-not-reach-volumes", "autoscaler-not-told-of-nodes"}
    ),
    # The template does not say whether the cluster ends after its steps.
    "emr_with_gpus": frozenset({"cost-not-attributed"}),
    # Its machines end themselves.
    "fleet_at_once": NOBODY_MEASURES_OR_PAYS,
    "fpga_development_with_hours": frozenset({"accelerators-not-measured"}),
    "gpu_of_either_size": NOBODY_MEASURES_OR_PAYS | {"no-idle-release", "instance-metadata-v1"},
    "hyperpod_cluster": frozenset({"hyperpod-never-shrinks", "cost-not-attributed"}),
    # Its only tag is what consoles call it.
    "launch_configuration_group": BARE
    | {
        "instance-metadata-v1",
        "minimum-above-zero",
        "desired-capacity-fixed",
        "launch-configuration-used",
        "busy-instances-unprotected",
        "missing-data-unsaid",
        "launch-failure-untold",
        "previous-generation-type",
    },
    # What the deploy is given decides how often the loop runs; its launch templates are there, or not.
    "loop_over_a_parameter": frozenset(),
    # Nothing launches by its templates, which somebody else may do.
    "loop_over_types": NOBODY_MEASURES_OR_PAYS | {"instance-metadata-v1"},
    # A macro may make and change anything.
    "macro_of_the_house": frozenset(),
    # A key whose policy leaves all to IAM does not let Auto Scaling's role use it.
    "media_encoders": BARE
    | {
        "no-idle-release",
        "protection-blocks-deletion",
        "missing-data-unsaid",
        "step-matches-nothing",
        "launch-failure-untold",
        "launch-template-version-floats",
        "volume-key-refuses-launch",
        "member-protected-from-termination",
        "topic-key-refuses-sender",
        "volume-outlives-instance",
        "volume-not-encrypted",
    },
    "network_and_database": frozenset(),
    # It ends itself, and installs the driver by itself.
    "neuron_installed_by_hand": NOBODY_MEASURES_OR_PAYS | {"instance-metadata-v1"},
    "notebook_on_one_instance": NOBODY_MEASURES_OR_PAYS
    | {
        "no-idle-release",
        "instance-metadata-v1",
        "administration-open-to-everybody",
        "volume-not-encrypted",
    },
    # What it passes decides what its child launches, and its schedule lowers the child's group.
    "parent_of_a_group": BARE,
    # An agent that has died says 100 % by FILL, and the fleet runs on, told to nobody.
    "queue_workers_from_zero": frozenset({"telemetry-gap-untold", "launch-failure-untold"}),
    "sagemaker_endpoint_day_and_night": frozenset({"endpoint-never-at-zero", "cost-not-attributed"}),
    "sagemaker_endpoint_to_zero": frozenset({"cost-not-attributed"}),
    "sagemaker_notebook_left_on": frozenset(
        {"notebook-never-stops", "cost-not-attributed", "previous-generation-type"}
    ),
    "sagemaker_notebook_that_stops": frozenset({"cost-not-attributed"}),
    # Its function starts and ends machines by a launch template of which nothing else here launches.
    "sam_that_starts_machines": NOBODY_MEASURES_OR_PAYS
    | {"logs-never-expire", "may-end-anything", "may-launch-anything", "may-take-any-role"},
    "sam_without_accelerators": frozenset(),
    # Judged as for development, which is the default; the condition leaves out what is for production.
    "small_in_development": frozenset(
        {
            "no-idle-release",
            "minimum-above-zero",
            "accelerators-not-measured",
            "dead-accelerator-unnoticed",
            "instance-metadata-v1",
            "tags-do-not-reach-volumes",
        }
    ),
    "spot_fleet_kept_up": NOBODY_MEASURES_OR_PAYS
    | {"no-idle-release", "spot-allocation-by-price-alone", "instance-metadata-v1"},
    # Its image may be one of Amazon Linux 2023, which asks for a token by itself.
    "spot_in_one_pool": BARE | {"no-idle-release", "spot-in-one-pool", "spot-maximum-price"},
    "stopped_when_unused_instance": frozenset(),
    # Its schedule raises it at night, and nobody hears of launches that fail.
    "training_with_efa": BARE | {"efa-without-self-rules", "launch-failure-untold"},
    "trainium_with_the_wrong_image": BARE | {"no-idle-release", "image-without-driver"},
    "types_by_stage": frozenset(),
    "types_that_only_a_deploy_tells": frozenset(),
    "web_application": frozenset(),
}
WITHOUT_ACCELERATORS = ("network_and_database", "sam_without_accelerators", "types_by_stage", "web_application")


def test_each_template_is_looked_at() -> None:
    assert set(EXPECTED) == {each.stem for each in FOLDER.glob("*.yaml")}


@pytest.mark.parametrize("name", EXPECTED)
def test_what_is_found_in_the_templates_of_others(name: str) -> None:
    report = check_template(FOLDER / f"{name}.yaml")
    assert {each.rule for each in report.findings} == EXPECTED[name]


@pytest.mark.parametrize("name", WITHOUT_ACCELERATORS)
def test_without_accelerators_nothing_is_told(name: str) -> None:
    report = check_template(FOLDER / f"{name}.yaml")
    assert report.not_judged == ()


def test_what_only_a_deploy_tells_is_told_as_such() -> None:
    report = check_template(FOLDER / "types_that_only_a_deploy_tells.yaml")
    assert {each.resource for each in report.not_judged} == {"Launch", "Other"}


def test_a_loop_that_only_a_deploy_unrolls_is_told_as_such() -> None:
    report = check_template(FOLDER / "loop_over_a_parameter.yaml")
    told = {(each.resource, each.reason, each.location.line) for each in report.not_judged}
    assert told == {("Fn::ForEach::Machines", "it is a loop over what only a deploy knows", 7)}
    (open_,) = report.not_judged
    assert {"no-idle-release", "accelerators-not-measured", "endpoint-never-at-zero"} <= {*open_.rules}


def test_findings_in_a_loop_are_told_where_it_is_written() -> None:
    report = check_template(FOLDER / "loop_over_types.yaml")
    assert {(each.resource, each.location.line) for each in report.findings} == {
        ("Launchxlarge", 8),
        ("Launch2xlarge", 8),
    }
