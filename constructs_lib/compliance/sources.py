"""Finds templates: in files, in folders full of them, in cloud assemblies; nested ones hang below theirs."""

from __future__ import annotations

import json
import os
import re
from codecs import BOM_UTF16_BE, BOM_UTF16_LE
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from constructs_lib.compliance.deployment import NESTED, Source
from constructs_lib.errors import FleetError
from constructs_lib.template.assembly import read_document, templates_in
from constructs_lib.template.documents import Document, parse
from constructs_lib.template.plain_values import mapping
from constructs_lib.validation import complaint

STANDARD = "-"
"""In place of a path: what comes in on the standard input."""

_STANDARD_NAME = "standard input"
_MANIFEST = "manifest.json"
_ENDINGS = (".json", ".yaml", ".yml", ".template")
_LOOKS_LIKE_ONE = re.compile(r"[\"']?\bResources[\"']?\s*:")
_KIND = "::"
_ASSET = "aws:asset:path"
_ASSETS = "*.assets.json"
_HASH = re.compile(r"/([0-9a-f]{64})\.")
_URL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:")
_DEEPEST = 10
_MOST_NESTED = 2_500
"""Of a run; a few files that nest each other stand for any number of stacks."""
_CURE = "give a template in JSON or YAML, a folder with some, or the folder that cdk synth writes"


@dataclass(frozen=True, kw_only=True)
class Found:
    """The templates that were found.

    Attributes:
        deployments: what is deployed together is one of them: the stacks of an assembly, or one file.
        unreadable: what is wrong with each file that should be a template and cannot be read as one.
    """

    deployments: tuple[tuple[Source, ...], ...]
    unreadable: tuple[str, ...]


def sources_in(paths: Sequence[str], *, standard_input: Callable[[], str]) -> Found:
    """Read the templates at some paths.

    A file is a template, or the manifest of a cloud assembly. A folder is a cloud assembly, or is walked through for
    both; what is no template is passed over there, as are folders that are hidden or hold packages and assets. A
    template that another one nests by a path is part of that one, and no deployment of its own.

    Args:
        paths: of files and folders, or ``-``.
        standard_input: reads what ``-`` stands for.
    """
    return _Search(standard_input).through(paths)


