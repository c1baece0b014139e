"""Life cycle of the emulator's process, and the clients that talk to it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import boto3
from botocore.config import Config

REGION = "us-east-1"
ACCOUNT = "000000000000"
REPOSITORY = Path(__file__).resolve().parent.parent


@dataclass(frozen=True)
class Emulator:
    """A running emulator: its address, and the environment that points AWS tools at it and at nothing else."""

    endpoint: str
    directory: Path
    _clients: dict[str, Any] = field(default_factory=dict, repr=False, compare=False)

    def environment(self) -> dict[str, str]:
        """The environment for a child process that talks to the emulator."""
        return _environment(self.directory) | {"AWS_ENDPOINT_URL": self.endpoint}

    def client(self, service: str) -> Any:
        """The boto3 client of a service of the emulator."""
        if service not in self._clients:
            self._clients[service] = boto3.client(
                service,
                endpoint_url=self.endpoint,
                region_name=REGION,
                aws_access_key_id="test",
                aws_secret_access_key="test",
                config=Config(retries={"total_max_attempts": 1}, read_timeout=120, proxies={}),
            )
        return self._clients[service]

    def close(self) -> None:
        """Close the connections of all clients."""
        for client in self._clients.values():
            client.close()

    def control(self, command: str, request: dict[str, Any]) -> Any:
        """Ask for something that only the emulator can do, such as moving a launch time back."""
        call = urllib.request.Request(f"{self.endpoint}/_demo/{command}", json.dumps(request).encode())
        with urllib.request.urlopen(call, timeout=10) as response:
            return json.load(response)


@contextmanager
def running(directory: Path) -> Iterator[Emulator]:
    """Start the emulator on a free loopback port, and end its whole process group on the way out.

    ``directory`` takes its log and its temporary files; it belongs to the caller.
    """
    log = directory / "emulator.log"
    with log.open("w") as output:
        process = subprocess.Popen(
            [sys.executable, "-m", "demo.emulator_process"],
            cwd=REPOSITORY,
            env=_environment(directory) | _EMULATOR_SETTINGS,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=output,
            text=True,
            start_new_session=True,
        )
    try:
        assert process.stdout is not None
        port = process.stdout.readline().strip()
        if not port:
            raise RuntimeError(f"the emulator did not start:\n{log.read_text()}")
        emulator = Emulator(f"http://127.0.0.1:{port}", directory)
        yield emulator
        emulator.close()
    finally:
        _end(process)


_EMULATOR_SETTINGS = {
    # Ports that it would open beside its own, on every interface.
    "IOT_MTLS_ENABLED": "0",
    "SFTP_ENABLED": "0",
    "MINISTACK_HOST": "127.0.0.1",
    "LAMBDA_EXECUTOR": "local",
}


def _environment(directory: Path) -> dict[str, str]:
    """This process's environment without anything that could reach a real account, a proxy or the user's settings."""
    kept = {
        key: value
        for key, value in os.environ.items()
        if not key.startswith(("AWS_", "CDK_", "MINISTACK_")) and not key.lower().endswith("_proxy")
    }
    scripts = str(Path(sys.executable).parent)
    return kept | {
        "PATH": os.pathsep.join([scripts, kept.get("PATH", os.defpath)]),
        "VIRTUAL_ENV": sys.prefix,
        "TMPDIR": str(directory),
        "CDK_HOME": str(directory),
        "AWS_ACCESS_KEY_ID": "test",
        "AWS_SECRET_ACCESS_KEY": "test",
        "AWS_REGION": REGION,
        "AWS_DEFAULT_REGION": REGION,
        "AWS_CONFIG_FILE": os.devnull,
        "AWS_SHARED_CREDENTIALS_FILE": os.devnull,
        "AWS_EC2_METADATA_DISABLED": "true",
    }


def _end(process: subprocess.Popen[str]) -> None:
    """End the emulator and the functions that it runs: they are one process group, and nothing has to be saved."""
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.communicate()
