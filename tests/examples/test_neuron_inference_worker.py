"""The Neuron worker and the program that serves its model, run for real with a fake model and fake tools."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from examples.neuron_inference import serve
from tests.examples.machine import Machine, shell_complaints
from tests.support.stacks import ROOT

WORKER = "opt/neuron-inference/worker"
SERVE = (ROOT / "examples/neuron_inference/serve.py").read_text(encoding="utf-8")
ENVIRONMENT = "opt/aws_neuronx_venv_pytorch_2_9"
# A model that adds one to each number, and gives one tensor, several, or named ones; "torch" of the Neuron environment
# in as many lines as serve.py needs of it.
_TORCH = """
from pathlib import Path

class tensor(list):
    def tolist(self):
        return list(self)

class jit:
    @staticmethod
    def load(path):
        assert Path(path).read_text() == "traced"
        return answered

def answered(*inputs):
    outputs = tuple(tensor(number + 1 for number in each) for each in inputs)
    return {1: outputs[0], 3: dict(zip("abc", outputs))}.get(len(outputs), outputs)
"""
# Stands between the worker and the served model, where a test has none running.
_EMIT = """#!/bin/bash
if [ "$1" = busy ]; then
  while [ "$1" != -- ]; do shift; done
  shift
  exec "$@"