class _Search:
    def __init__(self, standard_input: Callable[[], str]) -> None:
        self._standard_input = standard_input
        self._root = _root()
        self._documents: dict[Path, Document | None] = {}
        self._nested: dict[Path, Mapping[str, Path]] = {}
        self._assets: dict[Path, Mapping[str, str]] = {}
        self._unreadable: list[str] = []
        self._nested_left = _MOST_NESTED

    def through(self, paths: Sequence[str]) -> Found:
        assemblies: dict[Path, None] = {}
        files: dict[Path, None] = {}
        deployments: list[tuple[Source, ...]] = []
        for path in dict.fromkeys(paths):
            if path == STANDARD:
                deployments += self._standard()
                continue
            if not path:  # of a variable that a script has not set; Path takes it for the folder that one is in
                self._unreadable.append(complaint("check", "path", "be given", path, _CURE))
                continue
            for place in self._places(Path(path)):
                (assemblies if place.is_dir() else files)[_absolute(place)] = None
        for folder in assemblies:
            deployments += self._assembly(folder)
        deployments += self._single(list(files))
        return Found(deployments=tuple(deployments), unreadable=tuple(dict.fromkeys(self._unreadable)))

    # --- what is read -------------------------------------------------------------------------------------------------

    def _standard(self) -> Iterator[tuple[Source, ...]]:
        try:
            document = parse(self._standard_input(), _STANDARD_NAME)
        except UnicodeDecodeError:
            self._unreadable.append(complaint(_STANDARD_NAME, "template", "be text in UTF-8", STANDARD, _CURE))
        except FleetError as error:
            self._unreadable.append(str(error))
        else:
            if _is_template(document):
                yield (
                    Source(
                        name=_STANDARD_NAME,
                        content=document.content,
                        line_of=document.line_of,
                        repeated=document.repeated,
                    ),
                )
            else:
                self._unreadable.append(_no_template(_STANDARD_NAME))

    def _places(self, path: Path) -> Iterator[Path]:
        """The templates and the assemblies at a path."""
        if os.path.isdir(path):  # noqa: PTH112 (that of pathlib raises where a name is too long)
            complaints = len(self._unreadable)
            found = list(self._walked(path))
            if not found and len(self._unreadable) == complaints:
                self._unreadable.append(complaint(str(path), "folder", "have a template in it", str(path), _CURE))
            yield from found
        elif path.name == _MANIFEST and self._is_assembly(path.parent):
            yield path.parent
        else:
            document = self._document(_absolute(path))
            if document is not None and _is_template(document):
                yield path
            elif document is not None:
                self._unreadable.append(_no_template(self._name(path)))

    def _walked(self, top: Path) -> Iterator[Path]:
        for folder, names, files in os.walk(top):
            here = Path(folder)
            if _MANIFEST in files and _is_file(here / _MANIFEST) and self._is_assembly(here):
                names.clear()
                yield here
                continue
            names[:] = sorted(each for each in names if not _is_passed_over(each))
            for name in sorted(files):
                if name.endswith(_ENDINGS) and self._looks_like_a_template(here / name):
                    yield here / name

    def _is_assembly(self, folder: Path) -> bool:
        try:
            return isinstance(read_document(folder / _MANIFEST).content.get("artifacts"), Mapping)
        except FleetError:
            return False

    def _looks_like_a_template(self, file: Path) -> bool:
        """Whether a file of a folder is one, or wants to be one and is written wrongly, which is told."""
        if not _is_file(file):
            return False
        try:
            written = file.read_bytes()
        except OSError:
            return False
        text = _decoded(written)
        if _KIND not in text or not _LOOKS_LIKE_ONE.search(text):
            return False
        document = self._document(_absolute(file))
        return document is not None and _is_template(document)

    def _document(self, file: Path) -> Document | None:
        """The file parsed, once. None: it cannot be."""
        if file not in self._documents:
            try:
                self._documents[file] = read_document(file)
            except FleetError as error:
                self._documents[file] = None
                self._complain(error, file)
        return self._documents[file]

    def _complain(self, error: FleetError, place: Path) -> None:
        self._unreadable.append(str(error).replace(str(place), self._name(place)))

    # --- what is made of it -------------------------------------------------------------------------------------------

    def _assembly(self, folder: Path) -> Iterator[tuple[Source, ...]]:
        try:
            stacks = templates_in(folder)
        except FleetError as error:
            self._complain(error, folder)
            return
        often = Counter(each.stack for each in stacks)
        sources = []
        for each in stacks:
            if each.file is None or each.document is None:
                continue
            file = _absolute(each.file)
            # Stages may have stacks of one name, in several Regions for example.
            place = "" if often[each.stack] == 1 else f" ({Path(os.path.relpath(file, folder)).as_posix()})"
            self._documents[file] = each.document
            sources.append(
                self._source(file, each.document, f"{each.stack}{place}", stack=each.stack, region=each.region)
            )
        yield tuple(sources)

    def _single(self, files: list[Path]) -> Iterator[tuple[Source, ...]]:
        """Each file as a deployment, but for those that another one of them nests; of a circle, the first stays."""
        nested = {child for file in files for child in self._below(file)}
        reached: set[Path] = set()
        for file in sorted(files, key=lambda each: each in nested):
            document = self._documents[file]
            if file not in reached and document is not None:
                reached |= {file, *self._below(file)}
                yield (self._source(file, document, self._name(file)),)

    def _below(self, file: Path) -> set[Path]:
        """All templates that a file nests, at whatever depth, but not itself."""
        found: set[Path] = set()
        pending = [file]
        while pending:
            children = set(self._children(pending.pop()).values()) - found
            found |= children
            pending += children
        return found - {file}

    def _source(
        self,
        file: Path,
        document: Document,
        name: str,
        *,
        stack: str | None = None,
        region: str | None = None,
        above: tuple[Path, ...] = (),
    ) -> Source:
        chain = (*above, file)
        nested = {}
        for id, child in self._children(file).items():
            below = self._documents[child]
            if below is not None and child not in chain and len(chain) < _DEEPEST and self._nested_left > 0:
                self._nested_left -= 1
                nested[id] = self._source(child, below, f"{name}/{id}", above=chain)
        return Source(
            name=name,
            content=document.content,
            file=self._name(file),
            line_of=document.line_of,
            stack=stack,
            region=region,
            nested=nested,
            repeated=document.repeated,
        )

    def _children(self, file: Path) -> Mapping[str, Path]:
        """The templates at hand that a template nests, by the logical id of the nested stack."""
        if file not in self._nested:
            document = self._documents[file]
            resources = mapping(document.content.get("Resources")) if document is not None else {}
            named = {
                id: _nested_path(resource) or self._asset(resource, file.parent)
                for id, resource in resources.items()
                if isinstance(resource, Mapping) and str(resource.get("Type")) in NESTED
            }
            children = {id: _absolute(file.parent / path) for id, path in named.items() if path is not None}
            self._nested[file] = {id: child for id, child in children.items() if self._is_nested(child)}
        return self._nested[file]

    def _asset(self, resource: Mapping[str, Any], folder: Path) -> str | None:
        """The path of a nested template that its URL names by the hash, as an app without asset metadata has it."""
        location = NESTED[str(resource["Type"])]
        named = _HASH.search(json.dumps(mapping(resource.get("Properties")).get(location), default=str))
        if named is None:
            return None
        if folder not in self._assets:
            try:
                self._assets[folder] = dict(_published(folder))
            except FleetError as error:
                self._assets[folder] = {}
                self._complain(error, folder)
        return self._assets[folder].get(named[1])

    def _is_nested(self, child: Path) -> bool:
        document = self._document(child) if _is_file(child) else None
        return document is not None and _is_template(document)

    def _name(self, file: Path) -> str:
        """What a file is called in a report: the same on every machine, if it lies in the checkout."""
        whole = _absolute(file)
        return whole.relative_to(self._root).as_posix() if whole.is_relative_to(self._root) else whole.as_posix()


