"""Log groups that hold nothing, found by their tags: CloudWatch Logs cannot list by tag itself."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial

from orphan_sweep.aws import pages
from orphan_sweep.fleet import Belongings
from orphan_sweep.leftovers import TaggedLeftovers, is_gone, tagged_resources
from orphan_sweep.prices import free_of_charge
from orphan_sweep.things import Sort, Thing
from runtime.aws_errors import AWS_ERRORS


class LogGroups(TaggedLeftovers):
    """Log groups; `id` is the ARN. Nobody says when one was made."""

    sort = Sort.LOG_GROUP

    def find(self, belongings: Belongings) -> list[Thing]:
        tagged = tagged_resources(self._account, "logs:log-group")
        things = [self._thing(_plain(arn), tags, belongings) for arn, tags in tagged]
        # The index still lists for a while what is gone.
        return [thing for thing in things if thing is not None]

    def again(self, ids: Sequence[str], belongings: Belongings) -> list[Thing]:
        found: list[Thing] = []
        for arn in ids:
            tags = self._tags(arn)
            thing = None if tags is None else self._thing(arn, tags, belongings)
            found += [] if thing is None else [thing]
        return found

    def free(self, thing: Thing) -> None:
        act = partial(self._clients.logs.delete_log_group, logGroupName=_name(thing.id))
        self._patience.call(f"deleting {thing.id}", act)

    def _note(self, thing: Thing, mark: str) -> None:
        tags = {self._account.settings.orphan_tag_key: mark}
        act = partial(self._clients.logs.tag_resource, resourceArn=thing.id, tags=tags)
        self._patience.call(f"marking {thing.id}", act)

    def _forget(self, thing: Thing) -> None:
        keys = [self._account.settings.orphan_tag_key]
        act = partial(self._clients.logs.untag_resource, resourceArn=thing.id, tagKeys=keys)
        self._patience.call(f"taking the mark from {thing.id}", act)

    def _tags(self, arn: str) -> Mapping[str, str] | None:
        """Return the tags as the service itself knows them, or None when the group is gone."""
        ask = partial(self._clients.logs.list_tags_for_resource, resourceArn=arn)
        try:
            answer = self._patience.call(f"reading the tags of {arn}", ask)
        except AWS_ERRORS as error:
            if is_gone(error):
                return None
            raise
        tags: Mapping[str, str] = answer["tags"]
        return tags

    def _thing(self, arn: str, tags: Mapping[str, str], belongings: Belongings) -> Thing | None:
        holds = self._holds_something(_name(arn))
        if holds is None:
            return None
        return Thing(
            sort=self.sort,
            id=arn,
            tags=tags,
            created_at=None,
            belongs_to=belongings.owner({_name(arn), arn, f"{arn}:*"}, tags, {}),
            used_by="it holds log streams" if holds else None,
            mark=self._mark_of(tags),
            price=free_of_charge("AWS bills no empty log group"),
        )

    def _holds_something(self, name: str) -> bool | None:
        """Return whether the group has a stream, or None when it is gone. Its size is told late."""
        ask = partial(self._clients.logs.describe_log_streams, logGroupName=name, limit=1)
        try:
            return any(page["logStreams"] for page in pages(f"reading {name}", ask, self._patience, "nextToken"))
        except AWS_ERRORS as error:
            if is_gone(error):
                return None
            raise


def _plain(arn: str) -> str:
    return arn.removesuffix(":*")


def _name(arn: str) -> str:
    return arn.split(":log-group:", 1)[1]
