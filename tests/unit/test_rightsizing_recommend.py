"""From a workload to instance types."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from dataclasses import replace
from typing import Any

import pytest

from constructs_lib.catalog import AcceleratedType, accelerator, known_types, lookup, price
from constructs_lib.errors import ArgumentError, UnknownInstanceTypeError
from constructs_lib.rightsizing import Choice, Hint, Recommendation, Workload, recommend
from constructs_lib.rightsizing import figures as figures_module

CHAT = Workload.inference(model="llama-3.1-8b")


def hint(recommendation: Recommendation, kind: str) -> Hint:
    found = [each for each in recommendation.hints if each.kind == kind]
    assert found, [each.kind for each in recommendation.hints]
    return found[0]


def kinds(recommendation: Recommendation) -> set[str]:
    return {each.kind for each in recommendation.hints}


def names(choices: tuple[Choice, ...]) -> list[str]:
    return [choice.instance_type for choice in choices]


def on(recommendation: Recommendation, instance_type: str) -> Choice:
    every = (*recommendation.choices, *recommendation.unmeasured)
    return next(choice for choice in every if choice.instance_type == instance_type)


def refusal(recommendation: Recommendation, instance_type: str) -> str:
    found = [each.reason for each in recommendation.refused if instance_type in each.instance_types]
    assert len(found) == 1
    return found[0]


# --- what a choice says ------------------------------------------------------------------------------------------


def test_a_choice_with_its_figure_and_price() -> None:
    choice = on(recommend(CHAT), "g5.xlarge")
    assert choice.throughput is not None
    assert choice.throughput.value == pytest.approx(689, rel=0.01)
    assert choice.throughput.unit == "tokens/s"
    assert "SpareCores" in choice.throughput.source
    assert "256 tokens in, 128 out" in choice.throughput.conditions
    assert choice.confidence == "high"
    listed = price("g5.xlarge", "us-east-1")
    assert listed is not None
    assert (choice.usd_per_hour, choice.price_date) == (listed.usd_per_hour, listed.date)
    assert choice.unit_of_work == "1M tokens"
    assert choice.usd_per_unit == pytest.approx(listed.usd_per_hour / (689 * 3600) * 1e6)
    facts = accelerator("A10G")
    assert facts is not None
    assert facts.power_limit_w is not None
    assert choice.watts_per_unit == pytest.approx(facts.power_limit_w / 689)
    assert choice.instances is None


def test_instances_for_a_rate_and_what_the_work_costs_then() -> None:
    choice = on(recommend(CHAT.with_changes(rate=2000)), "g5.xlarge")
    assert choice.instances == 3
    assert choice.usd_per_hour is not None
    assert choice.usd_per_hour_in_all == pytest.approx(3 * choice.usd_per_hour)
    assert choice.usd_per_unit == pytest.approx(3 * choice.usd_per_hour / (2000 * 3600) * 1e6)


def test_a_rate_in_requests_is_turned_into_tokens_by_their_length() -> None:
    tokens = on(recommend(CHAT.with_changes(rate=1280)), "g5.xlarge")
    requests = on(recommend(CHAT.with_changes(rate=10, unit="requests/s")), "g5.xlarge")
    assert tokens.instances == requests.instances
    assert requests.unit_of_work == "1M requests"
    assert tokens.usd_per_unit is not None
    assert requests.usd_per_unit == pytest.approx(tokens.usd_per_unit * 128)


def test_replicas_on_a_type_with_several_accelerators_are_added_up_with_less_confidence() -> None:
    one, four = on(recommend(CHAT), "g5.xlarge"), on(recommend(CHAT), "g5.12xlarge")
    assert one.throughput is not None
    assert four.throughput is not None
    assert four.throughput.value == pytest.approx(4 * one.throughput.value)
    assert (one.confidence, four.confidence) == ("high", "medium")
    assert "times 4 replicas" in four.throughput.conditions
    assert four.replicas_per_instance == 4


def test_how_many_small_models_one_accelerator_holds() -> None:
    small = Workload.inference(model="qwen2.5-0.5b", stack="cuda")
    choice = on(recommend(small), "g5.xlarge")
    assert choice.memory_needed_mib is not None
    assert choice.replicas_per_instance is not None
    assert choice.replicas_per_instance > 10


def test_figures_of_other_clouds_stand_in_for_the_gpu_and_say_so() -> None:
    choice = on(recommend(CHAT), "g6.xlarge")
    assert choice.confidence == "medium"
    assert choice.throughput is not None
    assert "not measured on EC2" in choice.throughput.conditions


def test_a_model_of_nearly_the_same_size_stands_in_with_low_confidence() -> None:
    choice = on(recommend(Workload.inference(model="mistral-7b")), "g5.xlarge")
    assert choice.confidence == "low"
    assert choice.throughput is not None
    assert choice.throughput.conditions.startswith("llama-3.1-8b bf16")


def test_models_of_one_shape_are_one_model() -> None:
    assert on(recommend(Workload.inference(model="llama-3-8b")), "g5.xlarge").confidence == "high"


def test_a_request_four_times_as_long_says_nothing() -> None:
    long = Workload.inference(model="llama-3.1-8b", input_tokens=20_000, output_tokens=500)
    assert "g5.xlarge" in names(recommend(long).unmeasured)


def test_the_closest_requests_are_taken() -> None:
    rag = Workload.inference(model="llama-3.1-8b", input_tokens=1000, output_tokens=250)
    figure = on(recommend(rag), "g5.xlarge").throughput
    assert figure is not None
    assert "1024 tokens in, 256 out" in figure.conditions


def test_the_memory_limits_what_was_measured_to_run_at_the_same_time() -> None:
    long_tail = Workload.inference(model="llama-3.1-8b", context_tokens=8192)
    choice = on(recommend(long_tail), "g5.xlarge")
    assert choice.throughput is not None
    assert (choice.throughput.concurrency or 0) < 10
    assert choice.memory_needed_mib is not None
    assert choice.memory_needed_mib <= 0.9 * choice.memory_there_mib


def test_a_replica_takes_no_fewer_accelerators_than_stated() -> None:
    choice = on(recommend(CHAT.with_changes(accelerators=4)), "g6.12xlarge")
    assert (choice.accelerators_per_replica, choice.replicas_per_instance) == (4, 1)
    assert choice.throughput is not None
    assert "on 4 x L4" in choice.throughput.conditions


def test_gpus_share_whole_attention_heads_and_neuron_pads_them() -> None:
    """Qwen2.5 7B has 28 heads, which four GPUs can share and eight cannot."""
    workload = Workload.inference(model="qwen2.5-7b", stack=["cuda", "neuron"])
    four, eight = (recommend(workload.with_changes(accelerators=each)) for each in (4, 8))
    assert on(four, "g5.48xlarge").accelerators_per_replica == 4
    assert refusal(eight, "g5.48xlarge") == "its accelerators cannot share the model evenly"
    assert on(eight, "trn1.32xlarge").accelerators_per_replica == 8


# --- ranking -----------------------------------------------------------------------------------------------------


def test_what_nobody_measured_is_apart_and_never_ranked() -> None:
    found = recommend(Workload.inference(model="llama-3.1-70b", stack="cuda"))
    assert not found.choices
    assert found.best is None
    assert {"p4d.24xlarge", "g6e.12xlarge", "p5.48xlarge"} <= set(names(found.unmeasured))
    assert all(choice.throughput is None and choice.usd_per_unit is None for choice in found.unmeasured)
    assert all(choice.why_unranked for choice in found.unmeasured)
    assert "says nothing about what they do" in hint(found, "not-measured").text


def test_what_has_no_price_is_apart() -> None:
    choice = on(recommend(CHAT), "p5e.48xlarge")
    assert choice.throughput is not None
    assert choice.why_unranked == "its price in us-east-1 is not known"


def test_a_retired_type_is_never_chosen() -> None:
    for workload in (CHAT, Workload.graphics(), Workload.fpga(), CHAT.with_changes(precision="fp16")):
        found = recommend(workload)
        every = {*names(found.choices), *names(found.unmeasured)}
        assert not [name for name in every if known_types().get(name, lookup("g5.xlarge")).status == "retired"]
    assert refusal(recommend(CHAT), "g3.4xlarge") == "AWS has retired it"


def test_a_previous_generation_is_marked() -> None:
    found = recommend(
        Workload.inference(model="llama-7b", precision="int4", stack="cuda"), instance_types=["p3.2xlarge"]
    )
    assert found.choices[0].status == "previous"
    assert hint(found, "previous-generation").instance_type == "p3.2xlarge"


# --- goals -------------------------------------------------------------------------------------------------------


def test_a_latency_goal_takes_a_smaller_load_or_refuses_the_type() -> None:
    free, quick = recommend(CHAT), recommend(CHAT.with_changes(first_token_ms=200))
    fast, slow = on(quick, "g5.xlarge").throughput, on(free, "g5.xlarge").throughput
    assert fast is not None
    assert slow is not None
    assert fast.first_token_ms is not None
    assert fast.first_token_ms <= 200
    assert fast.value < slow.value
    assert refusal(quick, "c8i.16xlarge") == "no measured load keeps the latency goal"


def test_a_load_that_nobody_would_wait_for_counts_for_batches_only() -> None:
    # At its highest load c8i.16xlarge took 12.8 seconds to the first token.
    online = on(recommend(Workload.inference(model="gemma-2-2b")), "c8i.16xlarge").throughput
    batch = on(recommend(Workload.batch_inference(model="gemma-2-2b")), "c8i.16xlarge").throughput
    patient = Workload.inference(model="gemma-2-2b", first_token_ms=20_000)
    assert online is not None
    assert batch is not None
    assert (online.first_token_ms or 0) <= 10_000 < (batch.first_token_ms or 0)
    assert online.value < batch.value
    assert on(recommend(patient), "c8i.16xlarge").throughput == batch


def test_a_goal_that_nobody_measured_is_not_taken_for_kept() -> None:
    fp8 = Workload.inference(model="llama-3.1-8b", precision="fp8", per_token_ms=50, stack="cuda")
    choice = on(recommend(fp8), "g6e.xlarge")
    assert choice.why_unranked == "its figures have no latency to hold against the goal"


# --- advice ------------------------------------------------------------------------------------------------------


def test_a_cpu_is_enough_for_a_low_rate() -> None:
    found = recommend(Workload.inference(model="llama-2-7b", precision="int4", rate=5))
    assert found.best is not None
    assert found.best.kind == "cpu"
    assert found.best.accelerators == 0
    assert found.best.watts_per_unit is None
    assert "A CPU is enough" in hint(found, "cpu-is-enough").text
    assert found.accelerated
    assert all(choice.kind != "cpu" for choice in found.accelerated)


def test_cpus_with_amx_and_graviton_are_among_the_choices() -> None:
    found = recommend(Workload.inference(model="gemma-2b", precision="int4", rate=5))
    processors = {choice.processor for choice in found.choices}
    assert {"Intel with AMX", "AWS Graviton", "AMD", None} <= processors


def test_a_cpu_is_not_enough_for_a_high_rate() -> None:
    found = recommend(CHAT.with_changes(rate=5000))
    assert found.best is not None
    assert found.best.kind == "nvidia"
    assert "cpu-is-enough" not in kinds(found)


def test_a_cpu_is_named_to_those_who_did_not_ask_for_one() -> None:
    found = recommend(Workload.inference(model="qwen1.5-0.5b", precision="int4", rate=20, stack="cuda"))
    assert all(choice.kind == "nvidia" for choice in found.choices)
    assert "if your software runs on one" in hint(found, "cpu-is-enough").text


def test_a_fraction_of_a_gpu_is_enough() -> None:
    found = recommend(Workload.inference(model="gemma-2b", precision="int4", rate=10, stack="cuda"))
    assert found.best is not None
    assert found.best.instance_type == "g6f.large"
    assert found.best.fraction == 0.125
    assert hint(found, "fraction-is-enough").instance_type == "g6f.large"


def test_a_fraction_that_nobody_measured_is_named_as_such() -> None:
    found = recommend(Workload.graphics(memory_mib=2000))
    assert "nobody has measured" in hint(found, "fraction-is-enough").text


def test_neuron_is_named_where_only_it_was_measured() -> None:
    found = recommend(Workload.inference(model="bert-base", input_tokens=128, rate=1000))
    assert hint(found, "neuron-is-measured").instance_type == "inf1.xlarge"
    assert all(choice.kind != "neuron" for choice in found.unmeasured)


def test_neuron_is_named_where_it_is_cheaper() -> None:
    """Both figures are AWS's own: BERT base on g4dn.xlarge and on inf1.xlarge."""
    found = recommend(Workload.inference(model="bert-base", precision="fp16", input_tokens=128, stack="cuda"))
    assert found.best is not None
    assert found.best.instance_type == "g4dn.xlarge"
    assert found.best.usd_per_unit == pytest.approx(0.20, rel=0.01)
    assert hint(found, "neuron-is-cheaper").instance_type == "inf1.xlarge"


