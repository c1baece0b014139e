"""What a recommendation must not claim: figures of shorter, single or impossible work taken for what was asked."""

from __future__ import annotations

import json
import math
from typing import Any

import pytest

from constructs_lib.catalog import known_types
from constructs_lib.errors import ArgumentError
from constructs_lib.rightsizing import Choice, Hint, ModelShape, Recommendation, Workload, known_models, recommend
from constructs_lib.rightsizing.figures import Measurement, measurements
from constructs_lib.rightsizing.memory import replica_memory, weight_bytes

CHAT = Workload.inference(model="llama-3.1-8b")
SERVED = [each for each in measurements() if each.task == "serving"]


def on(recommendation: Recommendation, instance_type: str) -> Choice:
    every = (*recommendation.choices, *recommendation.unmeasured)
    return next(choice for choice in every if choice.instance_type == instance_type)


def hints(recommendation: Recommendation) -> dict[str, Hint]:
    return {each.kind: each for each in recommendation.hints}


def title(measured: Measurement) -> str:
    return f"{measured.accelerator}-{measured.instance_type}-{measured.count}-{measured.model}-{measured.precision}"


# --- the tables ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("measured", [each for each in SERVED if each.latency_ms and each.concurrency], ids=title)
def test_requests_at_the_same_time_are_throughput_times_latency(measured: Measurement) -> None:
    """Little's law: a batch of one of several copies of a model is not what was in the machine."""
    written = (measured.output_tokens or 1) if measured.unit == "tokens/s" else 1
    assert measured.latency_ms is not None
    assert measured.concurrency is not None
    inside = measured.value / written * measured.latency_ms / 1000
    assert inside / 1.7 <= measured.concurrency <= inside * 1.7


@pytest.mark.parametrize(
    "measured", [each for each in SERVED if each.accelerator not in ("cpu", "Inferentia")], ids=title
)
def test_a_figure_is_of_weights_that_the_accelerators_hold(measured: Measurement) -> None:
    """Else a part of the model ran on the CPU, and the figure is none of the accelerator."""
    facts = known_models()[measured.model]
    weights = weight_bytes(facts.parameters, measured.precision) / 2**20
    memory = max(
        each.accelerator_memory_mib
        for each in known_types().values()
        if measured.is_of(each.model, each.accelerator_memory_mib, each.fraction)
    )
    assert weights <= memory * measured.count


@pytest.mark.parametrize("measured", [each for each in measurements() if each.accelerator != "cpu"], ids=title)
def test_a_figure_is_of_as_many_accelerators_as_an_instance_can_use(measured: Measurement) -> None:
    assert any(
        each.accelerators * measured.nodes % measured.count == 0
        for each in known_types().values()
        if measured.is_of(each.model, each.accelerator_memory_mib, each.fraction)
    )


# --- longer requests -----------------------------------------------------------------------------------------------


def test_a_latency_goal_is_not_kept_by_what_was_measured_with_shorter_answers() -> None:
    # One request of 1024 and 256 tokens takes 8.8 seconds on an A10G, one of 256 and 128 takes 4.3.
    found = recommend(CHAT.with_changes(input_tokens=1024, output_tokens=256, latency_ms=5000))
    reason = next(each.reason for each in found.refused if "g5.xlarge" in each.instance_types)
    assert reason == "no measured load keeps the latency goal"
    patient = recommend(CHAT.with_changes(input_tokens=1024, output_tokens=256, latency_ms=9000))
    assert on(patient, "g5.xlarge").throughput is not None


def test_a_goal_for_the_first_token_is_not_kept_by_what_was_measured_with_shorter_prompts() -> None:
    # 282 ms with 1024 tokens on an A10G, 118 ms with 256.
    found = recommend(CHAT.with_changes(input_tokens=1024, output_tokens=128, first_token_ms=200))
    assert "g5.xlarge" not in {choice.instance_type for choice in found.choices}


