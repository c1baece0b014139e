"""Which series of instances somebody may ask for; what is published of others is left out."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property

from constructs_lib.rehearsal.cloud.metrics import Key
from constructs_lib.rehearsal.template import Template

_INSTANCE = "InstanceId"


@dataclass(frozen=True)
class Watched:
    """Who asks: alarms for the series that they name, functions for those of instances that their settings mention.

    Of a group functions ask for nothing that its instances publish: what they ask for they have counted themselves.
    """

    named: frozenset[Key]
    mentioned: frozenset[str]

    @classmethod
    def by(cls, template: Template) -> Watched:
        """Return what the alarms and functions of a template may ask for."""
        named = frozenset(key for alarm in template.alarms().values() for key in alarm.metrics)
        settings = [value for function in template.functions().values() for value in function.environment.values()]
        return cls(named, frozenset(word for value in settings for word in re.findall(r"\w+", str(value))))

    def has_metric(self, name: str) -> bool:
        """Return whether somebody may ask for a series of this metric."""
        return name in self._metrics

    def has_series(self, key: Key) -> bool:
        """Return whether somebody may ask for this series."""
        if key in self.named:
            return True
        _, metric, dimensions = key
        names = {name for name, _ in dimensions}
        return _INSTANCE in names and self.mentioned.issuperset({metric, *names} - {_INSTANCE})

    @cached_property
    def _metrics(self) -> frozenset[str]:
        return self.mentioned.union(metric for _, metric, _ in self.named)