def test_neuron_is_no_advice_to_those_who_use_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """Figures that are made up: Inferentia2 does ten times as much of a model as an L4 does."""
    real = figures_module.measurements()
    template = next(each for each in real if each.accelerator == "Inferentia2" and each.model == "resnet-50")
    gpu = replace(template, accelerator="L4", memory_gb=24.0, value=template.value / 10)
    monkeypatch.setattr(figures_module, "_by_model", lambda: {"resnet-50": (template, gpu)})
    found = recommend(Workload.inference(model="resnet-50", stack="cuda"))
    assert found.best is not None
    assert found.best.instance_type == "g6.xlarge"
    assert hint(found, "neuron-is-cheaper").instance_type == "inf2.xlarge"
    with_neuron = recommend(Workload.inference(model="resnet-50", stack=["cuda", "neuron"]))
    assert with_neuron.best is not None
    assert with_neuron.best.instance_type == "inf2.xlarge"
    assert "neuron-is-cheaper" not in kinds(with_neuron)


def test_quantised_it_fits_on_a_smaller_type() -> None:
    found = recommend(Workload.inference(model="llama-3.1-405b", stack="cuda"))
    assert "Quantised to FP8 it fits on p4de.24xlarge" in hint(found, "quantise-to-fit").text
    smaller = recommend(Workload.inference(model="llama-3.1-405b", precision="fp8", stack="cuda"))
    assert "INT4" in hint(smaller, "quantise-to-fit").text