@pytest.mark.parametrize("goal", [2000, 3000, 5000, 8000, 12_000])
@pytest.mark.parametrize("stack", [["cuda"], ["cpu"], ["neuron"]])
def test_longer_answers_never_make_a_goal_easier(goal: float, stack: list[str]) -> None:
    def kept(written: int) -> set[str]:
        asked = Workload.inference(
            model="llama-3.1-8b", input_tokens=256, output_tokens=written, latency_ms=goal, stack=stack
        )
        return {choice.instance_type for choice in recommend(asked).choices}

    short, middle, long = kept(64), kept(128), kept(256)
    assert long <= middle <= short


def test_longer_inputs_of_an_encoder_take_longer() -> None:
    """AWS measured BERT base with sequences of 128 tokens."""
    short, long = (
        on(recommend(Workload.inference(model="bert-base", stack="neuron", input_tokens=each)), "inf2.xlarge")
        for each in (128, 512)
    )
    assert short.throughput is not None
    assert long.throughput is not None
    assert long.throughput.value == pytest.approx(short.throughput.value / 4)
    shorter = on(recommend(Workload.inference(model="bert-base", stack="neuron", input_tokens=64)), "inf2.xlarge")
    assert shorter.throughput is not None
    assert shorter.throughput.value == short.throughput.value, "nobody has shown that it does more of shorter ones"


def test_requests_of_quite_another_length_are_little_to_go_by() -> None:
    workload = Workload.inference(model="llama-2-7b", precision="int4", input_tokens=2000, output_tokens=500, rate=1)
    assert on(recommend(workload), "g5.xlarge").confidence == "low"
    near = workload.with_changes(input_tokens=512, output_tokens=128)
    assert on(recommend(near), "g5.xlarge").confidence == "high"


# --- one request at a time -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("make", [Workload.inference, Workload.batch_inference])
def test_a_rate_that_takes_several_requests_at_once_is_not_known_from_one(make: Any) -> None:
    """With four bits nobody has measured more than one request at a time."""
    found = recommend(make(model="llama-2-7b", precision="int4", rate=2000))
    assert found.best is None
    known = on(found, "g5.xlarge")
    assert known.throughput is not None
    assert (known.instances, known.usd_per_unit, known.confidence) == (None, None, "low")
    assert "one request at a time" in (known.why_unranked or "")
    text = hints(found)["one-at-a-time"].text
    assert "one request at a time" in text
    assert "measure" in text
    assert "batching" not in hints(found)


def test_what_one_request_at_a_time_is_enough_for_is_known() -> None:
    found = recommend(Workload.inference(model="llama-2-7b", precision="int4", rate=5))
    assert found.best is not None
    assert found.best.confidence == "high"
    assert "one-at-a-time" not in hints(found)


def test_who_asks_for_one_request_at_a_time_gets_it() -> None:
    found = recommend(Workload.inference(model="llama-2-7b", precision="int4", concurrency=1, rate=500))
    assert "one-at-a-time" not in hints(found)
    assert on(found, "g5.xlarge").confidence == "high"


def test_a_device_that_is_served_in_batches_is_not_known_for_one_request_at_a_time() -> None:
    """48 requests were in an Inferentia for its figure of BERT: two batches of six in each of four cores."""
    one = recommend(Workload.inference(model="bert-base", stack="neuron", concurrency=1, input_tokens=128))
    assert on(one, "inf1.xlarge").throughput is None
    many = recommend(Workload.inference(model="bert-base", stack="neuron", concurrency=48, input_tokens=128))
    figure = on(many, "inf1.xlarge").throughput
    assert figure is not None
    assert figure.concurrency == 48


# --- quantising ----------------------------------------------------------------------------------------------------


def test_nothing_is_called_cheaper_for_the_requests_that_it_was_measured_with() -> None:
    """The FP8 figures are of a benchmark's own requests, which are much shorter than these."""
    found = recommend(CHAT.with_changes(input_tokens=4000, output_tokens=500))
    assert found.best is not None
    assert found.best.confidence != "low"
    assert "quantise" not in hints(found)


def test_activations_do_not_shrink_with_the_weights() -> None:
    """They are computed in 16 bits: the fifth that comes on top is one of 16-bit weights."""
    full, quantised = (replica_memory(Workload.inference(model="sdxl", precision=each), 1) for each in ("bf16", "int4"))
    assert full is not None
    assert quantised is not None
    assert quantised.activations == full.activations
    assert quantised.weights < full.weights


