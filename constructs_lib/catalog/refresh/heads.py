"""What stands above the rows of each table: what it is, where it comes from, what its columns mean."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

_WIDTH = 120
_MOTO = "records in moto 5.2.5 (wheel of 2026-10-27), Apache-2.0."


@dataclass(frozen=True, kw_only=True)
class Head:
    """The comment above a table, in sentences.

    Attributes:
        title: what a row is.
        source: of the rows that come with the library.
        asked: what a refresh asks instead.
        notes: on the columns, one paragraph each.
    """

    title: str
    source: str
    asked: str
    notes: tuple[str, ...] = ()

    def shipped(self) -> str:
        """The comment of the table that comes with the library."""
        return _comment([self.title, f"Source: {self.source}", *self.notes])

    def refreshed(self, asked_on: str, regions: Sequence[str]) -> str:
        """The comment of a table that a refresh has made."""
        asked = f"Source: {self.asked}, asked on {asked_on} with the credentials of an AWS account, for "
        before = f"What AWS said nothing about is kept from before: {self.source}"
        return _comment([self.title, f"{asked}{', '.join(regions)}.", before, *self.notes])


def _comment(paragraphs: Sequence[str]) -> str:
    return "".join(
        f"{line}\n"
        for paragraph in paragraphs
        for line in textwrap.wrap(
            paragraph,
            width=_WIDTH,
            initial_indent="# ",
            subsequent_indent="#   ",
            break_long_words=False,
            break_on_hyphens=False,
        )
    )


HEADS: Mapping[str, Head] = {
    "instance_types.csv": Head(
        title="Accelerated EC2 instance types: what a fleet must know about them.",
        source=f"DescribeInstanceTypes {_MOTO} Families that moto has dropped since come from moto 5.1.4 (dl1, f1, "
        "g4ad, p3), 5.0.28 (p2) and 4.2.14 (g3, g3s). Where those records do not say what is on the machine, "
        "corrections.csv does, with the reason.",
        asked="Amazon EC2, DescribeInstanceTypes",
        notes=(
            "kind: nvidia, neuron, gaudi, qualcomm, fpga, media, amd. model: as EC2 names it. count: what the "
            "operating system sees. fraction: share of an accelerator that the type has, empty for whole ones. "
            "memory_mib: of one accelerator.",
            "driver: NVIDIA only; `open` runs from the Turing generation on, older ones need `proprietary`.",
            "video_encoder: whether EC2 lists the workload `graphics` for the GPU, or the accelerator is one for "
            "media. Not whether the chip has an encoder at all.",
            "instance_store_gb: all NVMe disks together, GB, 0 for none. efa_interfaces: most that an instance can "
            "have.",
            "network_cards: most interfaces of each card in the order of their index, `e` for a card that takes EFA: "
            "`4 16*4e` is one card with 4, then 16 cards with 4 and EFA.",
            "spot, on_demand, capacity_block: whether EC2 sells it so anywhere. placement: strategies of placement "
            "groups.",
            "status: current, previous (AWS lists it as previous generation), retired (can no longer be launched). "
            "successor: what to use in place of one that is not current. An empty cell: not known.",
        ),
    ),
    "cpu_types.csv": Head(
        title="EC2 instance types without accelerator of the families in cpu_baselines.csv. Without bare metal.",
        source=f"DescribeInstanceTypes {_MOTO}",
        asked="Amazon EC2, DescribeInstanceTypes",
        notes=("memory_mib: of the instance. processor: who makes it.",),
    ),
    "cpu_families.csv": Head(
        title="Families of EC2 instance types of which no size has an accelerator.",
        source=f"DescribeInstanceTypes {_MOTO}",
        asked="Amazon EC2, DescribeInstanceTypes",
    ),
    "offerings.csv": Head(
        title="Which regions offer which instance types.",
        source=f"DescribeInstanceTypeOfferings {_MOTO}",
        asked="Amazon EC2, DescribeInstanceTypeOfferings",
        notes=(
            "sizes: those of the family that the same regions offer. regions: empty for none of those in regions.csv, "
            "which says on which day each was asked. A type without a row: not known. An offering says nothing of "
            "zones, of Spot or of free capacity.",
        ),
    ),
    "regions.csv": Head(
        title="The regions whose offerings are known, and the day on which each was asked.",
        source=f"DescribeInstanceTypeOfferings {_MOTO}",
        asked="Amazon EC2, DescribeInstanceTypeOfferings",
    ),
    "prices.csv": Head(
        title="What an hour of a Linux On-Demand instance costs: list price without tax, USD.",
        source="for us-east-1 on 2026-07-20 zz_generated.pricing_aws.go of aws/karpenter-provider-aws at 1d927085, "
        "Apache-2.0; for other regions on 2024-05-02 instances.json of fixinventorydata 0.2.6, Apache-2.0 (from "
        "ec2instances.info, MIT). Of the types that both have, AWS has changed the price of p4d, p4de and p5 alone in "
        "us-east-1: elsewhere theirs is estimated as the new price in us-east-1 times the ratio of 2024. A retired "
        "type has its last price.",
        asked="AWS Price List, GetProducts",
        notes=(
            "date: the day of the list. estimated: whether no list has the price. A type and region without a row: "
            "not known.",
        ),
    ),
    "images.csv": Head(
        title="Public parameters of AWS Systems Manager that name the images a fleet starts from.",
        source="release notes of the AWS Deep Learning AMIs and AWS Neuron documentation, autumn 2026: names only.",
        asked="AWS Systems Manager, GetParameters",
        notes=(
            "region: empty where nobody has asked yet. image_id: as the parameter had it on that day, empty if the "
            "region does not have the parameter.",
        ),
    ),
}
