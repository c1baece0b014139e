"""Batch jobs on FPGAs: an image that the team must make, use that cannot always be seen, designs and their slots."""

from __future__ import annotations

import json
from typing import Any

import pytest
from aws_cdk import App
from aws_cdk.assertions import Annotations, Match

from constructs_lib.catalog import lookup
from examples.fpga_batch.app import FpgaBatch
from tests.constructs.reading import only, properties, user_data
from tests.examples.example_templates import (
    agent_sections,
    drain_seconds,
    image_parameter,
    readme_words,
    root_device,
    templates,
    type_names,
    work_permissions,
)

STACK = "FpgaBatch"


@pytest.fixture(scope="module")
def template() -> dict[str, Any]:
    return templates("fpga_batch")[STACK]


def test_one_fpga_unless_more_are_asked_for(template: dict[str, Any]) -> None:
    assert type_names(template) == ["f2.6xlarge"]
    assert lookup("f2.6xlarge").accelerators == 1
    assert "SLOTS=1" in user_data(template)


def test_a_larger_type_takes_a_job_for_each_of_its_fpgas() -> None:
    larger = templates("fpga_batch", fpga_type="f2.12xlarge")[STACK]
    assert type_names(larger) == ["f2.12xlarge"]
    assert "SLOTS=2" in user_data(larger)
    wake = properties(larger, "BatchWakeHandlerFunction", "AWS::Lambda::Function")
    assert wake["Environment"]["Variables"]["MESSAGES_PER_INSTANCE"] == "2"


def test_a_type_without_an_fpga_is_refused() -> None:
    with pytest.raises(SystemExit, match=r"-c fpga_type=g6\.xlarge: it has no FPGA; f2\.6xlarge has one"):
        templates("fpga_batch", fpga_type="g6.xlarge")


def test_image_is_the_one_whose_parameter_the_readme_fills(template: dict[str, Any]) -> None:
    assert image_parameter(template) == "/fpga-batch/image-id"
    assert root_device(template) == "/dev/xvda"
    for word in ("--name /fpga-batch/image-id", "--data-type aws:ec2:image", "sdk_setup.sh", "/opt/fpga-batch/host"):
        assert word in readme_words("fpga_batch")


def test_another_image_and_its_root_device() -> None:
    own = templates("fpga_batch", image_parameter="/golden/fpga", image_root_device="/dev/sda1")[STACK]
    assert (image_parameter(own), root_device(own)) == ("/golden/fpga", "/dev/sda1")


def test_on_demand(template: dict[str, Any]) -> None:
    group = only(template, "AWS::AutoScaling::AutoScalingGroup")["Properties"]
    assert "MixedInstancesPolicy" not in group
    assert "InstanceMarketOptions" not in only(template, "AWS::EC2::LaunchTemplate")["Properties"]["LaunchTemplateData"]


def test_the_warning_that_work_may_look_idle_is_answered_and_marks_count(template: dict[str, Any]) -> None:
    stack = FpgaBatch(App(), STACK)
    assert Annotations.from_stack(stack).find_warning("*", Match.any_value()) == []
    release = properties(template, "BatchReleaseHandlerFunction", "AWS::Lambda::Function")
    signals = {each["name"] for each in json.loads(release["Environment"]["Variables"]["SIGNALS"])}
    assert {"accelerator", "busy_mark"} <= signals
    assert "/run/accelerated-fleet/busy/job-XXXXXX" in user_data(template)


def test_transfers_are_measured_by_the_node_program(template: dict[str, Any]) -> None:
    sections = agent_sections(template, "Batch")
    assert "nvidia_gpu" not in sections
    assert "statsd" in sections
    assert '"kind":"fpga"' in user_data(template).replace(" ", "")


def test_a_drain_outlasts_the_longest_job(template: dict[str, Any]) -> None:
    assert "LIMIT=3300\n" in user_data(template)
    assert drain_seconds(template) == 3600


def test_the_work_reads_inputs_and_writes_results(template: dict[str, Any]) -> None:
    allowed = work_permissions(template, "Batch")
    assert allowed["<Inputs.Arn>/*"] == {"s3:GetObject"}
    assert allowed["<Results.Arn>/*"] == {"s3:PutObject"}
