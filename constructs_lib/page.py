"""A page for people: one file that needs no other and no network, light and dark, on a phone and on paper."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterable
from functools import cache
from pathlib import Path

from constructs_lib.markup import Markup, element


def page(title: str, *content: object, style: str, besides: Iterable[Markup] = (), script: str = "") -> str:
    """The page as a text in UTF-8.

    Args:
        title: of the page.
        content: parts of it; empty ones are left out.
        style: rules of CSS beside those that all pages share.
        besides: elements after the content, for the script.
        script: the only one that is run. Default: none is.
    """
    secured = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    scripts = f"; script-src 'sha256-{secured}'" if script else ""
    head = element(
        "head",
        element("meta", charset="utf-8"),
        element("meta", name="viewport", content="width=device-width, initial-scale=1"),
        element(
            "meta",
            http_equiv="Content-Security-Policy",
            content=f"default-src 'none'; style-src 'unsafe-inline'{scripts}",
        ),
        element("title", title),
        element("style", Markup(_shared_style() + style)),
    )
    body = element(
        "body",
        element("main", *(part for part in content if part)),
        *besides,
        element("script", Markup(script)) if script else "",
    )
    return f"<!DOCTYPE html>\n{element('html', head, body, lang='en')}\n"


def wide(content: Markup, what: str) -> Markup:
    """What is wider than a phone and is moved sideways there, with the keyboard too."""
    return element("div", content, class_="wide", tabindex=0, role="region", aria_label=what)


def table(heads: Iterable[str], rows: Iterable[Iterable[object]], *, plain: bool = False) -> Markup:
    """A table; the first cell of a row is its head.

    Args:
        heads: of the columns.
        rows: of as many cells each.
        plain: whether the other cells are texts, and stand at the left.
    """
    body = []
    for first, *rest in rows:
        cells = (element("td", cell) for cell in rest)
        body.append(element("tr", element("th", first, scope="row"), *cells))
    return element(
        "table",
        element("thead", element("tr", *(element("th", head, scope="col") for head in heads))),
        element("tbody", *body),
        class_="plain" if plain else None,
    )


@cache
def _shared_style() -> str:
    return Path(__file__).with_name("page.css").read_text(encoding="utf-8")
