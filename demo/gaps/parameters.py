"""Systems Manager: public image parameters, which no account can write, and the list of sessions."""

from __future__ import annotations

import json
from typing import Any

from ministack.core.responses import error_response_json, json_response
from ministack.services import ssm

PUBLIC_IMAGES = {
    f"/aws/service/deeplearning/ami/{architecture}/base-oss-nvidia-driver-gpu-{system}/latest/ami-id": image
    for architecture, system, image in (
        ("x86_64", "amazon-linux-2023", "ami-0de3000000000a023"),
        ("x86_64", "ubuntu-22.04", "ami-0de3000000000b204"),
        ("x86_64", "ubuntu-24.04", "ami-0de3000000000b404"),
        ("arm64", "amazon-linux-2023", "ami-0de3000000001a023"),
        ("arm64", "ubuntu-22.04", "ami-0de3000000001b204"),
        ("arm64", "ubuntu-24.04", "ami-0de3000000001b404"),
    )
}
_handle_request = ssm.handle_request


def apply() -> None:
    """Register the parameters and the call of this module with the emulator."""
    ssm._PUBLIC_AMI_PARAMETERS.update(PUBLIC_IMAGES)
    ssm.handle_request = _answer


async def _answer(method: str, path: str, headers: dict[str, str], body: bytes, query: dict[str, Any]) -> Any:
    if headers.get("x-amz-target", "").endswith(".DescribeSessions"):
        return _describe_sessions(json.loads(body))
    return await _handle_request(method, path, headers, body, query)


def _describe_sessions(request: dict[str, Any]) -> Any:
    """Nobody is logged in to an emulated instance, so the list is empty; a wrong State is still an error."""
    state = request.get("State")
    if state not in ("Active", "History"):
        return error_response_json("ValidationException", f"State must be Active or History, got {state}", 400)
    return json_response({"Sessions": []})
