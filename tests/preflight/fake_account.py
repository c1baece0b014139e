"""An account that answers preflight's calls: parameters are checked against the service models, calls are recorded."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timezone
from functools import cache
from typing import Any

import botocore.session
import pytest
from botocore import xform_name
from botocore.exceptions import ClientError
from botocore.validate import ParamValidator

NOW = datetime(2026, 11, 30, 12, 0, tzinfo=timezone.utc)
REGION = "us-east-1"


def refusal(code: str, message: str = "no") -> ClientError:
    """What a client raises for AWS's answer."""
    return ClientError({"Error": {"Code": code, "Message": message}}, "Operation")


@cache
def _operations(service: str) -> Mapping[str, Any]:
    model = botocore.session.get_session().get_service_model(service)
    return {xform_name(name): model.operation_model(name) for name in model.operation_names}


def machine(name: str, vcpus: int, **facts: Any) -> dict[str, Any]:
    """An instance type as EC2 describes it."""
    neuron = name.startswith(("inf", "trn"))
    accelerators: dict[str, Any] = {"NeuronInfo": {}} if neuron else {"GpuInfo": {"Gpus": [{"Manufacturer": "NVIDIA"}]}}
    return {
        "InstanceType": name,
        "VCpuInfo": {"DefaultVCpus": vcpus},
        "ProcessorInfo": {"SupportedArchitectures": ["x86_64"]},
        "SupportedUsageClasses": ["on-demand", "spot"],
        "SupportedBootModes": ["legacy-bios", "uefi"],
        "NetworkInfo": {"EfaSupported": False},
        "HibernationSupported": False,
        **accelerators,
        **facts,
    }


def quota(name: str, value: float, code: str = "L-00000000") -> dict[str, Any]:
    """A quota as Service Quotas lists it."""
    return {"ServiceCode": "ec2", "QuotaName": name, "QuotaCode": code, "Value": value}


def subnet(id: str, zone: str = "us-east-1a", **facts: Any) -> dict[str, Any]:
    """A subnet as EC2 describes it."""
    return {
        "SubnetId": id,
        "VpcId": "vpc-1",
        "AvailabilityZone": zone,
        "AvailableIpAddressCount": 250,
        "MapPublicIpOnLaunch": False,
        **facts,
    }


