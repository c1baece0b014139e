"""Stacks with constructs of others (``foreign/cdk``): what the rules say of each, and nothing else.

A finding that is not listed here would be a false one, or a rule that nobody has looked at these stacks with.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from constructs_lib.compliance import check_template

FOLDER = Path(__file__).parent / "foreign" / "cdk"
EXPECTED: Mapping[str, frozenset[str]] = {
    # Batch takes its instances away by itself. It has no tags of its own.
    "batch_on_demand": frozenset({"cost-not-attributed"}),
    "batch_spot_kept_warm": frozenset({"minimum-above-zero", "cost-not-attributed"}),
    # Billed while it builds.
    "codebuild_with_a_gpu": frozenset(),
    # All that the CDK tags groups with is Name.
    # Managed termination protection is the construct's default: github.com/aws/aws-cdk/issues/18179.
    "ecs_capacity_provider": frozenset(
        {"cost-not-attributed", "protection-blocks-deletion", "dead-accelerator-unnoticed"}
    ),
    # Amazon Linux 2, whose support has ended in June 2026. Tasks scale, and never to nothing; instances do not.
    "ecs_load_balanced": frozenset(
        {
            "cost-not-attributed",
            "no-idle-release",
            "minimum-above-zero",
            "ecs-service-never-at-zero",
            "image-family-ended",
            "instance-metadata-v1",
            "dead-accelerator-unnoticed",
        }
    ),
    # The service follows its queue, its group does not: whoever raises it from 0 has to lower it, too.
    "ecs_queue_processing": frozenset(
        {
            "cost-not-attributed",
            "no-idle-release",
            "image-family-ended",
            "instance-metadata-v1",
            "dead-accelerator-unnoticed",
            "logs-never-expire",
        }
    ),
    "ecs_service": frozenset(
        {
            "cost-not-attributed",
            "no-idle-release",
            "minimum-above-zero",
            "ecs-service-never-at-zero",
            "image-family-ended",
            "instance-metadata-v1",
            "dead-accelerator-unnoticed",
        }
    ),
    "ecs_tasks_by_the_clock": frozenset(
        {
            "cost-not-attributed",
            "no-idle-release",
            "minimum-above-zero",
            "image-family-ended",
            "instance-metadata-v1",
            "dead-accelerator-unnoticed",
        }
    ),
    # What runs in the cluster may take nodes away. EKS has no image of Amazon Linux 2 for Kubernetes 1.34.
    "eks_inferentia": frozenset({"minimum-above-zero", "image-family-ended", "instance-metadata-v1"}),
    "eks_node_group": frozenset(),
    # One instance for each job, which ends with it; and a group that ECS takes to nothing.
    "github_runners_on_ecs": frozenset(),
    "github_runners_on_instances": frozenset(),
    # The schedule takes it to nothing each evening. The image has the agent, which nothing starts.
    "group_of_spot_by_the_clock": frozenset(
        {
            "cost-not-attributed",
            "accelerators-not-measured",
            "launch-failure-untold",
            "dead-accelerator-unnoticed",
        }
    ),
    # An image for whatever machine, without drivers, and scaled in by the CPUs while GPUs may be at work.
    "group_on_cpu": frozenset(
        {
            "cost-not-attributed",
            "minimum-above-zero",
            "busy-instances-unprotected",
            "accelerators-not-measured",
            "launch-failure-untold",
            "image-without-driver",
            "dead-accelerator-unnoticed",
        }
    ),
    # Nothing in it says that its volume is encrypted, or that a token is asked for; its role may publish nothing.
    "one_instance": frozenset(
        {
            "no-idle-release",
            "accelerators-not-measured",
            "instance-metadata-v1",
            "volume-not-encrypted",
            "cost-not-attributed",
        }
    ),
    # Its target has a minimum of 1; the model's role, which may do anything at SageMaker, does nothing by itself.
    "sagemaker_endpoint": frozenset({"endpoint-never-at-zero", "cost-not-attributed"}),
}


def test_each_stack_is_looked_at() -> None:
    assert set(EXPECTED) == {each.stem for each in FOLDER.glob("*.json")}


@pytest.mark.parametrize("name", EXPECTED)
def test_what_is_found_in_the_stacks_of_others(name: str) -> None:
    report = check_template(FOLDER / f"{name}.json", region="us-east-1")
    assert {each.rule for each in report.findings} == EXPECTED[name]
