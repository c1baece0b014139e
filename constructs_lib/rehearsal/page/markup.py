"""Writes elements of HTML and SVG. Names of templates and traces are anybody's: everything is escaped here."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape

_WITHOUT_CONTENT = frozenset({"meta", "col"})


class Markup(str):
    """A text that is markup already."""

    __slots__ = ()


def text(content: object) -> Markup:
    """The content as markup: escaped, unless it is some. What is no character of XML is left out."""
    if isinstance(content, Markup):
        return content
    return Markup(escape("".join(each for each in str(content) if _is_character(each))))


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


def _is_character(each: str) -> bool:
    # "Extensible Markup Language (XML) 1.0", production 2.
    code = ord(each)
    return code in (0x9, 0xA, 0xD) or 0x20 <= code <= 0xD7FF or 0xE000 <= code <= 0xFFFD or code >= 0x10000
