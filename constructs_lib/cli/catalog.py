"""``accel-fleet catalog``: what is known of instance types."""

from __future__ import annotations

import argparse
from typing import Any

from constructs_lib.cli.arguments import Commands, Parser, add_command, add_json, add_tables, commands_of, take_tables
from constructs_lib.cli.output import amount, document, gib, named, paragraph, point, table
from constructs_lib.cli.spelling import NEWER_TABLES, Spelling, options_of
from constructs_lib.cli.statuses import FINE, FOUND
from constructs_lib.plain_text import several

_FIRST_COLUMN = 20
_MOST_PRICES = 6
# For 80 columns; catalog show has the whole name.
_LONGEST_DEVICES = 24


def add_to(commands: Commands[Parser]) -> None:
    """Add the command."""
    of_catalog = commands.add_parser("catalog", help="look up instance types", description="Look up instance types.")
    under = commands_of(of_catalog, "list|show|refresh")
    shown = add_command(under, "list", _list, "list the accelerated types", spelling=_spelling("list"))
    shown.add_argument("--kind", help="of accelerator: nvidia, neuron, gaudi, qualcomm, fpga, media or amd")
    shown.add_argument("--family", help="for example g6")
    shown.add_argument("--region", help="that offers them, and whose prices count; default: prices of us-east-1")
    shown.add_argument("--status", help="current, previous or retired; default: all but retired ones")
    one = add_command(under, "show", _show, "show all that is known of one type", spelling=_spelling("show"))
    one.add_argument("type", metavar="TYPE", help="for example g6.xlarge")
    for each in (shown, one):
        add_tables(each)
        add_json(each)
    asked = add_command(
        under,
        "refresh",
        _refresh,
        "ask EC2, the Price List and Systems Manager anew, and write the tables",
        spelling=_spelling("refresh", folder="--output", regions="--region"),
    )
    asked.add_argument("--output", metavar="FOLDER", required=True, help="that gets the tables; made if not there")
    asked.add_argument(
        "--region", action="append", help="to ask for; may be given again; default: all that the account has enabled"
    )
    asked.add_argument("--profile", help="of the credentials; default: as the AWS environment has it")
    add_json(asked)


def _spelling(command: str, **options: str) -> Spelling:
    return Spelling(
        command=f"catalog {command}",
        options={
            **options_of("kind", "family", "region", "status"),
            "folder": "--tables",
            "instance_type": "TYPE",
            "session": "the AWS environment or --profile",
            **options,
        },
        calls={"AcceleratedType": NEWER_TABLES},
    )


def _list(chosen: argparse.Namespace) -> int:
    take_tables(chosen)
    from constructs_lib.catalog import known_types, listing
    from constructs_lib.validation import one_of

    if chosen.family is not None:
        families = {each.family for each in known_types().values()}
        one_of("catalog", "family", chosen.family, families, cure="accel-fleet catalog list shows what there is")
    found = [
        each
        for each in listing(kind=chosen.kind, region=chosen.region, status=chosen.status)
        if chosen.family is None or each["type"].partition(".")[0] == chosen.family
    ]
    if chosen.json:
        document("catalog-list/1", {"types": found})
    elif found:
        table(
            ("type", "accelerators", "GiB each", "vCPU", "status", "USD/h"),
            [_line(each) for each in found],
            right="GiB each|vCPU|USD/h",
        )
        print()
        told = several(len(found), "type")
        paragraph(f"{told}. Prices On-Demand, Linux, {found[0]['region']}; ~ marks estimated ones.")
    else:
        print("No type is like that.")
    return FINE if found else FOUND


def _line(facts: dict[str, Any]) -> tuple[str, ...]:
    price = amount(facts["usd_per_hour"], digits=4)
    return (
        facts["type"],
        devices(facts["accelerators"], facts["fraction"], facts["model"])[:_LONGEST_DEVICES],
        gib(facts["accelerator_memory_mib"]),
        amount(facts["vcpus"]),
        facts["status"],
        f"~{price}" if facts["price_estimated"] else price,
    )


def devices(count: int, fraction: float | None, model: str | None) -> str:
    """Accelerators in a few letters: ``8 x H100``, ``1/8 L4``."""
    if not count:
        return "none"
    return f"{count} x {model}" if fraction is None else f"1/{round(1 / fraction)} {model}"


def _show(chosen: argparse.Namespace) -> int:
    take_tables(chosen)
    from constructs_lib.catalog import describe

    found = describe(chosen.type)
    if chosen.json:
        document("catalog-show/1", found)
        return FINE
    print(found["type"])
    for name, text in _described(found):
        named(f"  {name}", text, width=_FIRST_COLUMN)
    return FINE


