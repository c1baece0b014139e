"""What passes have to remember, and which of two passes at once may act. It lives in one SSM parameter.

Parameter Store has no conditional put, but it numbers the versions of a parameter without gaps and keeps the last
hundred. So each value names the version `after` which it was meant to come, and a value counts only where it did:
one that overtook another, because its pass had read something old or another pass was quicker, counts as never
written, for whoever reads it and for its writer, who is told the number. What is left is a line of values of which
each was made from the one before it, just as if the put had been conditional. It follows:

- A lease is taken only from the true state, so of two passes at once one gets it.
- A stale read costs a put that does not count; the pass then does nothing.
- A put may be repeated, and may arrive late: the second one does not count. Where the answer was lost, the state is
  read again, and names its holder.
- A pass that dies leaves a lease that others respect until it expires. Its holder stops a minute before that, which is
  more than a call can take and clocks differ.
- Who is to be terminated is recorded before the first call. So whatever a pass did not live to tell, and whatever the
  group's lagging description says, the next passes know whom not to ask for again.
"""

from __future__ import annotations

import secrets
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any, Protocol, TypedDict

from release_idle.state_document import (
    ASKED_LASTS,
    MOST_ASKED,
    MOST_NEVER_KNOWN,
    LaunchMemory,
    LeaseMark,
    PassState,
    StateUnreadable,
    content_of,
    counts,
    document_of,
    state_of,
    to_the_second,
    value_of,
)
from runtime.aws_errors import AWS_ERRORS, Trouble, classify, error_code
from runtime.patience import OutOfTime, Patience

__all__ = [
    "ASKED_LASTS",
    "LEASE_LASTS",
    "LEASE_MARGIN",
    "MOST_ASKED",
    "MOST_NEVER_KNOWN",
    "LaunchMemory",
    "Lease",
    "LeaseMark",
    "ParameterClient",
    "PassState",
    "StateStore",
    "StateUnreadable",
]

LEASE_LASTS = timedelta(minutes=4)
"""Less than passes are apart, so that one that died holds up only passes that come early."""

LEASE_MARGIN = timedelta(minutes=1)

_TRIES = 3
_LONGEST_HOLDER = 32
# The values before one that does not count are gone or kept from us. After this time none of them holds a lease, or
# knows of a member that was asked to leave, that would still matter.
_LONG_PAST = timedelta(minutes=15)


class ParameterDocument(TypedDict, total=False):
    Value: str
    Version: int
    LastModifiedDate: datetime


class ParameterAnswer(TypedDict, total=False):
    Parameter: ParameterDocument


class PutAnswer(TypedDict, total=False):
    Version: int


class ParameterClient(Protocol):
    """The Parameter Store calls of a release pass."""

    def get_parameter(self, *, Name: str) -> ParameterAnswer: ...

    def put_parameter(self, *, Name: str, Value: str, Type: str, Overwrite: bool) -> PutAnswer: ...


