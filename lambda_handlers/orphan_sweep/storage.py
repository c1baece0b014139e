"""Volumes that are attached to nothing, and snapshots that are older than asked."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial

from orphan_sweep.aws import Document, Filters, batches, pages, tags_of
from orphan_sweep.fleet import Belongings
from orphan_sweep.leftovers import PER_PAGE, VALUES_PER_FILTER, Ec2Leftovers
from orphan_sweep.prices import Price, PriceList, snapshot_gib
from orphan_sweep.templates import versions_that_count
from orphan_sweep.things import Sort, Thing


def volume_price(prices: PriceList, document: Document) -> Price:
    """Return what a volume costs, as EC2 describes it."""
    return prices.volume(
        document["VolumeType"],
        gib=document["Size"],
        iops=document.get("Iops"),
        throughput=document.get("Throughput"),
    )


class Volumes(Ec2Leftovers):
    """Volumes, attached or not."""

    sort = Sort.VOLUME

    def find(self, belongings: Belongings) -> list[Thing]:
        return self._things(self._account.own_tag(), belongings)

    def again(self, ids: Sequence[str], belongings: Belongings) -> list[Thing]:
        found: list[Thing] = []
        for batch in batches(ids, VALUES_PER_FILTER):
            found += self._things([{"Name": "volume-id", "Values": batch}], belongings)
        return found

    def free(self, thing: Thing) -> None:
        self._patience.call(f"deleting {thing.id}", partial(self._clients.ec2.delete_volume, VolumeId=thing.id))

    def _things(self, filters: Filters, belongings: Belongings) -> list[Thing]:
        ask = partial(self._clients.ec2.describe_volumes, Filters=filters, MaxResults=PER_PAGE)
        found = pages("reading volumes", ask, self._patience)
        return [self._thing(each, belongings) for page in found for each in page["Volumes"]]

    def _thing(self, document: Document, belongings: Belongings) -> Thing:
        tags = tags_of(document)
        attached = [each.get("InstanceId", "something") for each in document.get("Attachments", [])]
        used = f"attached to {', '.join(attached)}" if attached else f"it is {document['State']}"
        return Thing(
            sort=self.sort,
            id=document["VolumeId"],
            tags=tags,
            created_at=document["CreateTime"],
            belongs_to=belongings.owner({document["VolumeId"]}, tags, document.get("Operator", {})),
            used_by=None if document["State"] == "available" and not attached else used,
            mark=self._mark_of(tags),
            price=volume_price(self._prices, document),
        )


class Snapshots(Ec2Leftovers):
    """Snapshots of this account, those of images included."""

    sort = Sort.SNAPSHOT

    def find(self, belongings: Belongings) -> list[Thing]:
        return self._things(self._account.own_tag(), belongings)

    def again(self, ids: Sequence[str], belongings: Belongings) -> list[Thing]:
        found: list[Thing] = []
        for batch in batches(ids, VALUES_PER_FILTER):
            found += self._things([{"Name": "snapshot-id", "Values": batch}], belongings)
        return found

    def free(self, thing: Thing) -> None:
        self._patience.call(f"deleting {thing.id}", partial(self._clients.ec2.delete_snapshot, SnapshotId=thing.id))

    def _things(self, filters: Filters, belongings: Belongings) -> list[Thing]:
        ask = partial(self._clients.ec2.describe_snapshots, OwnerIds=["self"], Filters=filters, MaxResults=PER_PAGE)
        found = [each for page in pages("reading snapshots", ask, self._patience) for each in page["Snapshots"]]
        if not found:
            return []
        uses = dict([*self._templates(belongings), *self._images()])
        return [self._thing(each, uses.get(each["SnapshotId"]), belongings) for each in found]

    def _templates(self, belongings: Belongings) -> Iterator[tuple[str, str]]:
        """Yield each snapshot that new volumes are made from, and the launch template."""
        for version in versions_that_count(self._account, belongings):
            name = f"launch template {version['LaunchTemplateId']}, version {version['VersionNumber']}"
            for device in version["LaunchTemplateData"].get("BlockDeviceMappings", []):
                snapshot = device.get("Ebs", {}).get("SnapshotId")
                if snapshot:
                    yield snapshot, name

    def _images(self) -> Iterator[tuple[str, str]]:
        """Yield each snapshot of an image of the account, and the image."""
        ask = partial(
            self._clients.ec2.describe_images,
            Owners=["self"],
            IncludeDeprecated=True,
            IncludeDisabled=True,
            MaxResults=PER_PAGE,
        )
        for page in pages("reading images", ask, self._patience):
            for image in page["Images"]:
                for device in image["BlockDeviceMappings"]:
                    snapshot = device.get("Ebs", {}).get("SnapshotId")
                    if snapshot:
                        yield snapshot, f"image {image['ImageId']}"

    def _thing(self, document: Document, use: str | None, belongings: Belongings) -> Thing:
        tags = tags_of(document)
        settled = document["State"] in ("completed", "error")
        return Thing(
            sort=self.sort,
            id=document["SnapshotId"],
            tags=tags,
            created_at=document["StartTime"],
            belongs_to=belongings.owner({document["SnapshotId"]}, tags, {}),
            used_by=use or (None if settled else f"it is {document['State']}"),
            mark=self._mark_of(tags),
            price=self._prices.snapshot(
                document.get("StorageTier", "standard"),
                gib=snapshot_gib(document.get("FullSnapshotSizeInBytes"), document["VolumeSize"]),
            ),
        )
