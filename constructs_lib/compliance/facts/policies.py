"""Policies of roles, keys and topics: what a statement of one says, each word of it known or not."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache, cached_property, lru_cache

from constructs_lib.compliance.values import NotKnown, Value, any_of
from constructs_lib.template.markers import PartText, Unknown, is_marker

EVERYTHING = "*"


@dataclass(frozen=True)
class Statement:
    """A statement of a policy.

    Attributes:
        value: as the template has it.
        managed: the name of the policy of AWS that has it. None: the templates have it.
    """

    value: Value
    managed: Value | None = None

    def allows(self) -> bool:
        """Whether it gives; if not, it takes away.

        Raises:
            NotKnown: its effect is not known.
        """
        return self.value.text("Effect") == "Allow"

    def covers(self, action: str) -> bool:
        """Whether it is about an action, such as ``ec2:TerminateInstances``.

        Raises:
            NotKnown: it is none of its actions that are known, and one is not known.
        """
        listed, doubt = self._listed_actions
        is_listed = _one_stands_for(listed, action)
        if doubt is not None and not is_listed:
            raise NotKnown(doubt.place, doubt.reason)
        return is_listed != self._leaves_out

    def names(self, action: str) -> bool:
        """Whether it lists an action by its whole name, as whoever means to use it writes it."""
        listed, _ = self._listed_actions
        return not self._leaves_out and action.lower() in map(str.lower, listed)

    @cached_property
    def _leaves_out(self) -> bool:
        """Whether the actions that it lists are those that it is not about."""
        return not self.value.at("NotAction").is_absent

    @cached_property
    def _listed_actions(self) -> tuple[tuple[str, ...], NotKnown | None]:
        """The actions that it lists, as far as they are known, and why one is not."""
        known: list[str] = []
        doubt: NotKnown | None = None
        try:
            for each in elements(self.value.at("NotAction" if self._leaves_out else "Action")):
                try:
                    known.append(each.text() or "")
                except NotKnown as not_known:
                    doubt = doubt or not_known
        except NotKnown as not_known:
            doubt = not_known
        return tuple(known), doubt

    def is_about_everything(self, pattern: re.Pattern[str] | None = None) -> bool:
        """Whether no resource limits it: it names ``*``, or only what it leaves out.

        Args:
            pattern: of ARNs that stand for all that there is, too. Default: only ``*`` does.

        Raises:
            NotKnown: a resource is not known that might be ``*``.
        """
        if not self.value.at("NotResource").is_absent:
            return True
        return any_of(lambda each: _is_everything(each) or _is_like(each, pattern), elements(self.value.at("Resource")))

    def names_no_action(self) -> bool:
        """Whether it is about all actions that there are, or all but some; one that is not known is one it names.

        Raises:
            NotKnown: nobody can tell how many it has.
        """
        return not self.value.at("NotAction").is_absent or any(
            each.raw == EVERYTHING for each in elements(self.value.at("Action"))
        )

    def gives_whole_service_of(self, action: str) -> bool:
        """Whether it lists all actions of the service of an action, as ``ec2:*`` does."""
        listed, _ = self._listed_actions
        return not self._leaves_out and f"{action.partition(':')[0]}:*" in map(str.lower, listed)

    def is_conditional(self) -> bool:
        """Whether it holds under conditions only.

        Raises:
            NotKnown: they are not known.
        """
        return bool(self.value.named("Condition"))

    def conditions(self) -> Iterator[tuple[str, str, Value]]:
        """Its conditions: operator and key, both in lower case, and values.

        Raises:
            NotKnown: they are not known.
        """
        for operator, keys in self.value.named("Condition"):
            for key, value in keys.named():
                yield operator.lower(), key.lower(), value

    def is_for_service(self, name: str) -> bool:
        """Whether it is for an AWS service, such as ``cloudwatch.amazonaws.com``, or for everybody.

        Raises:
            NotKnown: it is for none of those whose names are known, and one is not known.
        """
        return either(
            lambda: any_of(lambda each: each.text() in (name, EVERYTHING), self._of("Service")), self.is_for_everybody
        )

    def is_for_everybody(self) -> bool:
        """Whether it is for everybody.

        Raises:
            NotKnown: a principal is not known that might be everybody.
        """
        if not self.value.at("NotPrincipal").is_absent:
            raise self.value.at("NotPrincipal").not_known("it names those that it is not for")
        return self.value.at("Principal").raw == EVERYTHING or any_of(_is_everything, self._of("AWS"))

    def principals(self) -> list[Value]:
        """Users, roles and accounts that it is for.

        Raises:
            NotKnown: they are not known.
        """
        return self._of("AWS")

    def _of(self, kind: str) -> list[Value]:
        principal = self.value.at("Principal")
        return [] if isinstance(principal.raw, str) else elements(principal.at(kind))


def policy_statements(document: Value) -> list[Statement | NotKnown]:
    """The statements of a policy document, and in place of one that is not known, why. Absent: none."""
    try:
        entries = document.each("Statement")
    except NotKnown as not_known:
        return [not_known]
    return [Statement(each) if each.is_known else each.not_known() for each in entries]


def elements(value: Value) -> list[Value]:
    """The elements of a list, or what stands for one; the ARN of a resource is one, whatever the deploy makes of it.

    Raises:
        NotKnown: it is a value of which nobody can tell whether it is one or more.
    """
    if is_marker(value.raw) and (isinstance(value.raw, PartText) or not isinstance(value.raw, Unknown)):
        return [value]
    return value.each()


def either(*questions: Callable[[], bool]) -> bool:
    """Whether one of the questions has the answer yes; one without an answer matters only if none has.

    Raises:
        NotKnown: none has, and one has no answer.
    """
    return any_of(lambda ask: ask(), questions)


def settled(statement: Statement | NotKnown) -> Statement:
    """The statement.

    Raises:
        NotKnown: it is not known.
    """
    if isinstance(statement, NotKnown):
        raise statement
    return statement


def stands_for(pattern: str, action: str) -> bool:
    """Whether an action of a statement, which may hold ``*`` and ``?``, stands for an action."""
    return _compiled(pattern).fullmatch(action) is not None


@lru_cache(maxsize=100_000)
def _one_stands_for(patterns: tuple[str, ...], action: str) -> bool:
    """Whether one of them does; statements of programs are alike, and asked again and again."""
    return any(stands_for(each, action) for each in patterns)


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    written = "".join({"*": ".*", "?": "."}.get(each, re.escape(each)) for each in pattern)
    return re.compile(written, re.IGNORECASE)


def _is_everything(value: Value) -> bool:
    """The ARN of a resource, and a text with a part that is not known, are not everything; a parameter might be."""
    if isinstance(value.raw, PartText) or (is_marker(value.raw) and not isinstance(value.raw, Unknown)):
        return False
    return value.text() == EVERYTHING


def _is_like(value: Value, pattern: re.Pattern[str] | None) -> bool:
    """Whether a pattern has the text of a value, in which a Region, say, need not be known."""
    if pattern is None or (is_marker(value.raw) and not isinstance(value.raw, PartText)):
        return False
    return pattern.fullmatch(value.searchable() or "") is not None
