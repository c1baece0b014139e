"""Inference on Neuron: its machines and image, its hours, its measurements."""

from __future__ import annotations

import json
from typing import Any

import pytest

from constructs_lib.catalog import lookup
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

STACK = "NeuronInference"


@pytest.fixture(scope="module")
def template() -> dict[str, Any]:
    return templates("neuron_inference")[STACK]


def test_inferentia_unless_trainium_is_asked_for(template: dict[str, Any]) -> None:
    assert type_names(template) == ["inf2.xlarge", "inf2.8xlarge"]
    assert type_names(templates("neuron_inference", neuron_family="trn1")[STACK]) == ["trn1.2xlarge"]


def test_another_family_is_refused_with_those_that_there_are() -> None:
    with pytest.raises(SystemExit, match="-c neuron_family=inf1: give one of inf2, trn1"):
        templates("neuron_inference", neuron_family="inf1")


def test_on_demand_the_cheaper_type_first(template: dict[str, Any]) -> None:
    bought = distribution(template)
    assert (bought["OnDemandPercentageAboveBaseCapacity"], bought["OnDemandAllocationStrategy"]) == (100, "prioritized")
    prices = [lookup(name).usd_per_hour for name in type_names(template)]
    assert prices == sorted(prices, key=lambda usd: usd or 0)


def test_one_worker_for_each_core_and_as_many_messages(template: dict[str, Any]) -> None:
    """A device of these families has two cores (Neuron documentation, architecture of Inferentia2 and of Trainium)."""
    assert {lookup(name).accelerators for name in type_names(template)} == {1}
    assert "CORES=2" in user_data(template)
    wake = properties(template, "InferenceWakeHandlerFunction", "AWS::Lambda::Function")
    assert wake["Environment"]["Variables"]["MESSAGES_PER_INSTANCE"] == "2"


def test_image_is_the_last_one_with_pytorch_for_these_families(template: dict[str, Any]) -> None:
    """Neuron documentation: torch-neuronx is on no image of release 2.32, and later for Trn2 and Trn3 only."""
    assert image_parameter(template) == "/aws/service/neuron/dlami/pytorch-2.9/ubuntu-24.04/latest/image_id"
    assert root_device(template) == "/dev/sda1"
    own = templates("neuron_inference", neuron_image_parameter="/golden/neuron")[STACK]
    assert image_parameter(own) == "/golden/neuron"


def test_neuron_is_measured_by_the_node_program_and_no_nvidia_section_is_there(template: dict[str, Any]) -> None:
    sections = agent_sections(template, "Inference")
    assert "nvidia_gpu" not in sections
    assert "statsd" in sections
    assert '"kind":"neuron"' in user_data(template).replace(" ", "")
    assert "nvidia" not in user_data(template)


def test_latency_of_the_jobs_is_published(template: dict[str, Any]) -> None:
    written = properties(template, "InferenceAgentConfiguration", "AWS::SSM::Parameter")["Value"]
    assert "inference_latency" in json.dumps(json.loads(written))
    assert "emit inference_latency" in user_data(template)


def test_a_loaded_model_outlives_a_pause_between_jobs(template: dict[str, Any]) -> None:
    release = properties(template, "InferenceReleaseHandlerFunction", "AWS::Lambda::Function")
    variables = release["Environment"]["Variables"]
    assert (variables["WINDOW_SECONDS"], variables["WARM_UP_SECONDS"]) == ("1800", "900")
    signals = {each["name"] for each in json.loads(variables["SIGNALS"])}
    # A model that is loaded keeps the memory of its cores, whether or not it is used.
    assert "memory" not in signals
    assert {"accelerator", "busy_mark"} <= signals


def test_open_on_working_days_by_the_clock_that_is_named(template: dict[str, Any]) -> None:
    def office(found: dict[str, Any]) -> Any:
        schedule = properties(found, "InferenceScheduleHandlerFunction", "AWS::Lambda::Function")
        (hours,) = json.loads(schedule["Environment"]["Variables"]["SCHEDULE"])["office"]
        return hours

    assert office(template) == {"days": [0, 1, 2, 3, 4], "from": "07:00", "to": "20:00", "zone": "UTC"}
    assert office(templates("neuron_inference", time_zone="Europe/Berlin")[STACK])["zone"] == "Europe/Berlin"


def test_a_job_at_hand_has_time_to_end(template: dict[str, Any]) -> None:
    """The worker gives a job up after 240 seconds."""
    assert drain_seconds(template) == 300
    assert "model 240 ask" in user_data(template)


def test_the_work_reads_one_model_and_writes_answers(template: dict[str, Any]) -> None:
    allowed = work_permissions(template, "Inference")
    assert allowed["<Files.Arn>/model.pt"] == {"s3:GetObject"}
    assert allowed["<Files.Arn>/answers/*"] == {"s3:PutObject"}


def test_answers_go_after_a_month_and_the_model_stays(template: dict[str, Any]) -> None:
    rules = only(template, "AWS::S3::Bucket")["Properties"]["LifecycleConfiguration"]["Rules"]
    assert [(rule["ExpirationInDays"], rule.get("Prefix")) for rule in rules if "ExpirationInDays" in rule] == [
        (30, "answers/")
    ]


def test_readme_compiles_for_the_family_that_is_deployed() -> None:
    text = readme_words("neuron_inference")
    for word in ("--target inf2", "torch_neuronx.trace", "cpu_backend=True", "2.32"):
        assert word in text


def test_the_template_is_within_what_cloudformation_takes(template: dict[str, Any]) -> None:
    assert len(json.dumps(template, separators=(",", ":"))) < 1_000_000
    assert resources(template, "AWS::Lambda::Function")
    assert plain(template["Outputs"]["BucketName"]["Value"]) == "<Files>"
