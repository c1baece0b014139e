"""Transcoding on Spot: encoders only, many pools, and nothing that takes longer than Spot's notice."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from constructs_lib.catalog import known_types, lookup
from constructs_lib.node.drain.decision import INTERRUPTION_MARGIN_SECONDS, INTERRUPTION_SECONDS
from tests.constructs.reading import only, plain, properties, resources, user_data
from tests.examples.example_templates import (
    agent_sections,
    distribution,
    drain_seconds,
    image_parameter,
    readme_words,
    root_device,
    templates,
    type_names,
    work_permissions,
)
from tests.support.stacks import ROOT

STACK = "SpotTranscode"
WORKER = (ROOT / "examples/spot_transcode/worker.sh").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def template() -> dict[str, Any]:
    return templates("spot_transcode")[STACK]


@pytest.fixture(scope="module")
def vt1() -> dict[str, Any]:
    return templates("spot_transcode", vt1_image_parameter="/golden/vt1")[STACK]


def constant(name: str) -> int:
    (value,) = re.findall(rf"^{name}=(\d+)$", WORKER, re.MULTILINE)
    return int(value)


def test_every_type_has_a_video_encoder(template: dict[str, Any], vt1: dict[str, Any]) -> None:
    for name in (*type_names(template), *type_names(vt1)):
        assert lookup(name).video_encoder


@pytest.mark.parametrize(
    "name", sorted(each.name for each in known_types().values() if each.model in ("A100", "H100", "H200", "V100"))
)
def test_training_gpus_are_refused(name: str) -> None:
    with pytest.raises(SystemExit, match=f"AWS does not offer {name} for media"):
        templates("spot_transcode", transcode_types=f"g6.xlarge,{name}")


def test_other_types_with_an_encoder_are_taken() -> None:
    assert type_names(templates("spot_transcode", transcode_types="g5.xlarge, g6.xlarge")[STACK]) == [
        "g5.xlarge",
        "g6.xlarge",
    ]


@pytest.mark.parametrize(
    "context",
    [{"transcode_types": "vt1.3xlarge"}, {"transcode_types": "g6.xlarge", "vt1_image_parameter": "/golden/vt1"}],
)
def test_a_type_whose_driver_the_image_lacks_is_refused(context: dict[str, str]) -> None:
    with pytest.raises(SystemExit, match="name NVIDIA types, or VT1 types together with"):
        templates("spot_transcode", **context)


def test_spot_only_over_several_types_and_zones(template: dict[str, Any]) -> None:
    bought = distribution(template)
    assert (bought["OnDemandBaseCapacity"], bought["OnDemandPercentageAboveBaseCapacity"]) == (0, 0)
    assert bought["SpotAllocationStrategy"] == "price-capacity-optimized"
    assert len({lookup(name).family for name in type_names(template)}) > 1
    assert len(type_names(template)) == 4
    zones = only(template, "AWS::AutoScaling::AutoScalingGroup")["Properties"]["VPCZoneIdentifier"]
    assert len(zones) > 1


def test_a_drain_is_over_within_spots_notice(template: dict[str, Any]) -> None:
    """The worker gives a job back after its time of grace; the fleet waits longer than that, and Spot longer still."""
    assert constant("GRACE") + 15 < drain_seconds(template) < INTERRUPTION_SECONDS - INTERRUPTION_MARGIN_SECONDS


def test_a_message_of_a_lost_machine_comes_back_within_two_minutes(template: dict[str, Any]) -> None:
    assert properties(template, "JobsQueue", "AWS::SQS::Queue")["VisibilityTimeout"] == constant("HIDDEN") == 120


def test_tries_that_spot_ends_do_not_make_a_job_a_failed_one_at_once(template: dict[str, Any]) -> None:
    jobs = properties(template, "JobsQueue", "AWS::SQS::Queue")
    assert plain(jobs["RedrivePolicy"])["maxReceiveCount"] == 6


def test_nvenc_on_ubuntu_whose_ffmpeg_can_use_it(template: dict[str, Any]) -> None:
    assert image_parameter(template).endswith("base-oss-nvidia-driver-gpu-ubuntu-24.04/latest/ami-id")
    assert root_device(template) == "/dev/sda1"
    assert "ENCODER=h264_nvenc" in user_data(template)


def test_use_of_the_encoder_is_measured(template: dict[str, Any]) -> None:
    measured = agent_sections(template, "Transcode")["nvidia_gpu"]["measurement"]
    assert any("encoder" in name for name in measured)


def test_vt1_takes_the_teams_image_and_the_vendors_encoder(vt1: dict[str, Any]) -> None:
    assert type_names(vt1) == ["vt1.3xlarge", "vt1.6xlarge"]
    assert image_parameter(vt1) == "/golden/vt1"
    assert root_device(vt1) == "/dev/xvda"
    assert "ENCODER=mpsoc_vcu_h264" in user_data(vt1)
    assert "nvidia_gpu" not in agent_sections(vt1, "Transcode")


def test_root_device_of_that_image_may_be_ubuntus() -> None:
    context = {"vt1_image_parameter": "/golden/vt1", "vt1_root_device": "/dev/sda1"}
    assert root_device(templates("spot_transcode", **context)[STACK]) == "/dev/sda1"


def test_each_video_that_is_put_becomes_a_job(template: dict[str, Any]) -> None:
    rule = only(template, "AWS::Events::Rule")["Properties"] if _one_rule(template) else _video_rule(template)
    assert rule["EventPattern"]["detail-type"] == ["Object Created"]
    assert plain(rule["EventPattern"]["detail"]) == {"bucket": {"name": ["<Videos>"]}}
    (target,) = rule["Targets"]
    assert plain(target["Arn"]) == "<JobsQueue.Arn>"
    assert target["InputTransformer"] == {
        "InputPathsMap": {"detail-object-key": "$.detail.object.key"},
        "InputTemplate": '{"input":<detail-object-key>}',
    }
    videos = properties(template, "Videos", "AWS::S3::Bucket")
    assert videos["NotificationConfiguration"] == {"EventBridgeConfiguration": {"EventBridgeEnabled": True}}


def test_what_comes_out_makes_no_jobs(template: dict[str, Any]) -> None:
    assert "NotificationConfiguration" not in properties(template, "Transcoded", "AWS::S3::Bucket")


def test_only_that_rule_may_send_to_the_queue(template: dict[str, Any]) -> None:
    (policy,) = [
        each["Properties"]["PolicyDocument"]["Statement"]
        for id, each in resources(template, "AWS::SQS::QueuePolicy").items()
        if id.startswith("JobsQueue")
    ]
    allowed = [plain(each) for each in policy if each["Effect"] == "Allow"]
    assert [(each["Action"], each["Principal"]) for each in allowed] in (
        [("sqs:SendMessage", {"Service": "events.amazonaws.com"})],
        [(["sqs:SendMessage", "sqs:GetQueueAttributes", "sqs:GetQueueUrl"], {"Service": "events.amazonaws.com"})],
    )
    assert json.dumps(allowed[0]["Condition"]) == '{"ArnEquals": {"aws:SourceArn": "<VideoPut.Arn>"}}'


def test_the_work_reads_videos_and_writes_what_it_made_of_them(template: dict[str, Any]) -> None:
    allowed = work_permissions(template, "Transcode")
    assert allowed["<Videos.Arn>/*"] == {"s3:GetObject"}
    assert allowed["<Transcoded.Arn>/*"] == {"s3:PutObject"}


def test_readme_says_what_a_drain_does() -> None:
    text = readme_words("spot_transcode")
    assert f"{constant('GRACE')} seconds" in text
    assert "two minutes" in text


def _one_rule(template: dict[str, Any]) -> bool:
    return len(resources(template, "AWS::Events::Rule")) == 1


def _video_rule(template: dict[str, Any]) -> dict[str, Any]:
    return properties(template, "VideoPut", "AWS::Events::Rule")