fi
held >"$ROOT/held"
[ -z "$SIGNALS" ] || signal_holders
echo "$*" >>"$ROOT/emitted"
"""


@pytest.fixture
def place() -> Iterator[Path]:
    """The name of a Unix socket has at most 107 bytes, which the folders of pytest can use up."""
    with tempfile.TemporaryDirectory(prefix="neuron-") as name:
        yield Path(name)


@pytest.fixture
def machine(place: Path) -> Machine:
    files = {
        "opt/neuron-inference/serve.py": SERVE,
        f"{ENVIRONMENT}/lib/python3.12/site-packages/torch_neuronx/__init__.py": "",
        f"{ENVIRONMENT}/lib/python3.12/site-packages/torch/__init__.py": _TORCH,
    }
    made = Machine(place, "neuron_inference", pauses="5 30", files=files)
    python = place / ENVIRONMENT / "bin/python"
    python.parent.mkdir()
    packages = place / ENVIRONMENT / "lib/python3.12/site-packages"
    python.write_text(
        '#!/bin/bash\necho "$NEURON_RT_VISIBLE_CORES" >"$ROOT/cores"\n'
        f'PYTHONPATH={packages} exec {sys.executable} "$@"\n'
    )
    python.chmod(0o755)
    made.tool("accelerated-node", _EMIT)
    made.tool("neuron-ls", '#!/bin/bash\nexit "${DEVICE_STATUS-0}"\n', "opt/aws/neuron/bin")
    made.put("files", "model.pt", "traced")
    made.message({"inputs": [[1, 2], [3]]})
    made.install(QUEUE_URL="https://queue", BUCKET="files", AWS_DEFAULT_REGION="eu-central-1", CORES="1")
    return made


@contextmanager
def served(machine: Machine, core: str = "0") -> Iterator[None]:
    """The model of one core, as its unit starts it; its first line says that it is loaded."""
    command = [str(machine.root / "opt/neuron-inference/model"), core]
    with subprocess.Popen(command, env=machine.environment_of_a_unit(), stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == "the model is loaded\n"
            yield
        finally:
            process.kill()


def ask(machine: Machine, command: str, job: str = "") -> subprocess.CompletedProcess[str]:
    program, address = machine.root / "opt/neuron-inference/serve.py", machine.root / "run/neuron-inference/0.sock"
    call = [sys.executable, str(program), command, str(address)]
    return subprocess.run(call, input=job, capture_output=True, text=True, timeout=60, check=False)


def answers(machine: Machine) -> dict[str, Any]:
    return {key: json.loads(text) for key, text in machine.objects("files").items() if key.startswith("answers/")}


def test_a_job_is_answered_under_a_mark_and_its_message_deleted(machine: Machine) -> None:
    with served(machine):
        machine.work(WORKER)

    assert answers(machine) == {"answers/0a1b.json": {"outputs": [[2, 3], [4]]}}
    assert "--receipt-handle receipt" in machine.said("deleted")
    assert len(machine.said("held").splitlines()) == 1
    assert machine.said("held-at-the-end") == machine.said("held")
    assert machine.marks() == []


@pytest.mark.parametrize("inputs", [[[1]], [[1], [2]], [[1], [2], [3]]])
def test_a_model_may_give_one_tensor_several_or_named_ones(machine: Machine, inputs: list[list[int]]) -> None:
    with served(machine):
        done = ask(machine, "ask", json.dumps({"inputs": inputs}))

    assert json.loads(done.stdout) == {"outputs": [[number + 1 for number in each] for each in inputs]}
    assert done.returncode == 0


def test_what_is_wrong_with_a_job_is_answered_and_the_next_one_served(machine: Machine) -> None:
    with served(machine):
        wrong, right = ask(machine, "ask", "no JSON"), ask(machine, "ask", '{"inputs": [[1]]}')

    assert (wrong.returncode, json.loads(wrong.stdout).keys()) == (1, {"error"})
    assert right.returncode == 0


def test_nobody_who_serves_is_an_error_and_no_traceback(machine: Machine) -> None:
    done = ask(machine, "ping")

    assert done.returncode == 1
    assert done.stderr.startswith("the model is not served: ")


def test_a_process_that_hangs_is_not_taken_for_one_that_serves(machine: Machine) -> None:
    address = machine.root / "run/neuron-inference/0.sock"
    address.parent.mkdir()
    with socket.socket(socket.AF_UNIX) as hanging:
        hanging.bind(str(address))
        hanging.listen()
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(serve, "_PATIENCE_SECONDS", 0.01)
            assert serve.main(["ping", str(address)]) == 1


def test_its_latency_is_published(machine: Machine) -> None:
    with served(machine):
        machine.work(WORKER)

    command, name, milliseconds, *kind = machine.said("emitted").split()
    assert (command, name, kind) == ("emit", "inference_latency", ["--type", "timing"])
    assert int(milliseconds) >= 0


def test_each_process_gets_the_core_that_its_unit_names(machine: Machine) -> None:
    with served(machine, core="1"):
        pass

    assert machine.said("cores") == "1\n"
    assert (machine.root / "opt/neuron-inference/model-1.pt").read_text() == "traced"
    assert machine.said("systemctl").splitlines()[1] == "enable --now neuron-model@0"


def test_without_a_model_in_the_bucket_nothing_is_served_and_the_log_says_why(machine: Machine) -> None:
    (machine.root / "s3/files/model.pt").unlink()

    done = machine.run("opt/neuron-inference/model", "0")

    assert done.returncode == 1
    assert "upload it to s3://files/model.pt" in done.stderr


def test_an_image_without_pytorch_for_neuron_is_told(machine: Machine) -> None:
    (machine.root / ENVIRONMENT).rename(machine.root / "opt/aws_neuronx_venv_jax_0_10")

    done = machine.run("opt/neuron-inference/model", "0")

    assert (done.returncode, done.stderr) == (1, "this image has no torch_neuronx\n")


def test_a_core_without_its_model_takes_no_job(machine: Machine) -> None:
    machine.work(WORKER)

    assert machine.said("received") == ""


def test_a_device_that_does_not_answer_takes_no_job(machine: Machine) -> None:
    with served(machine):
        machine.work(WORKER, DEVICE_STATUS="1")

    assert machine.said("received") == ""


@pytest.mark.parametrize("body", ["no JSON", "{}", '{"inputs": 1}'])
def test_a_job_that_the_model_cannot_take_keeps_its_message(machine: Machine, body: str) -> None:
    machine.message(body)

    with served(machine):
        machine.work(WORKER)
        assert ask(machine, "ping").returncode == 0

    assert machine.said("received")
    assert machine.said("deleted") == machine.said("visibility") == ""
    assert answers(machine) == {}
    assert machine.marks() == []


def test_case_65_no_job_is_taken_by_an_instance_that_drains(machine: Machine) -> None:
    machine.drain()

    with served(machine):
        machine.work(WORKER)

    assert machine.said("received") == ""


def test_case_65_the_job_at_hand_is_finished(machine: Machine) -> None:
    with served(machine):
        machine.work(WORKER, SIGNALS="yes")

    assert machine.said("deleted")
    assert answers(machine)


def test_case_12_a_message_that_came_with_the_drain_goes_back(machine: Machine) -> None:
    with served(machine):
        machine.work(WORKER, DRAINS_WITH_MESSAGE="yes")

    assert "--receipt-handle receipt --visibility-timeout 0" in machine.said("visibility")
    assert answers(machine) == {}


def test_shell_takes_what_is_installed(machine: Machine) -> None:
    programs = [path for path in machine.installed() if path.parent.name == "neuron-inference"]

    assert [path.name for path in programs] == ["model", "worker"]
    installer = ROOT / "examples/neuron_inference/worker.sh"
    assert [shell_complaints(path) for path in (installer, *programs)] == ["", "", ""]
