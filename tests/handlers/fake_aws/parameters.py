"""Systems Manager parameters: numbered versions, a hundred of them kept, answers that can lag behind."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from tests.handlers.fake_aws.calls import Parameters, refusal
from tests.handlers.fake_aws.time import ManualClock

BYTES_PER_VALUE = 4096
VERSIONS_KEPT = 100


@dataclass
class FakeParameter:
    name: str
    versions: list[tuple[str, datetime]] = field(default_factory=list)
    """Every value that the parameter ever had, the first being version 1."""

    @property
    def version(self) -> int:
        return len(self.versions)

    @property
    def value(self) -> str:
        return self.versions[-1][0]

    def document(self, version: int) -> dict[str, Any]:
        value, at = self.versions[version - 1]
        return {"Name": self.name, "Type": "String", "Value": value, "Version": version, "LastModifiedDate": at}


class FakeParameters:
    """Parameter Store. The next `stale_reads` answers lack the newest version, or the newest `stale_by`."""

    def __init__(self, clock: ManualClock) -> None:
        self._clock = clock
        self.parameters: dict[str, FakeParameter] = {}
        self.stale_reads = 0
        self.stale_by = 1

    def hold(self, name: str, value: str = "{}") -> FakeParameter:
        """Create a parameter, or give it a new version, as somebody else would."""
        parameter = self.parameters.setdefault(name, FakeParameter(name))
        parameter.versions.append((value, self._clock.now()))
        return parameter

    def get_parameter(self, parameters: Parameters) -> dict[str, Any]:
        name, _, selector = parameters["Name"].partition(":")
        parameter = self._parameter(name)
        newest = parameter.version
        if self.stale_reads > 0:
            self.stale_reads -= 1
            newest = max(1, newest - self.stale_by)
        version = int(selector) if selector else newest
        if not max(1, parameter.version - VERSIONS_KEPT + 1) <= version <= newest:
            raise refusal("ParameterVersionNotFound", f"Systems Manager could not find version {version} of {name}")
        return {"Parameter": parameter.document(version)}

    def put_parameter(self, parameters: Parameters) -> dict[str, Any]:
        name, value = parameters["Name"], parameters["Value"]
        if len(value.encode()) > BYTES_PER_VALUE:
            raise refusal("ValidationException", "Standard tier parameters support a maximum value of 4096 characters")
        if name in self.parameters and not parameters.get("Overwrite", False):
            raise refusal("ParameterAlreadyExists", "The parameter already exists")
        if name not in self.parameters and "Type" not in parameters:
            raise refusal("ValidationException", "A parameter type is required when you create a parameter")
        return {"Version": self.hold(name, value).version, "Tier": "Standard"}

    def _parameter(self, name: str) -> FakeParameter:
        if name not in self.parameters:
            raise refusal("ParameterNotFound", f"Parameter {name} not found")
        return self.parameters[name]