def _described(facts: dict[str, Any]) -> list[tuple[str, str]]:
    lines: list[tuple[str, str]] = []
    cpu = facts["cpu"]
    if "accelerators" in facts:
        lines += _accelerators(facts["accelerators"])
    processor = f", {cpu['processor']}" if cpu.get("processor") else ""
    lines.append(("CPU", f"{amount(cpu['vcpus'])} vCPU, {cpu['architecture']}{processor}"))
    lines.append(("memory", f"{gib(cpu['memory_mib'])} GiB"))
    if cpu.get("amx") is not None:
        lines.append(("AMX", _yes(cpu["amx"])))
    if "life_cycle" in facts:
        lines += _equipment(facts)
    regions = facts["regions"]
    lines.append(("regions", "not known" if regions is None else ", ".join(regions) or "none"))
    lines += _prices(facts)
    return lines


def _accelerators(facts: dict[str, Any]) -> list[tuple[str, str]]:
    video = ", video encoder" if facts["video_encoder"] else ""
    lines = [
        ("accelerators", devices(facts["count"], facts["fraction"], facts["model"]) + video),
        ("each", f"{gib(facts['memory_mib'])} GiB"),
    ]
    whole = facts["whole"] or {}
    for key, name, unit in (
        ("memory_bandwidth_gb_s", "bandwidth", "GB/s"),
        ("power_limit_w", "power limit", "W"),
        ("idle_w", "idle", "W"),
    ):
        figure = whole.get(key)
        if figure is not None:
            of_whole = ", of a whole one" if facts["fraction"] is not None else ""
            lines.append((name, f"{amount(figure['value'], digits=4)} {unit}{of_whole} ({figure['source']})"))
    if facts["driver"] is not None:
        lines.append(("driver", facts["driver"]))
    return lines


def _equipment(facts: dict[str, Any]) -> list[tuple[str, str]]:
    life, network, bought = facts["life_cycle"], facts["network"], facts["bought"]
    status = life["status"]
    if life["retired_on"] is not None:
        status += f" on {life['retired_on']}"
    if life["successor"] is not None:
        status += f"; follow-up: {life['successor']}"
    ways = {"on_demand": "On-Demand", "spot": "Spot", "capacity_block": "Capacity Blocks"}
    cards = network["cards"]
    return [
        ("status", status),
        ("instance store", "not known" if facts["instance_store_gb"] is None else f"{facts['instance_store_gb']} GB"),
        ("EFA interfaces", amount(network["efa_interfaces"])),
        ("network cards", "not known" if cards is None else str(len(cards))),
        ("bought", ", ".join(text for key, text in ways.items() if bought[key]) or "not known"),
        ("hibernation", _yes(facts["hibernation"])),
        ("placement", "not known" if facts["placement"] is None else ", ".join(facts["placement"]) or "none"),
    ]


def _prices(facts: dict[str, Any]) -> list[tuple[str, str]]:
    prices = sorted(facts["prices"], key=lambda each: (each["region"] != "us-east-1", each["usd_per_hour"]))
    savings = {each["region"]: each for each in facts["spot_savings"]}
    lines = []
    for each in prices[:_MOST_PRICES]:
        text = f"{amount(each['usd_per_hour'], digits=4)} USD/h ({each['date']}"
        text += ", estimated)" if each["estimated"] else ")"
        saved = savings.get(each["region"])
        if saved is not None:
            text += f"; Spot saved {saved['share']:.0%}, interrupted {saved['interruption']} ({saved['date']})"
        lines.append((each["region"], text))
    if len(prices) > _MOST_PRICES:
        lines.append(("more prices", f"of {several(len(prices) - _MOST_PRICES, 'region')}: --json"))
    return lines or [("price", "not known")]


def _yes(value: bool | None) -> str:
    return {True: "yes", False: "no", None: "not known"}[value]


def _refresh(chosen: argparse.Namespace) -> int:
    from constructs_lib.catalog.refresh import refresh
    from constructs_lib.cli.progress import progress
    from constructs_lib.cli.session import session_for, tell_calls

    session = session_for(chosen.profile, chosen.region[0] if chosen.region else None)
    with progress("Asking AWS") as say:
        tell_calls(session, say)
        report = refresh(session, chosen.output, regions=chosen.region)
    if chosen.json:
        content = {
            "folder": str(report.folder),
            "rows": dict(report.rows),
            "new_types": list(report.new_types),
            "changed_prices": report.changed_prices,
            "remarks": list(report.remarks),
        }
        document("catalog-refresh/1", content)
        return FINE
    paragraph(
        f"The tables are in {report.folder}: {', '.join(f'{rows} {name}' for name, rows in report.rows.items())}."
    )
    paragraph(f"New types: {', '.join(report.new_types) or 'none'}. Changed prices: {report.changed_prices}.")
    for remark in report.remarks:
        point(remark)
    paragraph(
        f"An app takes them with constructs_lib.catalog.use_tables({str(report.folder)!r}), this command with --tables."
    )
    return FINE
