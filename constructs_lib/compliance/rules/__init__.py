"""Every rule, in the order in which reports have them: a module for each theme, with a constant ``RULES``."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from constructs_lib.compliance.rule import Rule
from constructs_lib.compliance.rules import (
    agent_configuration,
    alarm_windows,
    alarms,
    attached_accelerators,
    containers,
    cost_allocation,
    endpoints,
    event_rules,
    group_size,
    health,
    idle_release,
    images,
    instance_types,
    keys,
    kubernetes,
    launch_failures,
    launch_templates,
    leftovers,
    lifecycle,
    logs,
    managed_services,
    metadata_service,
    metrics,
    networking,
    notifications,
    permissions,
    placement,
    purchase,
    reservations,
    scaling_policies,
    security_groups,
    storage,
    zones,
)

_THEMES = (
    idle_release,
    group_size,
    containers,
    kubernetes,
    endpoints,
    managed_services,
    lifecycle,
    metrics,
    agent_configuration,
    alarms,
    alarm_windows,
    scaling_policies,
    launch_failures,
    instance_types,
    attached_accelerators,
    images,
    networking,
    placement,
    zones,
    purchase,
    reservations,
    launch_templates,
    health,
    metadata_service,
    cost_allocation,
    event_rules,
    keys,
    leftovers,
    logs,
    notifications,
    permissions,
    security_groups,
    storage,
)

RULES: Mapping[str, Rule[Any]] = MappingProxyType({rule.id: rule for theme in _THEMES for rule in theme.RULES})
"""By id."""