@dataclass
class FakeAccount:
    """A session and the account behind it; the default one runs the default group of :mod:`tests.preflight.templates`.

    ``refused`` maps methods to what they raise; ``page`` is how many items a page has at most.
    """

    region_name: str | None = REGION
    machines: list[dict[str, Any]] = field(
        default_factory=lambda: [
            machine("g6.xlarge", 4),
            machine("g6.12xlarge", 48),
            machine("g5.xlarge", 4),
            machine("p4d.24xlarge", 96),
            machine("p5.48xlarge", 192),
            machine("trn1.2xlarge", 8),
            machine("m7i.large", 2),
        ]
    )
    zones: dict[str, tuple[str, ...]] = field(default_factory=dict)
    """Zones of a type; those that are not named here are in all of them."""
    all_zones: tuple[str, ...] = ("us-east-1a", "us-east-1b", "us-east-1c")
    quotas: list[dict[str, Any]] = field(
        default_factory=lambda: [
            quota("Running Dedicated g6 Hosts", 2, "L-0000DEAD"),
            quota("Running On-Demand G and VT instances", 64, "L-DB2E81BA"),
            quota("Running On-Demand P instances", 192, "L-417A185B"),
            quota("Running On-Demand Standard (A, C, D, H, I, M, R, T, Z) instances", 32, "L-1216C47A"),
            quota("All G and VT Spot Instance Requests", 64, "L-3819A6DF"),
            quota("All P4, P3 and P2 Spot Instance Requests", 96, "L-7212CCBC"),
            quota("All P5 Spot Instance Requests", 0, "L-C4BD4855"),
        ]
    )
    default_quotas: list[dict[str, Any]] = field(
        default_factory=lambda: [quota("Running On-Demand Trn instances", 0, "L-2C3B7624")]
    )
    instances: list[dict[str, Any]] = field(default_factory=list)
    reservations: list[dict[str, Any]] = field(default_factory=list)
    group_members: list[str] = field(default_factory=list)
    subnets: list[dict[str, Any]] = field(
        default_factory=lambda: [subnet("subnet-a"), subnet("subnet-b", "us-east-1b")]
    )
    tables: list[dict[str, Any]] = field(
        default_factory=lambda: [
            {
                "RouteTableId": "rtb-main",
                "VpcId": "vpc-1",
                "Associations": [{"Main": True}],
                "Routes": [
                    {"DestinationCidrBlock": "10.0.0.0/16", "GatewayId": "local", "State": "active"},
                    {"DestinationCidrBlock": "0.0.0.0/0", "NatGatewayId": "nat-1", "State": "active"},
                ],
            }
        ]
    )
    endpoints: list[dict[str, Any]] = field(default_factory=list)
    parameters: dict[str, str] = field(default_factory=lambda: {"/images/gpu": "ami-1"})
    images: list[dict[str, Any]] = field(
        default_factory=lambda: [
            {
                "ImageId": "ami-1",
                "Name": "Deep Learning Base OSS Nvidia Driver GPU AMI (Amazon Linux 2023)",
                "State": "available",
                "Architecture": "x86_64",
                "RootDeviceName": "/dev/xvda",
                "RootDeviceType": "ebs",
                "BlockDeviceMappings": [{"DeviceName": "/dev/xvda", "Ebs": {"VolumeSize": 45}}],
            }
        ]
    )
    roles: set[str] = field(default_factory=lambda: {"AWSServiceRoleForEC2Spot"})
    keys: dict[str, dict[str, Any]] = field(default_factory=dict)
    key_policy: str = "{}"
    grants: list[dict[str, Any]] = field(default_factory=list)
    matching: list[str] = field(default_factory=lambda: ["g5.xlarge", "g6.xlarge"])
    stacks: dict[str, dict[str, str]] = field(default_factory=dict)
    exports: dict[str, str] = field(default_factory=dict)
    refused: dict[str, Exception] = field(default_factory=dict)
    answers: dict[str, Any] = field(default_factory=dict)
    """Answers in place of those of this account, by method."""
    launch_templates: dict[str, dict[str, Any]] = field(default_factory=dict)
    page: int = 1000
    calls: list[tuple[str, str, dict[str, Any]]] = field(default_factory=list)

    def client(self, service: str, *, region_name: str, config: object) -> Any:
        return _Client(self, service, region_name)

    def called(self) -> set[tuple[str, str]]:
        """Services and methods that were called."""
        return {(service, method) for service, method, _ in self.calls}

    # The answers, by method.

    def get_caller_identity(self) -> dict[str, Any]:
        return {"Account": "111122223333"}

    def describe_instance_types(self, *, Filters: Any, **paging: Any) -> Any:
        return self._page("InstanceTypes", [each for each in self.machines if _passes(each, Filters)], paging)

    def describe_instance_type_offerings(self, *, LocationType: str, Filters: Any, **paging: Any) -> Any:
        offered = []
        for each in self.machines:
            name = each["InstanceType"]
            zones = self.zones.get(name, self.all_zones)
            places = zones if LocationType == "availability-zone" else (REGION,) if zones else ()
            offered += [{"InstanceType": name, "Location": place} for place in places]
        return self._page("InstanceTypeOfferings", [each for each in offered if _passes(each, Filters)], paging)

    def describe_availability_zones(self, *, Filters: Any) -> Any:
        zones = [
            {"ZoneName": zone, "ZoneId": f"use1-az{index}", "State": "available"}
            for index, zone in enumerate(self.all_zones)
        ]
        return {"AvailabilityZones": [*zones, {"ZoneName": "us-east-1z", "State": "unavailable"}]}

    def describe_instances(self, *, Filters: Any, MaxResults: int, **paging: Any) -> Any:
        return self._page("Reservations", [{"Instances": [each]} for each in self.instances], paging)

    def describe_capacity_reservations(
        self, *, CapacityReservationIds: Any = None, Filters: Any = None, **paging: Any
    ) -> Any:
        if CapacityReservationIds is not None:
            found = [each for each in self.reservations if each["CapacityReservationId"] in CapacityReservationIds]
            if not found:
                raise refusal("InvalidCapacityReservationId.NotFound")
            return {"CapacityReservations": found}
        return self._page("CapacityReservations", [e for e in self.reservations if e["State"] == "active"], paging)

    def describe_launch_template_versions(
        self, *, Versions: Any, LaunchTemplateId: str = "", LaunchTemplateName: str = "", **paging: Any
    ) -> Any:
        named = LaunchTemplateId or LaunchTemplateName
        if named not in self.launch_templates:
            raise refusal("InvalidLaunchTemplateId.NotFound")
        data = self.launch_templates[named]
        return {"LaunchTemplateVersions": [{"LaunchTemplateData": data}] if Versions == ["$Default"] else []}

    def describe_subnets(self, *, Filters: Any, **paging: Any) -> Any:
        return self._page("Subnets", [each for each in self.subnets if _passes(each, Filters)], paging)

    def describe_route_tables(self, *, Filters: Any, **paging: Any) -> Any:
        wanted = {each["Name"]: each["Values"] for each in Filters}
        found = []
        for table in self.tables:
            associations = table["Associations"]
            if "association.subnet-id" in wanted:
                hit = any(each.get("SubnetId") in wanted["association.subnet-id"] for each in associations)
            else:
                hit = table["VpcId"] in wanted["vpc-id"] and any(each.get("Main") for each in associations)
            found += [table] if hit else []
        return self._page("RouteTables", found, paging)

    def describe_vpc_endpoints(self, *, Filters: Any, **paging: Any) -> Any:
        return self._page("VpcEndpoints", self.endpoints, paging)

    def describe_images(self, *, Filters: Any, IncludeDeprecated: bool, **paging: Any) -> Any:
        return self._page("Images", [each for each in self.images if _passes(each, Filters)], paging)

    def get_instance_types_from_instance_requirements(self, **parameters: Any) -> Any:
        return self._page("InstanceTypes", [{"InstanceType": name} for name in self.matching], parameters)

    def list_service_quotas(self, *, ServiceCode: str, **paging: Any) -> Any:
        return self._page("Quotas", self.quotas, paging)

    def list_aws_default_service_quotas(self, *, ServiceCode: str, **paging: Any) -> Any:
        return self._page("Quotas", self.default_quotas, paging)

    def get_parameters(self, *, Names: list[str]) -> Any:
        found = [{"Name": name, "Value": self.parameters[name]} for name in Names if name in self.parameters]
        return {"Parameters": found, "InvalidParameters": [name for name in Names if name not in self.parameters]}

    def get_role(self, *, RoleName: str) -> Any:
        if RoleName not in self.roles:
            raise refusal("NoSuchEntity")
        return {"Role": {"RoleName": RoleName}}

    def describe_key(self, *, KeyId: str) -> Any:
        if KeyId not in self.keys:
            raise refusal("NotFoundException")
        return {"KeyMetadata": {"KeyId": "key-id", "KeyState": "Enabled", "KeyManager": "CUSTOMER", **self.keys[KeyId]}}

    def get_key_policy(self, *, KeyId: str, PolicyName: str) -> Any:
        return {"Policy": self.key_policy}

    def list_grants(self, *, KeyId: str, Marker: str | None = None) -> Any:
        answer = self._page("Grants", self.grants, {"NextToken": Marker} if Marker else {})
        return {"Grants": answer["Grants"], "NextMarker": answer.get("NextToken")}

    def list_group_resources(self, *, Group: str, **paging: Any) -> Any:
        return self._page("Resources", [{"Identifier": {"ResourceArn": arn}} for arn in self.group_members], paging)

    def describe_stacks(self, *, StackName: str) -> Any:
        if StackName not in self.stacks:
            raise refusal("ValidationError", f"Stack with id {StackName} does not exist")
        outputs = [{"OutputKey": key, "OutputValue": value} for key, value in self.stacks[StackName].items()]
        return {"Stacks": [{"StackName": StackName, "Outputs": outputs}]}

    def list_exports(self, **paging: Any) -> Any:
        return self._page("Exports", [{"Name": k, "Value": v} for k, v in self.exports.items()], paging)

    def _page(self, under: str, found: list[Any], paging: Mapping[str, Any]) -> dict[str, Any]:
        start = int(paging.get("NextToken", "0"))
        answer: dict[str, Any] = {under: found[start : start + self.page]}
        if start + self.page < len(found):
            answer["NextToken"] = str(start + self.page)
        return answer


class _Client:
    def __init__(self, account: FakeAccount, service: str, region: str) -> None:
        self._account = account
        self._service = service
        assert region == REGION

    def __getattr__(self, method: str) -> Any:
        operation = _operations(self._service)[method]

        def call(**parameters: Any) -> Any:
            report = ParamValidator().validate(parameters, operation.input_shape) if operation.input_shape else None
            # pytest.fail, since preflight takes every Exception for an answer that did not come
            if report is not None and report.has_errors():
                pytest.fail(report.generate_report())
            self._account.calls.append((self._service, method, parameters))
            if method in self._account.refused:
                raise self._account.refused[method]
            if method in self._account.answers:
                return self._account.answers[method]
            try:
                return getattr(self._account, method)(**parameters)
            except (AttributeError, KeyError, TypeError) as error:
                pytest.fail(f"the fake account does not answer {method}: {error!r}")

        return call


def _passes(item: Mapping[str, Any], filters: list[dict[str, Any]]) -> bool:
    """Whether an item has one of the values of each filter: ``instance-type`` asks for ``InstanceType``."""
    for each in filters:
        name = "".join(part.capitalize() for part in each["Name"].split("-"))
        if item.get(name) not in each["Values"]:
            return False
    return True
