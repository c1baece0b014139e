"""Serves a traced model on one NeuronCore: a job comes over a Unix socket as JSON, its answer goes back as JSON.

    serve.py serve SOCKET MODEL    with the Python of the Neuron environment; NEURON_RT_VISIBLE_CORES says which core
    serve.py ask SOCKET            sends the job on the standard input, prints the answer; any Python
    serve.py ping SOCKET           exits with 0 if the model is loaded and nobody waits for it

A job is ``{"inputs": [[...], ...]}``, one list for each input of the model; the answer ``{"outputs": [[...], ...]}``.
What the model cannot take is answered with ``{"error": "..."}``, and the exit status is 1.
"""

from __future__ import annotations

import json
import socket
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

Model = Callable[[Mapping[str, Any]], Mapping[str, Any]]

_HERE: Mapping[str, Any] = {"served": True}
_PATIENCE_SECONDS = 5.0


def main(arguments: list[str]) -> int:
    """Run a command and return its exit status."""
    command, address, *others = arguments
    if command == "serve":
        serve(Path(address), neuron_model(Path(others[0])))
    try:
        return ping(address) if command == "ping" else ask(address, sys.stdin.buffer.read())
    except OSError as problem:
        print(f"the model is not served: {problem}", file=sys.stderr)
        return 1


def neuron_model(path: Path) -> Model:
    """Load what ``torch_neuronx.trace`` has made and ``torch.jit.save`` has written."""
    import torch  # type: ignore[import-not-found]  # of the Neuron environment
    import torch_neuronx  # type: ignore[import-not-found]  # noqa: F401  makes a traced model loadable

    model = torch.jit.load(str(path))

    def run(job: Mapping[str, Any]) -> Mapping[str, Any]:
        found = model(*(torch.tensor(each) for each in job["inputs"]))
        tensors = found.values() if isinstance(found, dict) else found if isinstance(found, tuple) else [found]
        return {"outputs": [each.tolist() for each in tensors]}

    return run


def serve(address: Path, model: Model) -> None:
    """Answer one job after the other, for good."""
    address.unlink(missing_ok=True)
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(address))
        server.listen()
        print("the model is loaded", flush=True)
        while True:
            connection, _ = server.accept()
            with connection:
                answer_one(connection, model)


def answer_one(connection: socket.socket, model: Model) -> None:
    """Answer what comes over a connection; a caller that has gone meanwhile stops nobody."""
    try:
        job = received(connection)
        connection.sendall(json.dumps(answer(model, job) if job else _HERE).encode())
    except OSError as problem:
        print(f"no answer given: {problem}", file=sys.stderr, flush=True)


def answer(model: Model, job: bytes) -> Mapping[str, Any]:
    """Return what the model says, or why it says nothing: a job that is wrong ends the others of this core never."""
    try:
        return model(json.loads(job))
    except Exception as problem:  # whatever the model and the runtime raise
        return {"error": f"{type(problem).__name__}: {problem}"}


def ping(address: str) -> int:
    """Return 0 if whoever serves has nothing else to do: a connection alone is made for one that hangs, too."""
    return 0 if json.loads(exchanged(address, b"", _PATIENCE_SECONDS) or b"{}") == _HERE else 1


def ask(address: str, job: bytes) -> int:
    """Print the answer to a job, however long it takes; return 0 if it is one."""
    text = exchanged(address, job, None).decode()
    print(text)
    return 0 if "outputs" in json.loads(text or "{}") else 1


def exchanged(address: str, job: bytes, patience_seconds: float | None) -> bytes:
    """Send what is to be said, and return what comes back; raise OSError if nothing does in time."""
    with socket.socket(socket.AF_UNIX) as client:
        client.settimeout(patience_seconds)
        client.connect(address)
        client.sendall(job)
        client.shutdown(socket.SHUT_WR)
        return received(client)


def received(connection: socket.socket) -> bytes:
    """Return all that comes until the other side has said what it had to say."""
    parts = []
    while part := connection.recv(65536):
        parts.append(part)
    return b"".join(parts)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
