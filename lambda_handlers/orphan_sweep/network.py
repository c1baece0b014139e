"""Network interfaces that are attached to nothing, and Elastic IP addresses that point to nothing."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from orphan_sweep.aws import Document, Filters, batches, pages, tags_of
from orphan_sweep.fleet import Belongings
from orphan_sweep.leftovers import PER_PAGE, VALUES_PER_FILTER, Ec2Leftovers
from orphan_sweep.prices import free_of_charge
from orphan_sweep.things import Sort, Thing

# Those that an instance can have. All others are made, and looked after, by a service.
_OF_INSTANCES = ("interface", "efa", "efa-only")
_AMAZONS_POOL = "amazon"


class Interfaces(Ec2Leftovers):
    """Network interfaces, attached or not. EC2 does not say when one was made."""

    sort = Sort.NETWORK_INTERFACE

    def find(self, belongings: Belongings) -> list[Thing]:
        return self._things(self._account.own_tag(), belongings)

    def again(self, ids: Sequence[str], belongings: Belongings) -> list[Thing]:
        found: list[Thing] = []
        for batch in batches(ids, VALUES_PER_FILTER):
            found += self._things([{"Name": "network-interface-id", "Values": batch}], belongings)
        return found

    def free(self, thing: Thing) -> None:
        act = partial(self._clients.ec2.delete_network_interface, NetworkInterfaceId=thing.id)
        self._patience.call(f"deleting {thing.id}", act)

    def _things(self, filters: Filters, belongings: Belongings) -> list[Thing]:
        ask = partial(self._clients.ec2.describe_network_interfaces, Filters=filters, MaxResults=PER_PAGE)
        found = pages("reading network interfaces", ask, self._patience)
        return [self._thing(each, belongings) for page in found for each in page["NetworkInterfaces"]]

    def _thing(self, document: Document, belongings: Belongings) -> Thing:
        tags = tags_of(document, "TagSet")
        attached = document.get("Attachment")
        used = f"attached to {attached.get('InstanceId', 'something')}" if attached else f"it is {document['Status']}"
        return Thing(
            sort=self.sort,
            id=document["NetworkInterfaceId"],
            tags=tags,
            created_at=None,
            belongs_to=_service(document)
            or belongings.owner({document["NetworkInterfaceId"]}, tags, document.get("Operator", {})),
            used_by=None if document["Status"] == "available" and not attached else used,
            mark=self._mark_of(tags),
            price=free_of_charge("AWS bills no interface"),
        )


class Addresses(Ec2Leftovers):
    """Elastic IP addresses. EC2 does not say when one was allocated, and lists them on one page."""

    sort = Sort.ADDRESS

    def find(self, belongings: Belongings) -> list[Thing]:
        return self._things(self._account.own_tag(), belongings)

    def again(self, ids: Sequence[str], belongings: Belongings) -> list[Thing]:
        found: list[Thing] = []
        for batch in batches(ids, VALUES_PER_FILTER):
            found += self._things([{"Name": "allocation-id", "Values": batch}], belongings)
        return found

    def free(self, thing: Thing) -> None:
        act = partial(self._clients.ec2.release_address, AllocationId=thing.id)
        self._patience.call(f"releasing {thing.id}", act)

    def _things(self, filters: Filters, belongings: Belongings) -> list[Thing]:
        page = self._patience.call("reading addresses", partial(self._clients.ec2.describe_addresses, Filters=filters))
        return [self._thing(each, belongings) for each in page["Addresses"]]

    def _thing(self, document: Document, belongings: Belongings) -> Thing:
        tags = tags_of(document)
        # CloudFormation names an address by itself, and everything else by its allocation.
        names = {document["AllocationId"], document.get("PublicIp", "")}
        service = document.get("ServiceManaged")
        uses = [
            document[field] for field in ("InstanceId", "NetworkInterfaceId", "AssociationId") if document.get(field)
        ]
        return Thing(
            sort=self.sort,
            id=document["AllocationId"],
            tags=tags,
            created_at=None,
            belongs_to=f"the service {service}" if service else belongings.owner(names, tags, {}),
            used_by=f"associated with {uses[0]}" if uses else None,
            mark=self._mark_of(tags),
            price=self._prices.address(amazon_owned=document.get("PublicIpv4Pool", _AMAZONS_POOL) == _AMAZONS_POOL),
        )


def _service(document: Document) -> str | None:
    if document.get("RequesterManaged"):
        return f"the service {document.get('RequesterId', 'that asked for it')}"
    kind = document["InterfaceType"]
    return None if kind in _OF_INSTANCES else f"a service, being of the type {kind}"
