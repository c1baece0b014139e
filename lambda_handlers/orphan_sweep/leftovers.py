"""What each sort of thing has in common: to be found, looked at again, marked, and freed."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from orphan_sweep.aws import Clients, Filters, pages, tags_of
from orphan_sweep.fleet import Belongings
from orphan_sweep.settings import Settings
from orphan_sweep.things import Sort, Thing
from runtime.aws_errors import AWS_ERRORS, error_code
from runtime.patience import OutOfTime, Patience

PER_PAGE = 1000
VALUES_PER_FILTER = 200
_TAGGED_PER_PAGE = 100


class NotFreed(Exception):
    """AWS answered, and the thing is still there."""


@dataclass(frozen=True, kw_only=True)
class Account:
    """How the account is asked, and for whom."""

    clients: Clients
    settings: Settings
    patience: Patience

    def own_tag(self) -> Filters:
        """Return the filter of EC2 for the fleet's tag. It knows wildcards: what it finds is compared once more."""
        rules = self.settings.rules
        return [{"Name": f"tag:{rules.tag_key}", "Values": [rules.tag_value]}]


class Leftovers(ABC):
    """One sort of thing. Whoever reads it may raise AWS's errors, `OutOfTime`, or an error for a missing field."""

    sort: Sort

    def __init__(self, account: Account) -> None:
        self._account = account
        self._clients = account.clients
        self._patience = account.patience
        self._prices = account.settings.prices

    @abstractmethod
    def find(self, belongings: Belongings) -> list[Thing]:
        """Return everything of this sort that carries the fleet's tag, used or not."""

    @abstractmethod
    def again(self, ids: Sequence[str], belongings: Belongings) -> list[Thing]:
        """Return those with the ids, read anew."""

    @abstractmethod
    def free(self, thing: Thing) -> None:
        """Delete it. It may be gone already. Raises AWS's errors and `NotFreed`."""

    @abstractmethod
    def note(self, marked: Sequence[Thing], unmarked: Sequence[Thing], mark: str) -> Mapping[str, str]:
        """Note the first sighting on some and take the note from others; return who was refused, with the reason."""

    def _mark_of(self, tags: Mapping[str, str]) -> str | None:
        return tags.get(self._account.settings.orphan_tag_key)


class TaggedLeftovers(Leftovers):
    """A sort of thing that has tags of its own, the note being one of them."""

    @abstractmethod
    def _note(self, thing: Thing, mark: str) -> None: ...

    @abstractmethod
    def _forget(self, thing: Thing) -> None: ...

    def note(self, marked: Sequence[Thing], unmarked: Sequence[Thing], mark: str) -> Mapping[str, str]:
        refused = {thing.id: attempt(partial(self._note, thing, mark)) for thing in marked}
        refused.update({thing.id: attempt(partial(self._forget, thing)) for thing in unmarked})
        return {id: why for id, why in refused.items() if why is not None}


class Ec2Leftovers(TaggedLeftovers):
    """A sort of thing that EC2 keeps."""

    def _note(self, thing: Thing, mark: str) -> None:
        tags = [{"Key": self._account.settings.orphan_tag_key, "Value": mark}]
        act = partial(self._clients.ec2.create_tags, Resources=[thing.id], Tags=tags)
        self._patience.call(f"marking {thing.id}", act)

    def _forget(self, thing: Thing) -> None:
        tags = [{"Key": self._account.settings.orphan_tag_key}]
        act = partial(self._clients.ec2.delete_tags, Resources=[thing.id], Tags=tags)
        self._patience.call(f"taking the mark from {thing.id}", act)


def tagged_resources(account: Account, resource_type: str) -> list[tuple[str, dict[str, str]]]:
    """Return ARN and tags of everything of a type that carries the fleet's tag, of services that cannot list by tag.

    The index follows with some delay: what it lists may be gone, and its tags are read anew before anything is freed.
    """
    rules = account.settings.rules
    ask = partial(
        account.clients.tagging.get_resources,
        TagFilters=[{"Key": rules.tag_key, "Values": [rules.tag_value]}],
        ResourceTypeFilters=[resource_type],
        ResourcesPerPage=_TAGGED_PER_PAGE,
    )
    found = pages(f"looking for {resource_type}", ask, account.patience, "PaginationToken")
    return [(each["ResourceARN"], tags_of(each)) for page in found for each in page["ResourceTagMappingList"]]


def attempt(act: Callable[[], None]) -> str | None:
    """Do it; return why it could not be done, or None. What is gone needs no note."""
    try:
        act()
    except AWS_ERRORS as error:
        return None if is_gone(error) else error_code(error)
    except OutOfTime as error:
        return str(error)
    return None


def is_gone(error: Exception) -> bool:
    """Return whether the thing that a call was about is not there (any more)."""
    code = error_code(error)
    return code.endswith(".NotFound") or code in ("ResourceNotFoundException", "ParameterNotFound", "InvalidResourceId")