@dataclass
class Lease:
    """The right to act until `acts_until`. `state` is what the passes remember by now."""

    store: StateStore
    mark: LeaseMark
    acts_until: datetime
    state: PassState

    def record(self, ids: Collection[str], now: datetime) -> bool:
        """Write down who is about to be terminated; return whether that is done and the lease still held.

        Only then may the first termination be asked for. At most `MOST_ASKED` at a time.
        """
        if len(ids) > MOST_ASKED:
            raise ValueError(f"at most {MOST_ASKED} members can be recorded at once, got {len(ids)}")
        if now >= self.acts_until:
            return False
        leaving = {**self.state.asked_to_leave(now), **dict.fromkeys(ids, to_the_second(now))}
        return self._becomes(replace(self.state, leaving=leaving))

    def remember(self, *, retained: Mapping[str, datetime] | None = None, launches: LaunchMemory | None = None) -> None:
        """Take up what later passes have to know; the next `record` or `finish` writes it."""
        if retained is not None:
            seen = {each: to_the_second(at) for each, at in retained.items()}
            self.state = replace(self.state, retained=seen)
        if launches is not None:
            self.state = replace(self.state, launches=launches)

    def finish(self, drop: Collection[str] = ()) -> bool:
        """Let other passes act; return whether they were told. `drop` are those that surely were not terminated."""
        left = {each: at for each, at in self.state.leaving.items() if each not in drop}
        return self._becomes(replace(self.state, lease=None, leaving=left))

    def take(self) -> bool:
        """Take the lease; return whether that succeeded."""
        return self._becomes(replace(self.state, lease=self.mark))

    def _becomes(self, wanted: PassState) -> bool:
        """Make the state what is wanted while the lease is held; return whether it is."""
        before = self.state.lease
        for _ in range(_TRIES):
            wanted = replace(wanted, version=self.state.version)
            written = self.store.put(wanted)
            if written is not None:
                self.state = written
                return True
            found = self.store.read()
            if content_of(found) == content_of(wanted):
                # The put counted, and only its answer did not arrive.
                self.state = found
                return True
            if found.lease != self.mark or before != self.mark:
                return False
            # Somebody's value that does not count came between: the lease is held all the same.
            self.state = replace(self.state, version=found.version)
        return False


@dataclass(frozen=True)
class StateStore:
    """The parameter that holds the state."""

    client: ParameterClient
    parameter: str
    patience: Patience

    def read(self) -> PassState:
        """Return what passes remember. Raises `StateUnreadable`."""
        newest, written_at, written = self._get(self.parameter)
        version, document = newest, written
        while not counts(document, version):
            version -= 1
            try:
                _, _, document = self._get(f"{self.parameter}:{version}")
            except StateUnreadable:
                if self.patience.clock.now() - written_at < _LONG_PAST:
                    raise
                document = written
                break
        return state_of(newest, document)

    def acquire(self, state: PassState, *, holder: str, until: datetime) -> Lease | None:
        """Return the right to act, no longer than `until`; None while another pass has it, or when the state has moved
        on since it was read. `holder` is for people: it says which pass that is.

        Raises `StateUnreadable` when the parameter cannot be written.
        """
        now = self.patience.clock.now()
        if state.lease is not None and state.lease.until > now:
            return None
        # An event that is delivered twice runs twice under the same id.
        holder = f"{holder[:_LONGEST_HOLDER]}-{secrets.token_hex(4)}"
        mark = LeaseMark(holder=holder, until=to_the_second(now) + LEASE_LASTS)
        lease = Lease(store=self, mark=mark, acts_until=min(until, mark.until - LEASE_MARGIN), state=state)
        return lease if lease.take() else None

    def put(self, wanted: PassState) -> PassState | None:
        """Write the state after the version that it was made from; return it with its version, None where it did not
        surely come right after that."""
        value = value_of(wanted)
        try:
            answer = self.patience.call(
                "writing what passes remember",
                lambda: self.client.put_parameter(Name=self.parameter, Value=value, Type="String", Overwrite=True),
            )
        except AWS_ERRORS as error:
            # Too many updates at once, of which this was one, say as little about the outcome as no answer.
            if classify(error) is Trouble.REFUSED and error_code(error) != "TooManyUpdates":
                raise StateUnreadable(f"SSM PutParameter: {error}") from error
            return None
        except OutOfTime as error:
            raise StateUnreadable(str(error)) from error
        version = answer.get("Version")
        return replace(wanted, version=version) if version == wanted.version + 1 else None

    def _get(self, name: str) -> tuple[int, datetime, Mapping[str, Any]]:
        try:
            answer = self.patience.call("reading what passes remember", lambda: self.client.get_parameter(Name=name))
            parameter = answer["Parameter"]
            version, written_at, value = parameter["Version"], parameter["LastModifiedDate"], parameter["Value"]
        except AWS_ERRORS as error:
            raise StateUnreadable(f"SSM GetParameter: {error}") from error
        except OutOfTime as error:
            raise StateUnreadable(str(error)) from error
        except KeyError as error:
            raise StateUnreadable(f"SSM GetParameter answered without {error}") from error
        return version, written_at, document_of(value)
