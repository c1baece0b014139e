"""Writes elements of HTML and SVG. Names of templates and traces are anybody's: everything is escaped here."""

from __future__ import annotations

import re
from collections.abc import Iterable
from html import escape

_LEFT_OUT = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]|[\u202a-\u202e\u2066-\u2069]")
"""What is no character of XML ("Extensible Markup Language (XML) 1.0", production 2), and what turns text around."""
_WITHOUT_CONTENT = frozenset({"meta", "col"})


class Markup(str):
    """A text that is markup already."""

    __slots__ = ()


def text(content: object) -> Markup:
    """The content as markup: escaped, unless it is some. What XML forbids, or turns text around, is left out."""
    if isinstance(content, Markup):
        return content
    return Markup(escape(_LEFT_OUT.sub("", str(content))))


def joined(parts: Iterable[object], between: str = "") -> Markup:
    """Parts one after another."""
    return Markup(between.join(text(part) for part in parts))


def element(name: str, /, *content: object, **attributes: object) -> Markup:
    """An element.

    Args:
        name: of it.
        content: texts and markup within it.
        attributes: an underscore at the end is left out, another one is a hyphen; None: the attribute is left out.
    """
    stated = {key.rstrip("_").replace("_", "-"): value for key, value in attributes.items() if value is not None}
    written = "".join(f' {key}="{text(value)}"' for key, value in stated.items())
    if name in _WITHOUT_CONTENT:
        return Markup(f"<{name}{written}/>")
    return Markup(f"<{name}{written}>{joined(content)}</{name}>")
