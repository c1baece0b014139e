"""The refresh of the catalog's tables: through moto, and with answers of the kind that moto never gives."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import date
from pathlib import Path
from typing import Any

import boto3
import pytest
from botocore.exceptions import ClientError, EndpointConnectionError, NoCredentialsError
from botocore.stub import Stubber
from moto import mock_aws
from moto.ec2.models.instance_types import INSTANCE_TYPES

from constructs_lib.catalog import tables
from constructs_lib.catalog.refresh import RefreshError, Report, files, refresh
from constructs_lib.errors import ArgumentError

TODAY = date(2026, 12, 24)
WITHOUT = object()
Rows = list[dict[str, str]]


def product(name: str, usd: str, *, unit: str = "Hrs", currency: str = "USD") -> str:
    """One entry of the price list, as GetProducts writes it: a text."""
    dimension = {"unit": unit, "pricePerUnit": {currency: usd}}
    term = {"priceDimensions": {"SKU.JRTCKXETXF.6YS6EN2CT7": dimension}}
    return json.dumps(
        {
            "product": {"attributes": {"instanceType": name}},
            "terms": {"OnDemand": {"SKU.JRTCKXETXF": term}},
        }
    )


class Client:
    """A client of one service in one region: answers pages, or raises what it is told to."""

    def __init__(self, world: World, service: str, region: str) -> None:
        self._world, self._service, self._region = world, service, region

    def describe_regions(self) -> Any:
        self._asked("describe_regions")
        return {"Regions": [{"RegionName": name} for name in self._world.offered]}

    def get_parameters(self, *, Names: Sequence[str]) -> Any:
        self._asked("get_parameters")
        assert 1 <= len(Names) <= 10
        found = {name: value for name, value in self._world.images.items() if name in Names}
        return {
            "Parameters": [{"Name": name, "Value": value} for name, value in found.items()],
            "InvalidParameters": [name for name in Names if name not in found],
        }

    def get_paginator(self, operation: str) -> Pages:
        return Pages(lambda **asked: self._pages(operation, **asked))

    def _pages(self, operation: str, **asked: Any) -> Iterator[Any]:
        world = self._world
        self._asked(operation)
        if operation == "describe_instance_type_offerings":
            assert asked == {"LocationType": "region"}
            for names in in_pages(sorted(world.offered[self._region])):
                yield {"InstanceTypeOfferings": [{"InstanceType": name} for name in names]}
        elif operation == "describe_instance_types":
            wanted = set(world.offered[self._region])
            for each in asked.get("Filters", ()):
                assert each["Name"] == "instance-type"
                assert len(each["Values"]) <= 200
                wanted &= set(each["Values"])
            world.described.append((self._region, len(wanted)))
            for names in in_pages(sorted(wanted & set(world.records))):
                yield {"InstanceTypes": [world.records[name] for name in names]}
        else:
            assert operation == "get_products"
            assert asked["ServiceCode"] == "AmazonEC2"
            region = {each["Field"]: each["Value"] for each in asked["Filters"]}["regionCode"]
            for entries in in_pages(world.products.get(region, [])):
                yield {"PriceList": entries}

    def _asked(self, operation: str) -> None:
        for (wrong, region), error in self._world.wrong.items():
            if wrong == operation and region in (self._region, "anywhere"):
                raise error


class Pages:
    """A paginator, which only asks when somebody turns the page."""

    def __init__(self, paginate: Callable[..., Iterator[Any]]) -> None:
        self.paginate = paginate


def in_pages(entries: Sequence[Any]) -> Iterator[Sequence[Any]]:
    for start in range(0, len(entries), 3):
        yield entries[start : start + 3]


class World:
    """What a hand-written AWS knows, and what it will not say."""

    def __init__(self) -> None:
        names = [name for name in INSTANCE_TYPES if name.startswith(("g6.", "g6f.", "p5.", "trn2", "c8i.4", "m5.l"))]
        self.region_name: str | None = "eu-west-1"
        self.records: dict[str, Mapping[str, Any]] = {name: INSTANCE_TYPES[name] for name in names}
        self.offered = {
            "eu-west-1": {name for name in names if not name.startswith(("p5", "trn2"))},
            "us-east-2": set(names),
        }
        self.products = {
            "eu-west-1": [product("g6.xlarge", "0.91"), product("c8i.4xlarge", "0.80"), product("m5.large", "0.1")],
            "us-east-2": [product("g6.xlarge", "0.80"), product("trn2.48xlarge", "0.0000000000")],
        }
        self.images = {row["parameter"]: "ami-0123" for row in tables.read("images.csv")}
        self.wrong: dict[tuple[str, str], Exception] = {}
        self.described: list[tuple[str, int]] = []
        self.configs: list[Any] = []

    def client(self, service_name: str, *, region_name: str, config: Any = None) -> Client:
        self.configs.append(config)
        return Client(self, service_name, region_name)


def refused(code: str, operation: str = "Operation") -> ClientError:
    return ClientError({"Error": {"Code": code, "Message": f"AWS says {code}"}}, operation)


def rows(folder: Path, name: str) -> Rows:
    return tables.read_from(folder, name)


def row_of(folder: Path, name: str) -> dict[str, str]:
    (found,) = (row for row in rows(folder, "instance_types.csv") if row["type"] == name)
    return found


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


@pytest.fixture
def world() -> World:
    return World()


def test_the_tables_hold_what_aws_says_and_what_it_does_not_speak_of(world: World, tmp_path: Path) -> None:
    report = refresh(world, tmp_path, today=TODAY)
    assert set(contents(tmp_path)) == set(tables.REFRESHED)
    assert report.rows == {name: len(rows(tmp_path, name)) for name in tables.REFRESHED}
    prices = {(row["type"], row["region"]): row for row in rows(tmp_path, "prices.csv")}
    assert prices["g6.xlarge", "eu-west-1"] == {
        "type": "g6.xlarge",
        "region": "eu-west-1",
        "usd_per_hour": "0.91",
        "date": "2026-12-24",
        "estimated": "no",
    }
    assert prices["g6.xlarge", "us-east-1"]["date"] == "2026-07-20"
    assert ("m5.large", "eu-west-1") not in prices
    assert ("trn2.48xlarge", "us-east-2") not in prices
    asked = {row["region"]: row["asked_on"] for row in rows(tmp_path, "regions.csv")}
    assert (asked["eu-west-1"], asked["us-east-2"], asked["us-east-1"]) == ("2026-12-24", "2026-12-24", "2026-10-27")


def test_no_row_is_lost(world: World, tmp_path: Path) -> None:
    refresh(world, tmp_path, today=TODAY)
    for name in ("instance_types.csv", "cpu_types.csv", "cpu_families.csv", "regions.csv"):
        first = next(iter(tables.REFRESHED[name]))
        assert [row[first] for row in rows(tmp_path, name)] == [row[first] for row in rows(tables.SHIPPED, name)]
    before = {(row["type"], row["region"]) for row in rows(tables.SHIPPED, "prices.csv")}
    assert before <= {(row["type"], row["region"]) for row in rows(tmp_path, "prices.csv")}
    assert row_of(tmp_path, "p3dn.24xlarge") == row_of(tables.SHIPPED, "p3dn.24xlarge")


def test_no_correction_is_lost(world: World, tmp_path: Path) -> None:
    refresh(world, tmp_path, today=TODAY)
    assert row_of(tmp_path, "trn2.48xlarge")["memory_mib"] == "98304"
    assert row_of(tmp_path, "trn2u.48xlarge")["count"] == "16"
    assert row_of(tmp_path, "g6f.large")["count"] == "1"
    assert row_of(tmp_path, "p6e-gb200.36xlarge")["network_cards"] == "1 16*1e"
    assert row_of(tmp_path, "f1.2xlarge")["retired_on"] == "2025-12-20"


def test_a_correction_that_ec2_has_overtaken_is_kept_and_reported(world: World, tmp_path: Path) -> None:
    changed = json.loads(json.dumps(INSTANCE_TYPES["trn2.48xlarge"]))
    changed["NeuronInfo"]["NeuronDevices"][0]["MemoryInfo"]["SizeInMiB"] = 131_072
    world.records["trn2.48xlarge"] = changed
    report = refresh(world, tmp_path, today=TODAY)
    assert row_of(tmp_path, "trn2.48xlarge")["memory_mib"] == "98304"
    (remark,) = (each for each in report.remarks if each.startswith("trn2.48xlarge"))
    assert "EC2 now says '131072' for memory_mib, no longer '524288'; the tables keep '98304'" in remark


def test_a_correction_that_ec2_has_taken_over_is_not_worth_a_word(world: World, tmp_path: Path) -> None:
    changed = json.loads(json.dumps(INSTANCE_TYPES["trn2.48xlarge"]))
    changed["NeuronInfo"]["NeuronDevices"][0]["MemoryInfo"]["SizeInMiB"] = 98_304
    world.records["trn2.48xlarge"] = changed
    assert not [each for each in refresh(world, tmp_path, today=TODAY).remarks if each.startswith("trn2.48xlarge")]


def test_case_64_a_family_of_next_month_gets_its_row(world: World, tmp_path: Path) -> None:
    future = json.loads(json.dumps(INSTANCE_TYPES["g6.xlarge"])) | {"InstanceType": "g9.xlarge"}
    future["GpuInfo"]["Gpus"][0]["Name"] = "L9"
    world.records["g9.xlarge"] = future
    world.offered["us-east-2"].add("g9.xlarge")
    world.products["us-east-2"].append(product("g9.xlarge", "1.25"))
    report = refresh(world, tmp_path, today=TODAY)
    assert report.new_types == ("g9.xlarge",)
    assert (row_of(tmp_path, "g9.xlarge")["model"], row_of(tmp_path, "g9.xlarge")["driver"]) == ("L9", "open")
    assert {"family": "g9", "sizes": "xlarge", "regions": "us-east-2"} in rows(tmp_path, "offerings.csv")
    assert "g9" not in {row["family"] for row in rows(tmp_path, "cpu_families.csv")}


def test_an_accelerator_of_an_unknown_maker_is_left_out_and_reported(world: World, tmp_path: Path) -> None:
    strange = json.loads(json.dumps(INSTANCE_TYPES["g6.xlarge"])) | {"InstanceType": "x9.xlarge"}
    strange["GpuInfo"]["Gpus"][0]["Manufacturer"] = "Tenstorrent"
    world.records["x9.xlarge"] = strange
    world.offered["eu-west-1"].add("x9.xlarge")
    report = refresh(world, tmp_path, today=TODAY)
    assert "x9.xlarge: left out, no kind is known for accelerators of Tenstorrent" in report.remarks
    assert "x9" not in {row["family"] for row in rows(tmp_path, "cpu_families.csv")}


def test_a_record_without_its_accelerator_changes_nothing_and_is_reported(world: World, tmp_path: Path) -> None:
    world.records["g6.xlarge"] = {k: v for k, v in INSTANCE_TYPES["g6.xlarge"].items() if k != "GpuInfo"}
    world.records["g6.2xlarge"] = {k: v for k, v in INSTANCE_TYPES["g6.2xlarge"].items() if k != "VCpuInfo"}
    report = refresh(world, tmp_path, today=TODAY)
    assert row_of(tmp_path, "g6.xlarge") == row_of(tables.SHIPPED, "g6.xlarge")
    assert row_of(tmp_path, "g6.2xlarge") == row_of(tables.SHIPPED, "g6.2xlarge")
    assert "g6.xlarge: EC2 describes no accelerator, nor does a correction; nothing was changed" in report.remarks
    assert "g6.2xlarge: what EC2 says of it lacks 'VCpuInfo'; nothing was changed" in report.remarks


def test_a_type_that_is_offered_and_not_described_keeps_its_row(world: World, tmp_path: Path) -> None:
    del world.records["g6.48xlarge"]
    report = refresh(world, tmp_path, today=TODAY)
    assert row_of(tmp_path, "g6.48xlarge") == row_of(tables.SHIPPED, "g6.48xlarge")
    assert "g6.48xlarge: EC2 does not describe it; its row was kept" in report.remarks


def test_each_region_is_asked_for_what_no_other_has_described(world: World, tmp_path: Path) -> None:
    refresh(world, tmp_path, today=TODAY)
    others = len(world.offered["us-east-2"]) - len(world.offered["eu-west-1"])
    assert world.described == [("eu-west-1", len(world.offered["eu-west-1"])), ("us-east-2", others)]


def test_regions_that_were_not_asked_keep_what_they_offered(world: World, tmp_path: Path) -> None:
    refresh(world, tmp_path, regions=["eu-west-1"], today=TODAY)
    offered = {
        f"{row['family']}.{size}": row["regions"].split()
        for row in rows(tmp_path, "offerings.csv")
        for size in row["sizes"].split()
    }
    assert "eu-west-1" in offered["g6.xlarge"]
    assert "us-east-1" in offered["g6.xlarge"]
    # eu-west-1 offered G5 before, and does not any more.
    assert "eu-west-1" not in offered["g5.xlarge"]
    assert "us-west-2" in offered["g5.xlarge"]


def test_a_type_that_no_region_offers_any_longer_is_reported(world: World, tmp_path: Path) -> None:
    refresh(world, tmp_path, today=TODAY)
    (tmp_path / "offerings.csv").write_text("family,sizes,regions\nvt1,3xlarge,eu-west-1\n")
    report = refresh(world, tmp_path, today=TODAY)
    assert "vt1.3xlarge: no region offers it any longer" in report.remarks


def test_a_second_refresh_starts_from_the_first(world: World, tmp_path: Path) -> None:
    refresh(world, tmp_path, today=TODAY)
    world.products["eu-west-1"] = [product("c8i.4xlarge", "0.75")]
    report = refresh(world, tmp_path, today=date(2027, 1, 2))
    prices = {(row["type"], row["region"]): row for row in rows(tmp_path, "prices.csv")}
    assert prices["g6.xlarge", "eu-west-1"]["date"] == "2026-12-24"
    assert prices["c8i.4xlarge", "eu-west-1"]["date"] == "2027-01-02"
    assert report.changed_prices == 1


def test_a_folder_of_an_older_library_is_brought_up_to_date(world: World, tmp_path: Path) -> None:
    refresh(world, tmp_path / "a", today=TODAY)
    refresh(world, tmp_path / "b", today=TODAY)
    old = [dict(list(row.items())[:-3]) for row in rows(tmp_path / "b", "instance_types.csv")]
    lines = [",".join(old[0]), *(",".join(row.values()) for row in old)]
    (tmp_path / "b" / "instance_types.csv").write_text("\n".join(lines))
    refresh(world, tmp_path / "b", today=TODAY)
    assert row_of(tmp_path / "b", "f1.2xlarge") == row_of(tmp_path / "a", "f1.2xlarge")
    assert row_of(tmp_path / "b", "g6.xlarge") == row_of(tmp_path / "a", "g6.xlarge")


def test_the_same_answers_give_the_same_files(world: World, tmp_path: Path) -> None:
    refresh(world, tmp_path / "a", today=TODAY)
    world.offered = {name: set(types) for name, types in reversed(world.offered.items())}
    refresh(world, tmp_path / "b", today=TODAY)
    assert contents(tmp_path / "a") == contents(tmp_path / "b")


def test_the_head_of_each_table_says_who_was_asked_and_when(world: World, tmp_path: Path) -> None:
    refresh(world, tmp_path, today=TODAY)
    for name in tables.REFRESHED:
        head = " ".join(line[2:].strip() for line in (tmp_path / name).read_text().splitlines() if line.startswith("#"))
        assert "asked on 2026-12-24 with the credentials of an AWS account, for eu-west-1, us-east-2." in head
        assert "What AWS said nothing about is kept from before: " in head


def test_image_parameters_that_a_region_lacks_are_reported(world: World, tmp_path: Path) -> None:
    gone = "/aws/service/neuron/dlami/base/ubuntu-24.04/latest/image_id"
    del world.images[gone]
    report = refresh(world, tmp_path, today=TODAY)
    found = {(row["parameter"], row["region"]): row for row in rows(tmp_path, "images.csv")}
    assert found[gone, "us-east-2"]["image_id"] == ""
    assert {row["image_id"] for key, row in found.items() if key[0] != gone} == {"ami-0123"}
    assert f"{gone}: Systems Manager has no such public parameter in eu-west-1" in report.remarks


def test_a_price_in_another_currency_or_unit_is_no_price(world: World, tmp_path: Path) -> None:
    world.products["eu-west-1"] += [
        product("g6.2xlarge", "9", currency="CNY"),
        product("g6.4xlarge", "9", unit="Quantity"),
        json.dumps({"product": {"attributes": {}}, "terms": {}}),
    ]
    refresh(world, tmp_path, today=TODAY)
    prices = {(row["type"], row["region"]) for row in rows(tmp_path, "prices.csv")}
    assert not {("g6.2xlarge", "eu-west-1"), ("g6.4xlarge", "eu-west-1")} & prices


OPERATIONS = [
    ("describe_regions", "ec2:DescribeRegions"),
    ("describe_instance_type_offerings", "ec2:DescribeInstanceTypeOfferings"),
    ("describe_instance_types", "ec2:DescribeInstanceTypes"),
    ("get_products", "pricing:GetProducts"),
    ("get_parameters", "ssm:GetParameters"),
]


@pytest.mark.parametrize(("operation", "action"), OPERATIONS)
@pytest.mark.parametrize(
    ("error", "words"),
    [
        (refused("UnauthorizedOperation"), "must be allowed to call {action} in "),
        (refused("AccessDeniedException"), "must be allowed to call {action} in "),
        (refused("RequestLimitExceeded"), "must get an answer to {action} in "),
        (refused("ThrottlingException"), "within 10 attempts"),
        (refused("AuthFailure"), "must be valid for {action} in "),
        (refused("InternalError"), "AWS says InternalError"),
        (NoCredentialsError(), "must reach AWS for {action} in "),
        (EndpointConnectionError(endpoint_url="https://ec2"), "must reach AWS for {action} in "),
    ],
    ids=lambda value: str(value)[:40] if isinstance(value, Exception) else "",
)
def test_what_aws_refuses_is_said_and_nothing_is_written(
    world: World, tmp_path: Path, operation: str, action: str, error: Exception, words: str
) -> None:
    refresh(world, tmp_path, today=TODAY)
    before = contents(tmp_path)
    world.wrong[operation, "anywhere"] = error
    world.products["eu-west-1"] = [product("g6.xlarge", "7")]
    with pytest.raises(RefreshError) as caught:
        refresh(world, tmp_path, today=date(2027, 1, 2))
    message = str(caught.value)
    assert message.startswith("catalog refresh: session must ")
    assert words.format(action=action) in message
    assert action in message
    assert "nothing was written" in message
    assert contents(tmp_path) == before


def test_a_refusal_in_the_last_region_writes_nothing_either(world: World, tmp_path: Path) -> None:
    world.wrong["describe_instance_types", "us-east-2"] = refused("RequestLimitExceeded")
    with pytest.raises(RefreshError, match="in us-east-2"):
        refresh(world, tmp_path / "new", today=TODAY)
    assert not (tmp_path / "new").exists()


@pytest.mark.parametrize(
    ("empty", "words"),
    [
        (lambda world: world.offered.clear(), "ec2:DescribeRegions in eu-west-1 must name at least one region"),
        (lambda world: world.offered["us-east-2"].clear(), "ec2:DescribeInstanceTypeOfferings in us-east-2"),
        (lambda world: world.records.clear(), "ec2:DescribeInstanceTypes in eu-west-1"),
        (lambda world: world.products.clear(), "pricing:GetProducts in us-east-1"),
    ],
)
def test_an_answer_that_is_empty_is_not_believed(
    world: World, tmp_path: Path, empty: Callable[[World], None], words: str
) -> None:
    empty(world)
    with pytest.raises(RefreshError, match=f"{words}.*an answer that is empty is not believed"):
        refresh(world, tmp_path, today=TODAY)
    assert contents(tmp_path) == {}


def test_clients_wait_when_aws_wants_fewer_calls(world: World, tmp_path: Path) -> None:
    refresh(world, tmp_path, today=TODAY)
    assert {config.retries["mode"] for config in world.configs} == {"standard"}
    assert {config.retries["total_max_attempts"] for config in world.configs} == {10}


@pytest.mark.parametrize("name", ["prices.csv", "regions.csv"])
@pytest.mark.parametrize("step", ["open", "replace"])
def test_a_table_that_cannot_be_written_leaves_all_as_they_were(
    world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, step: str
) -> None:
    refresh(world, tmp_path, today=TODAY)
    before = contents(tmp_path)
    original = getattr(Path, step)

    def full(path: Path, *args: Any, **more: Any) -> Any:
        if path.name == f"{name}.new":
            raise OSError(28, "No space left on device")
        return original(path, *args, **more)

    monkeypatch.setattr(Path, step, full)
    world.products["eu-west-1"] = [product("g6.xlarge", "7")]
    with pytest.raises(RefreshError, match=r"folder must be writable, got .*No space left on device.* as they were"):
        refresh(world, tmp_path, today=date(2027, 1, 2))
    monkeypatch.undo()
    assert contents(tmp_path) == before


def test_the_first_write_that_fails_leaves_an_empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    original = Path.replace

    def broken(path: Path, target: Path) -> Path:
        if path.name == "b.csv.new":
            raise PermissionError(13, "Permission denied")
        return original(path, target)

    monkeypatch.setattr(Path, "replace", broken)
    with pytest.raises(PermissionError):
        files.write_all(tmp_path, {"a.csv": "1", "b.csv": "2"})
    assert contents(tmp_path) == {}


def test_a_folder_that_is_a_file_is_refused(world: World, tmp_path: Path) -> None:
    (tmp_path / "taken").write_text("mine")
    with pytest.raises(RefreshError, match="folder must be writable"):
        refresh(world, tmp_path / "taken", today=TODAY)
    assert (tmp_path / "taken").read_text() == "mine"


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"folder": 5}, "folder must be of type str or Path"),
        ({"folder": None}, "folder must be of type str or Path"),
        ({"regions": []}, "regions must be a list of str that is not empty"),
        ({"regions": "eu-west-1"}, "regions must be a list of str that is not empty"),
        ({"regions": [5]}, "regions must be a list of str that is not empty"),
    ],
)
def test_arguments_are_checked_before_anybody_is_asked(
    world: World, tmp_path: Path, arguments: dict[str, Any], words: str
) -> None:
    with pytest.raises(ArgumentError, match=f"catalog refresh: {words}"):
        refresh(world, **{"folder": tmp_path, "today": TODAY, **arguments})
    assert world.configs == []


class MotoWithPrices:
    """moto answers for EC2 and Systems Manager. It has no price list: a stub checks what is asked of that one."""

    def __init__(self, pages: Sequence[Sequence[str]]) -> None:
        self._session = boto3.Session("testing", "testing", region_name="us-east-2")
        self.region_name = "us-east-2"
        self._pages = pages

    def client(self, service_name: str, *, region_name: str, config: Any = None) -> Any:
        made = self._session.client(service_name, region_name=region_name, config=config)
        if service_name == "pricing":
            stub = Stubber(made)
            filters = {
                "operatingSystem": "Linux",
                "preInstalledSw": "NA",
                "tenancy": "Shared",
                "capacitystatus": "Used",
                "marketoption": "OnDemand",
                "regionCode": "us-east-2",
            }
            asked: dict[str, Any] = {
                "ServiceCode": "AmazonEC2",
                "Filters": [{"Type": "TERM_MATCH", "Field": key, "Value": value} for key, value in filters.items()],
            }
            for number, page in enumerate(self._pages):
                more = {"NextToken": str(number + 1)} if number + 1 < len(self._pages) else {}
                token = {"NextToken": str(number)} if number else {}
                stub.add_response("get_products", {"PriceList": list(page), **more}, {**asked, **token})
            stub.activate()
        return made


def test_through_moto_every_page_counts(tmp_path: Path) -> None:
    pages = [[product("g6.xlarge", "0.81")], [], [product("g6e.xlarge", "1.9"), product("c8i.4xlarge", "0.7")]]
    with mock_aws():
        report = refresh(MotoWithPrices(pages), tmp_path, regions=["us-east-2"], today=TODAY)
    assert rows(tmp_path, "instance_types.csv") == rows(tables.SHIPPED, "instance_types.csv")
    assert rows(tmp_path, "cpu_types.csv") == rows(tables.SHIPPED, "cpu_types.csv")
    assert rows(tmp_path, "cpu_families.csv") == rows(tables.SHIPPED, "cpu_families.csv")
    assert rows(tmp_path, "offerings.csv") == rows(tables.SHIPPED, "offerings.csv")
    prices = {(row["type"], row["region"]): row["usd_per_hour"] for row in rows(tmp_path, "prices.csv")}
    assert prices["g6.xlarge", "us-east-2"] == "0.81"
    assert prices["g6e.xlarge", "us-east-2"] == "1.9"
    assert prices["c8i.4xlarge", "us-east-2"] == "0.7"
    # moto has no Deep Learning images.
    assert isinstance(report, Report)
    assert {row["asked_on"] for row in rows(tmp_path, "images.csv")} == {"2026-12-24"}