def located(file: str) -> Path:
    """Where the file lies that a source or a location names."""
    return _root() / file


def _published(folder: Path) -> Iterator[tuple[str, str]]:
    """The hashes and the paths of the files that an assembly brings along."""
    for manifest in sorted(folder.glob(_ASSETS)):
        for hash, asset in mapping(read_document(manifest).content.get("files")).items():
            path = mapping(mapping(asset).get("source")).get("path")
            if isinstance(path, str):
                yield hash, path


def _root() -> Path:
    """The checkout that the command runs in, else the folder."""
    here = Path.cwd()
    return next((each for each in (here, *here.parents) if (each / ".git").exists()), here)


def _absolute(path: Path) -> Path:
    # Links stay: a report names files as they are known.
    return Path(os.path.abspath(path))  # noqa: PTH100


def _is_file(path: Path) -> bool:
    # No pipe, which would be waited for. That of pathlib raises where a name is too long.
    return os.path.isfile(path)  # noqa: PTH113


def _decoded(written: bytes) -> str:
    """The text of a file, in whatever encoding: one that wants to be a template and is not in UTF-8 is told of."""
    if written.startswith((BOM_UTF16_LE, BOM_UTF16_BE)):
        return written.decode("utf-16", "replace")
    return written.decode("utf-8", "replace")


def _is_passed_over(folder: str) -> bool:
    return folder.startswith((".", "asset.")) or folder in ("node_modules", "__pycache__")


def _is_template(document: Document) -> bool:
    return isinstance(document.content.get("Resources"), Mapping)


def _no_template(name: str) -> str:
    return complaint(name, "template", "have Resources", None, _CURE)


def _nested_path(resource: Mapping[str, Any]) -> str | None:
    """The path that a resource names a template by. None: it nests none, or one that lies elsewhere."""
    location = NESTED.get(str(resource.get("Type")))
    if location is None:
        return None
    named: Iterable[object] = (
        mapping(resource.get("Metadata")).get(_ASSET),
        mapping(resource.get("Properties")).get(location),
    )
    return next((each for each in named if isinstance(each, str) and each and not _URL.match(each)), None)
