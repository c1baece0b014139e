"""The colours of a page, and how they stand out from each other."""

from __future__ import annotations

import re

SCHEMES = ("light", "dark", "print")


def schemes(page: str) -> dict[str, dict[str, str]]:
    """The colours of a page by their names: those that all pages share, and its own."""
    style = page.partition("<style>")[2].partition("</style>")[0]
    blocks = [dict(re.findall(r"--(\w+): (#\w+)", block)) for block in re.findall(r":root \{(.*?)\}", style, re.DOTALL)]
    assert len(blocks) % len(SCHEMES) == 0
    found: dict[str, dict[str, str]] = {name: {} for name in SCHEMES}
    for number, block in enumerate(blocks):
        found[SCHEMES[number % len(SCHEMES)]].update(block)
    return found


def luminance(colour: str) -> float:
    """ "Web Content Accessibility Guidelines 2.1", relative luminance."""
    parts = colour.lstrip("#")
    parts = "".join(each * 2 for each in parts) if len(parts) == 3 else parts
    linear = []
    for n in (0, 2, 4):
        value = int(parts[n : n + 2], 16) / 255
        linear.append(value / 12.92 if value <= 0.03928 else ((value + 0.055) / 1.055) ** 2.4)
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one: str, other: str) -> float:
    """From 1, the same, to 21, black on white."""
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)
