"""Parameters under which instances of the fleet are published, and whose instance is gone.

An instance, or whoever starts it, may write `<path>/<instance id>` with the fleet's tag on it, for others to find the
fleet's instances. Only direct children of the path that are named by an instance are looked at.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import partial

from orphan_sweep.aws import Document, Filters, batches, pages, tags_of
from orphan_sweep.fleet import Belongings
from orphan_sweep.leftovers import PER_PAGE, VALUES_PER_FILTER, TaggedLeftovers, is_gone, tagged_resources
from orphan_sweep.things import Sort, Thing
from runtime.aws_errors import AWS_ERRORS

_PER_PAGE = 50
_GONE_STATES = ("shutting-down", "terminated")
_INSTANCE_ID = re.compile(r"i-[0-9a-f]{8}(?:[0-9a-f]{9})?")
_TYPE = "Parameter"


class Endpoints(TaggedLeftovers):
    """Parameters of the fleet's path; `id` is the name."""

    sort = Sort.ENDPOINT

    def find(self, belongings: Belongings) -> list[Thing]:
        path = self._account.settings.endpoints_path
        found = self._describe([{"Key": "Path", "Option": "OneLevel", "Values": [path]}])
        # Without the fleet's tag it is nobody's that a sweep may ask about.
        tags = self._tagged() if found else {}
        return self._things({name: (each, tags.get(name, {})) for name, each in found.items()}, belongings)

    def again(self, ids: Sequence[str], belongings: Belongings) -> list[Thing]:
        found: dict[str, tuple[Document, Mapping[str, str]]] = {}
        for batch in batches(ids, _PER_PAGE):
            for name, each in self._describe([{"Key": "Name", "Option": "Equals", "Values": batch}]).items():
                tags = self._tags(name)
                if tags is not None:
                    found[name] = each, tags
        return self._things(found, belongings)

    def free(self, thing: Thing) -> None:
        self._patience.call(f"deleting {thing.id}", partial(self._clients.ssm.delete_parameter, Name=thing.id))

    def _note(self, thing: Thing, mark: str) -> None:
        tags = [{"Key": self._account.settings.orphan_tag_key, "Value": mark}]
        act = partial(self._clients.ssm.add_tags_to_resource, ResourceType=_TYPE, ResourceId=thing.id, Tags=tags)
        self._patience.call(f"marking {thing.id}", act)

    def _forget(self, thing: Thing) -> None:
        keys = [self._account.settings.orphan_tag_key]
        act = partial(
            self._clients.ssm.remove_tags_from_resource, ResourceType=_TYPE, ResourceId=thing.id, TagKeys=keys
        )
        self._patience.call(f"taking the mark from {thing.id}", act)

    def _describe(self, filters: Filters) -> dict[str, Document]:
        ask = partial(self._clients.ssm.describe_parameters, ParameterFilters=filters, MaxResults=_PER_PAGE)
        found = [each for page in pages("reading parameters", ask, self._patience) for each in page["Parameters"]]
        return {each["Name"]: each for each in found if self._instance(each["Name"])}

    def _tagged(self) -> dict[str, Mapping[str, str]]:
        """Return the tags of all parameters that carry the fleet's, by name."""
        resources = tagged_resources(self._account, "ssm:parameter")
        return {"/" + arn.split(":parameter/", 1)[1]: tags for arn, tags in resources}

    def _things(self, found: Mapping[str, tuple[Document, Mapping[str, str]]], belongings: Belongings) -> list[Thing]:
        living = self._living(sorted({self._instance(name) for name in found}))
        return [self._thing(document, tags, living, belongings) for document, tags in found.values()]

    def _instance(self, name: str) -> str:
        """Return the instance that a parameter of the fleet's path is named by, or an empty text."""
        path, _, last = name.rpartition("/")
        is_endpoint = path == self._account.settings.endpoints_path and _INSTANCE_ID.fullmatch(last)
        return last if is_endpoint else ""

    def _living(self, instance_ids: Sequence[str]) -> frozenset[str]:
        """Return which of the instances are there, in whatever state from which one can come back."""
        found: set[str] = set()
        for batch in batches(instance_ids, VALUES_PER_FILTER):
            # As a filter and not by InstanceIds: one id that EC2 does not know would fail the whole call.
            filters = [{"Name": "instance-id", "Values": batch}]
            ask = partial(self._clients.ec2.describe_instances, Filters=filters, MaxResults=PER_PAGE)
            for page in pages("asking for the endpoints' instances", ask, self._patience):
                for reservation in page["Reservations"]:
                    found.update(
                        each["InstanceId"]
                        for each in reservation["Instances"]
                        if each["State"]["Name"] not in _GONE_STATES
                    )
        return frozenset(found)

    def _thing(
        self, document: Document, tags: Mapping[str, str], living: frozenset[str], belongings: Belongings
    ) -> Thing:
        name = document["Name"]
        instance = self._instance(name)
        return Thing(
            sort=self.sort,
            id=name,
            tags=tags,
            created_at=document["LastModifiedDate"],
            belongs_to=belongings.owner({name}, tags, {}),
            used_by=f"instance {instance}" if instance in living or instance in belongings.members else None,
            mark=self._mark_of(tags),
            price=self._prices.parameter(document.get("Tier", "of an unknown tier")),
        )

    def _tags(self, name: str) -> Mapping[str, str] | None:
        """Return the tags, or None when the parameter is gone."""
        ask = partial(self._clients.ssm.list_tags_for_resource, ResourceType=_TYPE, ResourceId=name)
        try:
            return tags_of(self._patience.call(f"reading the tags of {name}", ask), "TagList")
        except AWS_ERRORS as error:
            if is_gone(error):
                return None
            raise