def test_quantised_there_is_a_figure_where_that_alone_was_measured() -> None:
    found = recommend(Workload.inference(model="mixtral-8x7b", stack="cuda"))
    quantised = hint(found, "quantise-is-measured")
    assert "FP8 there is a figure" in quantised.text
    assert "quantise" not in kinds(found), "there is nothing that it would be cheaper than"
    assert quantised.usd_per_unit is not None


def test_nothing_is_narrower_than_four_bits() -> None:
    found = recommend(Workload.inference(model="llama-3.1-8b", precision="int4"))
    assert not {"quantise", "quantise-to-fit"} & kinds(found)


def test_batching_lifts_the_throughput() -> None:
    assert "requests at the same time" in hint(recommend(CHAT), "batching").text
    one = recommend(CHAT.with_changes(concurrency=1))
    told = hint(one, "batching")
    assert one.best is not None
    assert one.best.throughput is not None
    assert one.best.throughput.concurrency == 1
    assert told.instance_type == one.best.instance_type


def test_adapters_need_less() -> None:
    found = recommend(Workload.training(model="llama-3.1-8b"))
    assert "LoRA fits on" in hint(found, "adapters").text


def test_what_fits_no_single_instance_takes_several_with_efa() -> None:
    found = recommend(Workload.training(model="llama-3.1-405b"))
    assert not found.choices
    assert found.unmeasured
    for choice in found.unmeasured:
        assert choice.instances_per_replica > 1
        assert choice.replicas_per_instance == 0
        assert lookup(choice.instance_type).efa_interfaces
    assert "joined by EFA" in hint(found, "several-instances").text


