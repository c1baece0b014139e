"""Asks AWS for what the tables hold, with the user's own credentials. Nothing is changed anywhere.

What must be allowed: ``ec2:DescribeRegions``, ``ec2:DescribeInstanceTypes``, ``ec2:DescribeInstanceTypeOfferings``,
``pricing:GetProducts`` and ``ssm:GetParameters``.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Protocol

from constructs_lib.catalog.prices import HOME
from constructs_lib.catalog.refresh.rebuild import Answers
from constructs_lib.catalog.refresh.records import Record
from constructs_lib.errors import FleetError
from constructs_lib.validation import complaint

WHERE = "catalog refresh"

_NOTHING = "nothing was written"
# What an answer of another form than the documented one brings about.
_OF_ANOTHER_FORM = (KeyError, TypeError, ValueError, AttributeError, IndexError)
_NOT_ALLOWED = frozenset({"UnauthorizedOperation", "AccessDenied", "AccessDeniedException"})
_NOT_THERE = frozenset({"AuthFailure", "OptInRequired", "UnrecognizedClientException", "InvalidClientTokenId"})
_TOO_MUCH = frozenset(
    {"RequestLimitExceeded", "Throttling", "ThrottlingException", "ThrottledException", "TooManyRequestsException"}
)
# DescribeInstanceTypes takes 200 values of a filter, GetParameters 10 names.
_TYPES_AT_ONCE = 200
_PARAMETERS_AT_ONCE = 10
_ATTEMPTS = 10
# The Price List answers in a few regions only, for all of them.
_PRICE_LIST = "us-east-1"
_LEAST_USD, _MOST_USD = 1e-9, 1e9
_LINUX_ON_DEMAND = {
    "operatingSystem": "Linux",
    "preInstalledSw": "NA",
    "tenancy": "Shared",
    "capacitystatus": "Used",
    "marketoption": "OnDemand",
}


class RefreshError(FleetError):
    """AWS did not answer, or the tables could not be written. The tables are as they were."""


class Session(Protocol):
    """What a ``boto3.Session`` has, as far as it is needed here."""

    @property
    def region_name(self) -> str | None:
        """The region that the user works in."""

    def client(self, service_name: str, *, region_name: str, config: Any = ...) -> Any:
        """A client of one service in one region."""


def ask(session: Session, *, regions: Sequence[str] | None, parameters: Iterable[str], asked_on: str) -> Answers:
    """Ask all questions.

    Args:
        session: with the credentials to use.
        regions: to ask for. Default: all that the account has enabled.
        parameters: of Systems Manager that name images.
        asked_on: today, ISO.

    Raises:
        RefreshError: a question was not answered, or the answer cannot be true.
    """
    clients = _Clients(session)
    asked = sorted(set(regions)) if regions is not None else _enabled_regions(clients, session.region_name or HOME)
    offerings = {region: _offerings(clients, region) for region in asked}
    return Answers(
        asked_on=asked_on,
        records=_records(clients, offerings, first=session.region_name),
        offerings=offerings,
        prices=_prices(clients, asked),
        images=_images(clients, asked, sorted(parameters)),
    )


class _Clients:
    """Clients that wait and ask again when AWS wants fewer calls."""

    def __init__(self, session: Session) -> None:
        from botocore.config import Config

        self._session = session
        self._config = Config(retries={"mode": "standard", "total_max_attempts": _ATTEMPTS})

    def of(self, service: str, region: str) -> Any:
        with _asked(service, region):
            return self._session.client(service, region_name=region, config=self._config)


def _enabled_regions(clients: _Clients, home: str) -> list[str]:
    with _asked("ec2:DescribeRegions", home):
        answer = clients.of("ec2", home).describe_regions()
    regions = sorted(each["RegionName"] for each in answer["Regions"])
    if not regions:
        raise _incomplete("ec2:DescribeRegions", home, "name at least one region")
    return regions


def _offerings(clients: _Clients, region: str) -> frozenset[str]:
    action = "ec2:DescribeInstanceTypeOfferings"
    with _asked(action, region):
        pages = (
            clients.of("ec2", region).get_paginator("describe_instance_type_offerings").paginate(LocationType="region")
        )
        offered = frozenset(each["InstanceType"] for page in pages for each in page["InstanceTypeOfferings"])
    if not offered:
        raise _incomplete(action, region, "name at least one instance type")
    return offered


def _records(clients: _Clients, offerings: Mapping[str, frozenset[str]], *, first: str | None) -> Mapping[str, Record]:
    """What each type is. A region describes only what it offers, so each is asked for what no other has described."""
    records: dict[str, Record] = {}
    for region in sorted(offerings, key=lambda region: (region != first, region)):
        missing = sorted(offerings[region] - set(records))
        whole = not records
        batches: list[dict[str, Any]] = [{}] if whole else []
        for start in range(0, 0 if whole else len(missing), _TYPES_AT_ONCE):
            values = missing[start : start + _TYPES_AT_ONCE]
            batches.append({"Filters": [{"Name": "instance-type", "Values": values}]})
        action = "ec2:DescribeInstanceTypes"
        with _asked(action, region):
            for batch in batches:
                for page in clients.of("ec2", region).get_paginator("describe_instance_types").paginate(**batch):
                    records.update({record["InstanceType"]: record for record in page["InstanceTypes"]})
        if not records:
            raise _incomplete(action, region, "describe at least one instance type")
    return records


def _prices(clients: _Clients, regions: Sequence[str]) -> Mapping[tuple[str, str], float]:
    """USD by type and region; an entry without a believable price of an hour counts as none."""
    prices: dict[tuple[str, str], float] = {}
    action = "pricing:GetProducts"
    for region in regions:
        wanted = {**_LINUX_ON_DEMAND, "regionCode": region}
        filters = [{"Type": "TERM_MATCH", "Field": field, "Value": value} for field, value in wanted.items()]
        with _asked(action, _PRICE_LIST):
            pages = clients.of("pricing", _PRICE_LIST).get_paginator("get_products")
            for page in pages.paginate(ServiceCode="AmazonEC2", Filters=filters):
                for product in page["PriceList"]:
                    prices.update(_price(json.loads(product), region))
    if not prices:
        raise _incomplete(action, _PRICE_LIST, "have the price of at least one instance type")
    return prices


def _price(product: Mapping[str, Any], region: str) -> Mapping[tuple[str, str], float]:
    """The price of an hour. A type that is sold in Capacity Blocks alone has a price of nothing, which is none."""
    name = product.get("product", {}).get("attributes", {}).get("instanceType")
    usd = [
        float(dimension["pricePerUnit"]["USD"])
        for term in product.get("terms", {}).get("OnDemand", {}).values()
        for dimension in term["priceDimensions"].values()
        if dimension["unit"] == "Hrs" and "USD" in dimension["pricePerUnit"]
    ]
    believable = name and len(usd) == 1 and _LEAST_USD <= usd[0] < _MOST_USD
    return {(name, region): usd[0]} if believable else {}


def _images(
    clients: _Clients, regions: Sequence[str], parameters: Sequence[str]
) -> Mapping[tuple[str, str], str | None]:
    images: dict[tuple[str, str], str | None] = {}
    for region in regions:
        for start in range(0, len(parameters), _PARAMETERS_AT_ONCE):
            names = parameters[start : start + _PARAMETERS_AT_ONCE]
            with _asked("ssm:GetParameters", region):
                answer = clients.of("ssm", region).get_parameters(Names=list(names))
            images.update({(name, region): None for name in names})
            images.update({(each["Name"], region): each["Value"] for each in answer["Parameters"]})
    return images


@contextmanager
def _asked(action: str, region: str) -> Iterator[None]:
    """Turn what goes wrong with a question into a sentence that says what to do."""
    from botocore.exceptions import BotoCoreError, ClientError

    try:
        yield
    except ClientError as error:
        code = error.response.get("Error", {}).get("Code", "")
        raise RefreshError(complaint(WHERE, *_refused(action, region, code, str(error)))) from error
    except BotoCoreError as error:
        rule, cure = f"reach AWS for {action} in {region}", "see to credentials, region and network"
        raise RefreshError(complaint(WHERE, "session", rule, str(error), f"{cure}; {_NOTHING}")) from error
    except FleetError:
        raise
    except _OF_ANOTHER_FORM as error:
        cure = f"see what AWS answers to it, or use a newer version of the library; {_NOTHING}"
        said = f"{type(error).__name__}: {error}"
        raise RefreshError(complaint(WHERE, f"answer to {action} in {region}", "be readable", said, cure)) from error


def _refused(action: str, region: str, code: str, said: str) -> tuple[str, str, str, str]:
    if code in _NOT_ALLOWED:
        return "session", f"be allowed to call {action} in {region}", code, f"grant that action; {_NOTHING}"
    if code in _TOO_MUCH:
        cure = f"run it again later, or name fewer regions; {_NOTHING}"
        return "session", f"get an answer to {action} in {region} within {_ATTEMPTS} attempts", code, cure
    if code in _NOT_THERE:
        cure = f"enable the region in the account, leave it out, or renew the credentials; {_NOTHING}"
        return "session", f"be valid for {action} in {region}", code, cure
    return "session", f"get an answer to {action} in {region}", said, f"see what AWS says; {_NOTHING}"


def _incomplete(action: str, region: str, rule: str) -> RefreshError:
    cure = f"an answer that is empty is not believed: run it again; {_NOTHING}"
    return RefreshError(complaint(WHERE, f"answer to {action} in {region}", rule, None, cure))