# --- what an expert would say --------------------------------------------------------------------------------------


def test_software_that_its_maker_has_given_up_is_named() -> None:
    inferentia = recommend(Workload.inference(model="bert-base", stack="neuron", input_tokens=128))
    assert inferentia.best is not None
    assert inferentia.best.accelerator == "Inferentia"
    assert "2.24" in hints(inferentia)["software-has-ended"].text
    transcoding = recommend(Workload.transcoding())
    assert "software-has-ended" in hints(transcoding)
    assert hints(transcoding)["software-has-ended"].instance_type == "vt1.3xlarge"
    assert "software-has-ended" not in hints(recommend(CHAT))


def test_one_type_is_one_type() -> None:
    found = recommend(Workload.inference(model="llama-3.1-70b", stack="cuda"), instance_types=["p5.48xlarge"])
    assert hints(found)["not-measured"].text.startswith("1 type fits, and it cannot be ranked")


# --- numbers that nobody means -------------------------------------------------------------------------------------

HUGE = 10**400
SHAPE = {"layers": 32, "hidden": 4096, "heads": 32}


@pytest.mark.parametrize("value", [HUGE, 10**39, 1e308], ids=["401 digits", "40 digits", "1e308"])
@pytest.mark.parametrize(
    "parameter", ["rate", "memory_mib", "input_tokens", "output_tokens", "context_tokens", "concurrency", "latency_ms"]
)
def test_a_number_beyond_all_machines_is_refused(parameter: str, value: Any) -> None:
    with pytest.raises(ArgumentError, match=f"^Workload: {parameter} must be "):
        Workload.inference(model="llama-3.1-8b", **{parameter: value})


@pytest.mark.parametrize("parameter", ["rate", "memory_mib"])
def test_a_number_that_nobody_can_tell_from_nothing_is_refused(parameter: str) -> None:
    asked: dict[str, Any] = {parameter: 1e-308}
    with pytest.raises(ArgumentError, match=f"^Workload: {parameter} must be "):
        Workload.inference(model="llama-3.1-8b", **asked)


@pytest.mark.parametrize("value", [HUGE, 10**39], ids=["401 digits", "40 digits"])
@pytest.mark.parametrize("parameter", ["layers", "hidden", "heads", "head_dim", "ffn", "vocab", "experts"])
def test_a_shape_beyond_all_models_is_refused(parameter: str, value: int) -> None:
    stated: dict[str, Any] = {**SHAPE, parameter: value}
    with pytest.raises(ArgumentError, match=f"^ModelShape: {parameter} must be a whole number"):
        ModelShape(**stated)


def test_parameters_beyond_all_models_are_refused() -> None:
    with pytest.raises(ArgumentError, match=r"^Workload: parameters must be a number"):
        Workload.inference(parameters=1e300)
    with pytest.raises(ArgumentError, match=r"^Workload: (micro_batch|tensor_parallel|accelerators) must be a whole"):
        Workload.training(model="llama-2-7b", micro_batch=10**39)


@pytest.mark.parametrize("rate", [1e-6, 0.001, 1e9, 1e12])
def test_the_smallest_and_the_largest_rate_get_an_answer_in_numbers(rate: float) -> None:
    found = recommend(CHAT.with_changes(rate=rate))
    assert found.best is not None
    assert found.best.instances is not None
    assert found.best.instances >= 1
    assert found.best.throughput is not None
    assert found.best.instances == max(1, math.ceil(rate / found.best.throughput.value - 1e-9))
    json.loads(found.to_json(), parse_constant=_refuse)


def _refuse(constant: str) -> None:
    raise AssertionError(constant)


@pytest.mark.parametrize("workload", [CHAT, Workload.transcoding()], ids=["chat", "transcoding"])
def test_of_two_that_cost_the_same_the_smaller_comes_first(workload: Workload) -> None:
    order = [choice.instance_type for choice in recommend(workload).choices]
    for smaller, larger in (("p5.4xlarge", "p5.48xlarge"), ("vt1.3xlarge", "vt1.24xlarge")):
        if smaller in order:
            assert order.index(smaller) < order.index(larger)