def test_nothing_fits_where_nothing_may_be_joined() -> None:
    found = recommend(Workload.inference(model="llama-3.1-405b"), instance_types=["g5.xlarge", "inf2.48xlarge"])
    assert not found.choices
    assert not found.unmeasured
    assert kinds(found) == {"nothing-fits"}
    assert refusal(found, "g5.xlarge") == "its memory does not hold one replica"


# --- kinds of work -----------------------------------------------------------------------------------------------


def test_video_is_transcoded_on_types_with_an_encoder_only() -> None:
    found = recommend(Workload.transcoding(rate=20))
    assert found.best is not None
    assert (found.best.instance_type, found.best.instances) == ("vt1.3xlarge", 3)
    every = {*names(found.choices), *names(found.unmeasured)}
    assert {"g4dn.xlarge", "g6.xlarge"} <= every
    for name in every:
        assert known_types()[name].video_encoder
    for compute_only in ("p4d.24xlarge", "p5.4xlarge", "p5.48xlarge", "inf2.xlarge"):
        # Whether their chips have an encoder is another question.
        assert refusal(found, compute_only) == "AWS does not offer it for transcoding"


@pytest.mark.parametrize(("video", "streams"), [("2160p60", 2), ("1080p60", 8), ("1080p30", 16), ("720p30", 32)])
def test_streams_of_a_media_card_as_published(video: str, streams: int) -> None:
    found = recommend(Workload.transcoding(video=video), instance_types=["vt1.3xlarge", "vt1.24xlarge"])
    figures = {choice.instance_type: choice.throughput for choice in found.choices}
    assert figures["vt1.3xlarge"] is not None
    assert figures["vt1.24xlarge"] is not None
    assert (figures["vt1.3xlarge"].value, figures["vt1.24xlarge"].value) == (streams, 8 * streams)


