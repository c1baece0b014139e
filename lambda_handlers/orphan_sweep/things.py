"""What a sweep looks at, as plain data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import Enum

from orphan_sweep.prices import Price


class Sort(Enum):
    """What can be left over, in the order in which it is freed: what goes first sets others free."""

    INSTANCE = "instance"
    ADDRESS = "Elastic IP address"
    NETWORK_INTERFACE = "network interface"
    VOLUME = "volume"
    SNAPSHOT = "snapshot"
    TEMPLATE_VERSION = "launch template version"
    LOG_GROUP = "log group"
    ENDPOINT = "endpoint parameter"


@dataclass(frozen=True, kw_only=True)
class Thing:
    """Something that carries the fleet's tag.

    `id` is its name in AWS, for a launch template version `<template>:<version>`. `created_at` is None where AWS does
    not tell. `belongs_to` says who else looks after it (another group, a stack, a service), `used_by` what uses it;
    both are None for what belongs to nothing. `mark` is what an earlier sweep has noted on it.
    """

    sort: Sort
    id: str
    tags: Mapping[str, str]
    created_at: datetime | None
    belongs_to: str | None
    used_by: str | None
    mark: str | None
    price: Price