def test_a_load_that_was_served_there_is_not_refused_by_arithmetic() -> None:
    """Phi 4 on an L40S wrote 202 tokens a second under 30 requests of 4096 and 512 tokens, most of which waited."""
    asked = Workload.batch_inference(model="phi-4", input_tokens=4096, output_tokens=512, rate=1000)
    choice = on(recommend(asked), "g6e.xlarge")
    assert choice.throughput is not None
    assert choice.throughput.value == 202
    assert choice.instances == 5
    assert choice.memory_needed_mib is not None
    assert choice.memory_needed_mib <= choice.memory_there_mib * 0.9
    longer = on(recommend(asked.with_changes(context_tokens=8000)), "g6e.xlarge")
    assert longer.throughput is not None
    assert longer.throughput.value < 202, "nobody served so many that long"


@pytest.mark.parametrize("measured", [each for each in SERVED if each.unit == "tokens/s" and each.on_ec2], ids=title)
def test_what_was_measured_on_ec2_is_what_comes_out_for_that_work(measured: Measurement) -> None:
    """Of the requests that were measured the largest throughput, whoever asks for them and nobody waits."""
    if not measured.input_tokens or not measured.output_tokens:
        return
    alike = [
        each.value
        for each in measurements()
        if (each.accelerator, each.instance_type, each.fraction, each.memory_gb, each.count, each.model)
        == (
            measured.accelerator,
            measured.instance_type,
            measured.fraction,
            measured.memory_gb,
            measured.count,
            measured.model,
        )
        and (each.precision, each.input_tokens, each.output_tokens)
        == (measured.precision, measured.input_tokens, measured.output_tokens)
    ]
    stack = {"cpu": "cpu", "Inferentia2": "neuron", "Trainium": "neuron"}.get(measured.accelerator, "cuda")
    types = [measured.instance_type] if measured.instance_type else None
    facts = known_models()[measured.model]
    if facts.context is not None and facts.context < measured.input_tokens + measured.output_tokens:
        return
    found = recommend(
        Workload.batch_inference(
            model=measured.model,
            precision=measured.precision,
            input_tokens=measured.input_tokens,
            output_tokens=measured.output_tokens,
            stack=stack,
        ),
        instance_types=types,
    )
    best = {
        choice.throughput.value / choice.throughput.replicas
        for choice in (*found.choices, *found.unmeasured)
        if choice.throughput is not None
        and choice.accelerator == (None if measured.accelerator == "cpu" else measured.accelerator)
        and choice.fraction == measured.fraction
    }
    assert max(best, default=0.0) >= 0.99 * max(alike)


@pytest.mark.parametrize(
    ("model", "stated", "parameter"),
    [
        ("llama-2-7b", {"input_tokens": 5000, "output_tokens": 1000}, "input_tokens"),
        ("llama-2-7b", {"input_tokens": 4000}, "input_tokens"),
        ("llama-2-7b", {"output_tokens": 4000}, "output_tokens"),
        ("bert-base", {"input_tokens": 1024}, "input_tokens"),
    ],
)
def test_requests_that_the_model_does_not_take_are_refused(model: str, stated: dict[str, Any], parameter: str) -> None:
    longest = known_models()[model].context
    with pytest.raises(ArgumentError, match=rf"^Workload: {parameter} must .*at most {longest}.*, the longest that"):
        Workload.inference(model=model, **stated)


def test_what_nobody_stated_is_shortened_to_what_the_model_takes() -> None:
    assert Workload.inference(model="vit-base").longest_sequence == 197


def test_a_stated_memory_that_several_accelerators_would_hold_says_how() -> None:
    """Whether it can be spread only its user knows."""
    found = recommend(Workload.inference(memory_mib=60_000, stack="cuda"), instance_types=["g5.48xlarge", "g5.xlarge"])
    reasons = {name: each.reason for each in found.refused for name in each.instance_types}
    assert reasons["g5.48xlarge"] == "one of its accelerators does not hold it: state accelerators= if several may"
    assert reasons["g5.xlarge"] == "its memory does not hold one replica"
    spread = Workload.inference(memory_mib=60_000, stack="cuda", accelerators=4)
    assert on(recommend(spread), "g5.48xlarge").accelerators_per_replica == 4