def test_graphics_takes_types_that_draw() -> None:
    found = recommend(Workload.graphics(memory_mib=4000))
    every = set(names(found.unmeasured))
    assert "g4ad.xlarge" in every
    assert "g6f.2xlarge" in every
    assert on(found, "g6.xlarge").replicas_per_instance == 5
    assert refusal(found, "vt1.3xlarge") == "it encodes video, and does not draw"


def test_fpgas_are_f2() -> None:
    found = recommend(Workload.fpga())
    assert {choice.family for choice in found.unmeasured} == {"f2"}


def test_hpc_takes_what_holds_the_job() -> None:
    found = recommend(Workload.hpc(memory_mib=400_000, accelerators=8))
    assert {"p5.48xlarge", "p5en.48xlarge"} <= set(names(found.unmeasured))
    assert refusal(found, "g6.12xlarge") == "it has fewer than 8 accelerators"
    assert refusal(found, "p4d.24xlarge") == "its memory does not hold one replica"


def test_training_is_measured_on_trainium() -> None:
    found = recommend(Workload.training(model="bert-large", context_tokens=128, stack=["neuron"]))
    assert found.best is not None
    assert found.best.instance_type == "trn1.32xlarge"
    assert found.best.throughput is not None
    assert found.best.throughput.value == 3830
    assert "made for inference" in refusal(found, "inf2.xlarge")


def test_training_over_many_instances_counts_whole_groups_of_them() -> None:
    # The AWS Neuron documentation trains it with tensor parallelism over the 16 devices of each of 32 instances.
    workload = Workload.training(
        model="llama-3.1-8b", context_tokens=8192, stack=["neuron"], tensor_parallel=16, rate=40
    )
    found = recommend(workload)
    assert found.best is not None
    assert found.best.instances_per_replica == 32
    assert found.best.instances == 32


def test_training_counted_in_tokens_is_sequences_times_their_length() -> None:
    def best(**stated: Any) -> Choice:
        found = recommend(Workload.training(model="bert-large", context_tokens=128, stack=["neuron"], **stated)).best
        assert found is not None
        return found

    sequences, tokens = best(), best(unit="tokens/s")
    assert sequences.throughput is not None
    assert tokens.throughput is not None
    assert tokens.throughput.value == pytest.approx(128 * sequences.throughput.value)
    assert tokens.unit_of_work == "1M tokens"


def test_several_training_jobs_side_by_side_are_no_faster_one() -> None:
    workload = Workload.training(model="bert-large", context_tokens=128, stack=["neuron"])
    assert on(recommend(workload), "trn1.32xlarge").confidence == "high"
    assert on(recommend(workload.with_changes(rate=10_000)), "trn1.32xlarge").confidence == "medium"


def test_a_gpu_without_bfloat16_is_named_with_what_it_takes() -> None:
    assert refusal(recommend(CHAT), "g4dn.xlarge").startswith("T4 does not compute with bf16; it takes fp32, fp16")
    assert "g4dn.12xlarge" in names(recommend(CHAT.with_changes(precision="fp16")).unmeasured)


def test_language_models_do_not_run_on_the_first_inferentia() -> None:
    found = recommend(Workload.inference(model="qwen2.5-0.5b", stack="neuron"))
    assert refusal(found, "inf1.xlarge") == "on Inferentia no language models are served"


def test_software_for_one_architecture() -> None:
    found = recommend(Workload.inference(model="gemma-2b", precision="int4", architectures=["x86_64"]))
    assert all(choice.architecture == "x86_64" for choice in (*found.choices, *found.unmeasured))
    assert refusal(found, "g5g.xlarge") == "its CPU is arm64, and the software is built for x86_64"


# --- regions, types, arguments -------------------------------------------------------------------------------------


