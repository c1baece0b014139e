"""Make the catalog's tables of instance types and offerings anew from the records that moto carries.

moto has them from EC2 itself, so no AWS account is needed. Prices and image parameters stay as they are.
``accel-fleet catalog refresh`` asks AWS instead.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from constructs_lib.catalog import tables
from constructs_lib.catalog.refresh import Answers, make_tables, shipped_texts
from constructs_lib.catalog.refresh.files import write_all

ASKED_ON = "2026-10-27"
"""The day of the wheel of moto 5.2.5."""


def main() -> None:
    """Write the tables and print what needs a look."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--output", type=Path, default=tables.SHIPPED, help="default: the tables of this checkout")
    folder = parser.parse_args().output
    before = {name: tables.read_from(tables.SHIPPED, name) for name in tables.REFRESHED}
    made = make_tables(before, answers_of_moto())
    write_all(folder, shipped_texts(made.tables))
    for remark in made.remarks:
        print(remark)


def answers_of_moto() -> Answers:
    """What EC2 would answer, as moto remembers it."""
    from moto.ec2.models.instance_types import INSTANCE_TYPE_OFFERINGS, INSTANCE_TYPES

    return Answers(
        asked_on=ASKED_ON,
        records=INSTANCE_TYPES,
        offerings={
            region: frozenset(each["InstanceType"] for each in offered)
            for region, offered in INSTANCE_TYPE_OFFERINGS["region"].items()
        },
    )


if __name__ == "__main__":
    main()