@pytest.mark.parametrize("model", ["llama-2-7b", "gemma-2b", "qwen1.5-0.5b", "phi-4"])
@pytest.mark.parametrize("stack", [["cuda", "cpu"], ["cuda"], ["cpu"]])
@pytest.mark.parametrize("rate", [None, 3000])
def test_nothing_is_called_enough_by_one_request_at_a_time(model: str, stack: list[str], rate: float | None) -> None:
    found = hints(recommend(Workload.inference(model=model, precision="int4", stack=stack, rate=rate)))
    assert "one-at-a-time" in found
    assert not {"cpu-is-enough", "fraction-is-enough"} & set(found)


@pytest.mark.parametrize(
    ("goals", "at_least"),
    [
        ({"first_token_ms": 300, "per_token_ms": 50}, 318),
        ({"first_token_ms": 200}, 514),
        ({"latency_ms": 6000}, 318),
        ({"latency_ms": 10_000}, 439),
        ({"latency_ms": 5500}, 176),
    ],
    ids=str,
)
def test_a_goal_that_some_load_keeps_does_not_take_an_instance_for_each_request(
    goals: dict[str, Any], at_least: float
) -> None:
    """An A10G writes 319 tokens a second for 15 chats at once, with 175 ms to the first token and 46 to each other."""
    figure = on(recommend(CHAT.with_changes(**goals)), "g5.xlarge").throughput
    assert figure is not None
    assert figure.value >= at_least


def test_a_handful_of_requests_at_a_time_is_not_known_from_one() -> None:
    found = recommend(CHAT.with_changes(concurrency=4, rate=1000))
    assert found.best is not None
    assert found.best.confidence == "low"
    for choice in found.choices:
        assert choice.throughput is not None
        assert (choice.throughput.concurrency or 0) > choice.throughput.replicas, "those of one are apart"


def test_what_is_not_measured_is_listed_by_the_price_of_all_that_one_replica_takes() -> None:
    found = recommend(Workload.training(model="llama-3.1-405b"))
    hourly = [choice.usd_per_hour_in_all for choice in found.unmeasured if choice.usd_per_hour_in_all is not None]
    assert len(hourly) > 1
    assert len({choice.instances_per_replica for choice in found.unmeasured}) > 1
    assert hourly == sorted(hourly)


def test_what_several_instances_together_would_hold_is_said() -> None:
    """Llama 3.1 70B is trained on P5 everywhere, only not on one of them."""
    found = recommend(Workload.training(model="llama-3.1-70b"))
    assert [choice.instances_per_replica for choice in found.unmeasured] == [1] * len(found.unmeasured)
    reasons = {name: each.reason for each in found.refused for name in each.instance_types}
    assert reasons["p5.48xlarge"] == "one does not hold one replica, several of them joined by EFA would"
    assert reasons["g6e.xlarge"] == "its memory does not hold one replica", "it takes no EFA"
    alone = recommend(Workload.training(model="llama-3.1-70b"), instance_types=["p5.48xlarge"])
    assert on(alone, "p5.48xlarge").instances_per_replica > 1


def test_training_that_was_measured_with_shared_layers_says_so() -> None:
    """AWS trains Llama 3.1 8B on 32 trn1.32xlarge, each layer shared by the 16 devices of an instance."""
    found = recommend(Workload.training(model="llama-3.1-8b", context_tokens=8192, stack="neuron"))
    told = hints(found)["tensor-parallel"]
    assert told.instance_type == "trn1.32xlarge"
    assert "tensor_parallel=16" in told.text
    assert "32 x trn1.32xlarge" in told.text


def test_training_that_shared_layers_would_fit_on_less_says_so() -> None:
    found = recommend(Workload.training(model="llama-3.1-70b"))
    told = hints(found)["tensor-parallel"]
    assert told.instance_type is not None
    smaller = recommend(
        Workload.training(model="llama-3.1-70b", tensor_parallel=8), instance_types=[told.instance_type]
    )
    assert smaller.unmeasured
    shared = recommend(Workload.training(model="llama-3.1-70b", tensor_parallel=8))
    assert "tensor-parallel" not in hints(shared)