def test_a_region_has_its_own_prices_and_offers() -> None:
    found = recommend(CHAT, region="eu-west-1")
    choice = on(found, "g5.xlarge")
    listed = price("g5.xlarge", "eu-west-1")
    assert listed is not None
    assert (choice.region, choice.usd_per_hour, choice.price_date) == ("eu-west-1", listed.usd_per_hour, listed.date)
    assert refusal(found, "g6e.xlarge") == "eu-west-1 does not offer it"


def test_a_type_that_the_catalog_does_not_have_is_judged_by_its_facts() -> None:
    future = AcceleratedType(
        name="g9.xlarge",
        kind="nvidia",
        model="L40S",
        accelerators=1,
        accelerator_memory_mib=45_776,
        architecture="x86_64",
        usd_per_hour=1.0,
    )
    found = recommend(CHAT, instance_types=[future, "g6e.xlarge"])
    assert names(found.choices) == ["g9.xlarge", "g6e.xlarge"]


def test_a_type_without_a_price_is_not_ranked() -> None:
    future = AcceleratedType(
        name="g9.xlarge",
        kind="nvidia",
        model="L9",
        accelerators=1,
        accelerator_memory_mib=45_776,
        architecture="x86_64",
    )
    (choice,) = recommend(CHAT, instance_types=[future]).unmeasured
    assert (choice.usd_per_hour, choice.usd_per_hour_in_all, choice.watts_per_unit) == (None, None, None)
    reason = "nobody has measured this work on it, and its price in us-east-1 is not known"
    assert choice.why_unranked == reason


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"workload": "llama"}, "recommend: workload must be of type Workload"),
        ({"region": "eu-west-9"}, "recommend: region must be one of .*did you mean 'eu-west-"),
        ({"instance_types": []}, "recommend: instance_types must be a list that is not empty"),
        ({"instance_types": "g5.xlarge"}, "recommend: instance_types must be a list"),
        ({"instance_types": [3]}, "recommend: instance_types must hold names"),
    ],
)
def test_a_wrong_argument_is_named(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(ArgumentError, match=message):
        recommend(**{"workload": CHAT, **arguments})


def test_an_unknown_type_is_named_with_similar_ones() -> None:
    with pytest.raises(UnknownInstanceTypeError, match=r"recommend: instance_types must .*did you mean g5\.xlarge"):
        recommend(CHAT, instance_types=["g5.xlrge"])


# --- as a whole ----------------------------------------------------------------------------------------------------


def test_it_is_plain_data_and_the_same_each_time() -> None:
    one, other = recommend(CHAT.with_changes(rate=100)), recommend(CHAT.with_changes(rate=100))
    assert one == other
    assert one.to_json() == other.to_json()
    document = json.loads(one.to_json())
    assert document["choices"][0]["throughput"]["source"]
    assert document["workload"]["rate"] == 100
    assert list(document) == ["workload", "region", "choices", "unmeasured", "hints", "refused"]
    assert one.advice == tuple(each["text"] for each in document["hints"])


def test_it_is_the_same_in_every_process() -> None:
    program = (
        "from constructs_lib.rightsizing import Workload, recommend\n"
        "print(recommend(Workload.inference(model='phi-4', rate=500, stack=['neuron', 'cpu', 'cuda'])).to_json())\n"
    )
    answers = {
        subprocess.run(
            [sys.executable, "-c", program],
            capture_output=True,
            text=True,
            check=True,
            env={**os.environ, "PYTHONHASHSEED": seed},
        ).stdout
        for seed in ("0", "1", "2")
    }
    assert len(answers) == 1


def test_it_answers_within_a_second_of_import_and_without_the_cdk() -> None:
    program = (
        "import sys, time\n"
        "start = time.perf_counter()\n"
        "from constructs_lib.rightsizing import Workload, recommend\n"
        "recommend(Workload.inference(model='llama-3.1-8b', rate=2000))\n"
        "print(time.perf_counter() - start)\n"
        "print([name for name in ('aws_cdk', 'jsii', 'constructs', 'boto3', 'ortools') if name in sys.modules])\n"
    )
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    seconds, loaded = ran.stdout.split("\n")[:2]
    assert float(seconds) < 1.0
    assert loaded == "[]"


def test_a_further_answer_takes_milliseconds() -> None:
    recommend(CHAT)
    taken = []
    for rate in range(1, 11):
        start = time.process_time()
        recommend(CHAT.with_changes(rate=rate))
        taken.append(time.process_time() - start)
    assert min(taken) < 0.05
