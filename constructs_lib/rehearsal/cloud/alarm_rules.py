"""The rule of a composite alarm: read once, then asked with the states of the alarms that it names.

The functions are those of CloudWatch's user guide ("Combining alarms"). Which of AND and OR goes first in a rule
without parentheses is taken for granted here: AND, as in other languages.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping

from constructs_lib.errors import ArgumentError
from constructs_lib.rehearsal.cloud.verdicts import State
from constructs_lib.validation import complaint

States = Mapping[str, State]
_Test = Callable[[States], bool]
_STATES: dict[str, State] = {"ALARM": "ALARM", "OK": "OK", "INSUFFICIENT_DATA": "INSUFFICIENT_DATA"}
_TOKEN = re.compile(r"""\s*(?:"([^"]*)"|'([^']*)'|([(),])|([^\s(),"']+))""")


class Rule:
    """Whether a composite alarm is in ALARM. ``alarms`` are the logical ids of those that it names.

    ``known`` has the logical id of an alarm by each way to name it.

    Raises:
        ArgumentError: the rule cannot be read, or names an alarm that is not in the template.
    """

    def __init__(self, name: str, text: str, known: Mapping[str, str]) -> None:
        self.alarms: set[str] = set()
        self._name = name
        self._text = text
        self._known = known
        self._tokens = self._read()
        self._test = self._any()
        if self._tokens:
            raise self._error(f"end before {self._tokens[0][0]!r}")

    def holds(self, states: States) -> bool:
        """Return whether the rule holds, with the states of alarms by logical id."""
        return self._test(states)

    def _read(self) -> list[tuple[str, bool]]:
        """Return the words, and whether each is the name of an alarm in quotes."""
        found, at, text = [], 0, self._text.strip()
        while at < len(text):
            match = _TOKEN.match(text, at)
            if match is None:
                raise self._error(f"be readable at {text[at:]!r}")
            quoted = match[1] if match[1] is not None else match[2]
            found.append((match[3] or match[4], False) if quoted is None else (quoted, True))
            at = match.end()
        return found

    def _any(self) -> _Test:
        tests = [self._all()]
        while self._next_is("OR"):
            tests.append(self._all())
        return tests[0] if len(tests) == 1 else lambda states: any(test(states) for test in tests)

    def _all(self) -> _Test:
        tests = [self._one()]
        while self._next_is("AND"):
            tests.append(self._one())
        return tests[0] if len(tests) == 1 else lambda states: all(test(states) for test in tests)

    def _one(self) -> _Test:
        if self._next_is("NOT"):
            test = self._one()
            return lambda states: not test(states)
        if self._next_is("("):
            test = self._any()
            self._need(")")
            return test
        word = self._word()
        if word in ("TRUE", "FALSE"):
            return lambda _states: word == "TRUE"
        self._need("(")
        if word == "AT_LEAST":
            return self._at_least()
        if word not in _STATES:
            raise self._error(f"use ALARM, OK, INSUFFICIENT_DATA or AT_LEAST, and not {word!r}")
        wanted, alarm = _STATES[word], self._alarm()
        self._need(")")
        return lambda states: states[alarm] == wanted

    def _at_least(self) -> _Test:
        """Return the test of ``AT_LEAST(2, ALARM, (a, b, c))``, or ``AT_LEAST(50%, NOT OK, (a, b))``."""
        least = self._word()
        self._need(",")
        others = self._next_is("NOT")
        word = self._word()
        if word not in _STATES or not re.fullmatch(r"\d+%?", least):
            raise self._error("give AT_LEAST a number or percentage, a state and alarms")
        self._need(",")
        self._need("(")
        alarms = [self._alarm()]
        while self._next_is(","):
            alarms.append(self._alarm())
        self._need(")")
        self._need(")")
        number = int(least.rstrip("%"))
        if least.endswith("%"):
            number = math.ceil(number * len(alarms) / 100)
        wanted = _STATES[word]
        return lambda states: sum((states[each] == wanted) != others for each in alarms) >= number

    def _alarm(self) -> str:
        named = self._word(quoted=True)
        if named not in self._known:
            raise self._error(f"name alarms of the template, and not {named!r}")
        self.alarms.add(self._known[named])
        return self._known[named]

    def _word(self, *, quoted: bool = False) -> str:
        if not self._tokens or (self._tokens[0][1] and not quoted) or self._tokens[0][0] in ("(", ")", ","):
            raise self._error(f"have a word before {self._tokens[0][0]!r}" if self._tokens else "not end here")
        return self._tokens.pop(0)[0]

    def _next_is(self, word: str) -> bool:
        """Take a word if it comes next."""
        if self._tokens and self._tokens[0] == (word, False):
            del self._tokens[0]
            return True
        return False

    def _need(self, word: str) -> None:
        if not self._next_is(word):
            found = repr(self._tokens[0][0]) if self._tokens else "the end"
            raise self._error(f"have {word!r} before {found}")

    def _error(self, rule: str) -> ArgumentError:
        return ArgumentError(complaint(self._name, "AlarmRule", rule, self._text, "CloudWatch refuses it"))
