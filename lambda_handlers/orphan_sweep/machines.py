"""Instances that are in no group although they carry the fleet's tag."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial

from orphan_sweep.aws import Document, Filters, batches, pages, tags_of
from orphan_sweep.fleet import Belongings
from orphan_sweep.leftovers import PER_PAGE, VALUES_PER_FILTER, Ec2Leftovers
from orphan_sweep.prices import Price, unknown
from orphan_sweep.storage import volume_price
from orphan_sweep.things import Sort, Thing
from runtime.aws_errors import AWS_ERRORS, error_code

_GROUP_TAG = "aws:autoscaling:groupName"
_IDS_PER_MEMBERSHIP_CALL = 50
_BILLED_STATES = ("pending", "running", "stopping", "stopped")


class Machines(Ec2Leftovers):
    """Instances, those of the group included."""

    sort = Sort.INSTANCE

    def find(self, belongings: Belongings) -> list[Thing]:
        return self._things(self._account.own_tag(), belongings)

    def again(self, ids: Sequence[str], belongings: Belongings) -> list[Thing]:
        found: list[Thing] = []
        for batch in batches(ids, VALUES_PER_FILTER):
            found += self._things([{"Name": "instance-id", "Values": batch}], belongings)
        return found

    def free(self, thing: Thing) -> None:
        act = partial(self._clients.ec2.terminate_instances, InstanceIds=[thing.id])
        self._patience.call(f"terminating {thing.id}", act)

    def _things(self, filters: Filters, belongings: Belongings) -> list[Thing]:
        billed: Filters = [*filters, {"Name": "instance-state-name", "Values": list(_BILLED_STATES)}]
        ask = partial(self._clients.ec2.describe_instances, Filters=billed, MaxResults=PER_PAGE)
        documents = [
            instance
            for page in pages("reading instances", ask, self._patience)
            for reservation in page["Reservations"]
            for instance in reservation["Instances"]
        ]
        outside = [each["InstanceId"] for each in documents if each["InstanceId"] not in belongings.members]
        # "Not found in the group's answer" is no proof: each is asked for by its id (field case 34).
        groups = {**belongings.members, **self._groups_of(outside)}
        volumes = self._prices_of_volumes([each for each in outside if each not in groups])
        return [self._thing(each, groups, volumes, belongings) for each in documents]

    def _groups_of(self, ids: Iterable[str]) -> dict[str, str]:
        found: dict[str, str] = {}
        for batch in batches(ids, _IDS_PER_MEMBERSHIP_CALL):
            ask = partial(self._clients.autoscaling.describe_auto_scaling_instances, InstanceIds=batch)
            for page in pages("asking for the instances' groups", ask, self._patience):
                found.update(
                    {each["InstanceId"]: each["AutoScalingGroupName"] for each in page["AutoScalingInstances"]}
                )
        return found

    def _prices_of_volumes(self, ids: Iterable[str]) -> dict[str, list[Price]]:
        """Return what the volumes cost that go with each instance: one without a price is no less an orphan."""
        found: dict[str, list[Price]] = {}
        for batch in batches(ids, VALUES_PER_FILTER):
            try:
                for instance_id, price in self._volumes_of(batch):
                    found.setdefault(instance_id, []).append(price)
            except AWS_ERRORS as error:
                found.update({id: [unknown(f"its volumes could not be read: {error_code(error)}")] for id in batch})
        return found

    def _volumes_of(self, ids: Sequence[str]) -> Iterator[tuple[str, Price]]:
        filters = [{"Name": "attachment.instance-id", "Values": ids}]
        ask = partial(self._clients.ec2.describe_volumes, Filters=filters, MaxResults=PER_PAGE)
        for page in pages("reading the instances' volumes", ask, self._patience):
            for volume in page["Volumes"]:
                for attachment in volume["Attachments"]:
                    if attachment.get("DeleteOnTermination"):
                        yield attachment["InstanceId"], volume_price(self._prices, volume)

    def _thing(
        self, document: Document, groups: Mapping[str, str], volumes: Mapping[str, list[Price]], belongings: Belongings
    ) -> Thing:
        id, tags = document["InstanceId"], tags_of(document)
        group = groups.get(id)
        return Thing(
            sort=self.sort,
            id=id,
            tags=tags,
            created_at=document["LaunchTime"],
            belongs_to=self._owner(document, tags, belongings),
            used_by=None if group is None else f"member of group {group}",
            mark=self._mark_of(tags),
            price=self._price(document, volumes.get(id, [])),
        )

    def _owner(self, document: Document, tags: Mapping[str, str], belongings: Belongings) -> str | None:
        group = tags.get(_GROUP_TAG)
        if group is not None and group != self._account.settings.auto_scaling_group:
            return f"group {group}"
        return belongings.owner({document["InstanceId"]}, tags, document.get("Operator", {}))

    def _price(self, document: Document, volumes: Iterable[Price]) -> Price:
        price = self._prices.instance(
            document["InstanceType"],
            running=document["State"]["Name"] in ("pending", "running"),
            spot=document.get("InstanceLifecycle") == "spot",
        )
        if document.get("PublicIpAddress"):
            price = price.and_also(self._prices.address(amazon_owned=True))
        for volume in volumes:
            price = price.and_also(volume)
        return price
