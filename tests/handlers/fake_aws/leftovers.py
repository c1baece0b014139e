"""What a fleet can leave behind: volumes, interfaces, addresses, snapshots, template versions, log groups, parameters.

`with_leftovers` puts these services in front of those of an account; whatever they do not know, the others answer.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from fnmatch import fnmatchcase
from typing import Any

from tests.handlers.fake_aws.calls import Parameters, refusal
from tests.handlers.fake_aws.machines import VALUES_PER_FILTER
from tests.handlers.fake_aws.world import FakeAws

ACCOUNT = "123456789012"
REGION = "eu-west-1"
IDS_PER_MEMBERSHIP_CALL = 50
PARAMETERS_PER_PAGE = 50
TEMPLATES_PER_PAGE = 200
TAGGED_PER_PAGE = 100

Allows = Callable[[str, Mapping[str, str]], bool]
"""Whether IAM lets the caller change something that has these tags, by the operation's name."""


@dataclass
class FakeResource:
    """A thing with a document and tags."""

    id: str
    document: dict[str, Any]
    tags: dict[str, str] = field(default_factory=dict)


class _InFront:
    """Answers for a service what it knows itself, and leaves the rest to it."""

    def __init__(self, behind: Any) -> None:
        self._behind = behind

    def __getattr__(self, name: str) -> Any:
        return getattr(self._behind, name)


class LeftoversOfEc2(_InFront):
    """EC2. Listings come in pages of `page_size`, the first `leading_empty_pages` of them empty."""

    def __init__(self, behind: Any) -> None:
        super().__init__(behind)
        self.volumes: dict[str, FakeResource] = {}
        self.interfaces: dict[str, FakeResource] = {}
        self.addresses: dict[str, FakeResource] = {}
        self.snapshots: dict[str, FakeResource] = {}
        self.images: list[dict[str, Any]] = []
        self.templates: dict[str, FakeResource] = {}
        self.versions: dict[str, list[dict[str, Any]]] = {}
        self.allows: Allows = lambda operation, tags: True
        self.listed_per_page = 1000
        self.leading_empty_pages = 0
        self.hidden: set[str] = set()
        self.loses_tag_filters = False

    # --- reading -----------------------------------------------------------------------------------------------------

    def describe_volumes(self, parameters: Parameters) -> dict[str, Any]:
        found = self._found(self.volumes, "volume-id", parameters)
        return self._page("Volumes", [self._document(each) for each in found], parameters)

    def describe_network_interfaces(self, parameters: Parameters) -> dict[str, Any]:
        found = self._found(self.interfaces, "network-interface-id", parameters)
        return self._page("NetworkInterfaces", [self._document(each, "TagSet") for each in found], parameters)

    def describe_addresses(self, parameters: Parameters) -> dict[str, Any]:
        found = self._found(self.addresses, "allocation-id", parameters)
        return {"Addresses": [self._document(each) for each in found]}

    def describe_snapshots(self, parameters: Parameters) -> dict[str, Any]:
        assert parameters["OwnerIds"] == ["self"], "without it, every public snapshot of the Region is listed"
        found = self._found(self.snapshots, "snapshot-id", parameters)
        return self._page("Snapshots", [self._document(each) for each in found], parameters)

    def describe_images(self, parameters: Parameters) -> dict[str, Any]:
        assert parameters["Owners"] == ["self"]
        shown = [
            image
            for image in self.images
            if (image.get("State") != "disabled" or parameters.get("IncludeDisabled"))
            and ("DeprecationTime" not in image or parameters.get("IncludeDeprecated"))
        ]
        return self._page("Images", shown, parameters)

    def describe_launch_templates(self, parameters: Parameters) -> dict[str, Any]:
        assert parameters["MaxResults"] <= TEMPLATES_PER_PAGE
        found = self._found(self.templates, "launch-template-id", parameters)
        return self._page("LaunchTemplates", [self._template(each) for each in found], parameters)

    def describe_launch_template_versions(self, parameters: Parameters) -> dict[str, Any]:
        assert parameters["MaxResults"] <= TEMPLATES_PER_PAGE
        if "LaunchTemplateId" in parameters:
            assert "Versions" not in parameters
            if parameters["LaunchTemplateId"] not in self.versions:
                raise refusal("InvalidLaunchTemplateId.NotFound")
            listed = list(self.versions[parameters["LaunchTemplateId"]])
        else:
            assert set(parameters["Versions"]) <= {"$Latest", "$Default"}
            listed = [
                each
                for versions in self.versions.values()
                for each in versions
                if each["DefaultVersion"] or each is versions[-1]
            ]
        return self._page("LaunchTemplateVersions", listed, parameters)

    # --- changing ----------------------------------------------------------------------------------------------------

    def create_tags(self, parameters: Parameters) -> None:
        for tags in self._tagged("CreateTags", parameters["Resources"]):
            tags.update({each["Key"]: each["Value"] for each in parameters["Tags"]})
            assert all(len(each["Value"]) <= 256 for each in parameters["Tags"])

    def delete_tags(self, parameters: Parameters) -> None:
        for tags in self._tagged("DeleteTags", parameters["Resources"]):
            for each in parameters["Tags"]:
                tags.pop(each["Key"], None)

    def terminate_instances(self, parameters: Parameters) -> Any:
        for id in parameters["InstanceIds"]:
            if id in self._behind.machines:
                self._check("TerminateInstances", self._behind.machines[id].tags)
        return self._behind.terminate_instances(parameters)

    def delete_volume(self, parameters: Parameters) -> None:
        volume = self._removable("DeleteVolume", self.volumes, parameters["VolumeId"], "InvalidVolume.NotFound")
        if volume.document["Attachments"]:
            raise refusal("VolumeInUse")
        del self.volumes[volume.id]

    def delete_network_interface(self, parameters: Parameters) -> None:
        id, missing = parameters["NetworkInterfaceId"], "InvalidNetworkInterfaceID.NotFound"
        interface = self._removable("DeleteNetworkInterface", self.interfaces, id, missing)
        if "Attachment" in interface.document:
            raise refusal("InvalidNetworkInterface.InUse")
        del self.interfaces[id]

    def release_address(self, parameters: Parameters) -> None:
        id, missing = parameters["AllocationId"], "InvalidAllocationID.NotFound"
        address = self._removable("ReleaseAddress", self.addresses, id, missing)
        if "AssociationId" in address.document:
            raise refusal("InvalidIPAddress.InUse")
        del self.addresses[id]

    def delete_snapshot(self, parameters: Parameters) -> None:
        id = parameters["SnapshotId"]
        self._removable("DeleteSnapshot", self.snapshots, id, "InvalidSnapshot.NotFound")
        # Only images protect their snapshots; a launch template does not.
        if any(device["Ebs"]["SnapshotId"] == id for image in self.images for device in image["BlockDeviceMappings"]):
            raise refusal("InvalidSnapshot.InUse")
        del self.snapshots[id]

    def delete_launch_template_versions(self, parameters: Parameters) -> dict[str, Any]:
        id = parameters["LaunchTemplateId"]
        self._removable("DeleteLaunchTemplateVersions", self.templates, id, "InvalidLaunchTemplateId.NotFound")
        failed: list[dict[str, Any]] = []
        for version in map(int, parameters["Versions"]):
            found = [each for each in self.versions[id] if each["VersionNumber"] == version]
            if not found or found[0]["DefaultVersion"]:
                code = "launchTemplateVersionDoesNotExist" if not found else "unexpectedError"
                failed.append({"VersionNumber": version, "ResponseError": {"Code": code}})
            else:
                self.versions[id].remove(found[0])
        return {"UnsuccessfullyDeletedLaunchTemplateVersions": failed}

    # --- parts -------------------------------------------------------------------------------------------------------

    def _check(self, operation: str, tags: Mapping[str, str]) -> None:
        if not self.allows(operation, tags):
            raise refusal("UnauthorizedOperation", status=403)

    def _removable(self, operation: str, resources: Mapping[str, FakeResource], id: str, missing: str) -> FakeResource:
        if id not in resources:
            raise refusal(missing)
        self._check(operation, resources[id].tags)
        return resources[id]

    def _tagged(self, operation: str, ids: Iterable[str]) -> list[dict[str, str]]:
        found = []
        for id in ids:
            kinds = (self.volumes, self.interfaces, self.addresses, self.snapshots, self.templates)
            resource = next((kind[id] for kind in kinds if id in kind), None) or self._behind.machines.get(id)
            if resource is None:
                raise refusal("InvalidID.NotFound" if id.startswith("i-") else "InvalidVolume.NotFound")
            self._check(operation, resource.tags)
            found.append(resource.tags)
        return found

    def _found(
        self, resources: Mapping[str, FakeResource], id_filter: str, parameters: Parameters
    ) -> list[FakeResource]:
        found = [each for each in resources.values() if each.id not in self.hidden]
        for filter_ in parameters["Filters"]:
            name, patterns = filter_["Name"], filter_["Values"]
            if name.startswith("tag:") and self.loses_tag_filters:
                continue
            if len(patterns) > VALUES_PER_FILTER:
                raise refusal("FilterLimitExceeded", "at most 200 values in a filter")
            found = [each for each in found if _any_matches(_values(each, name, id_filter), patterns)]
        return found

    def _page(self, field: str, listed: Sequence[Any], parameters: Parameters) -> dict[str, Any]:
        size = min(self.listed_per_page, parameters["MaxResults"])
        page = int(parameters.get("NextToken", "0"))
        start = max(0, page - self.leading_empty_pages) * size
        end = start + size if page >= self.leading_empty_pages else start
        more = {"NextToken": str(page + 1)} if end < len(listed) else {}
        return {field: list(listed[start:end]), **more}

    def _document(self, resource: FakeResource, field: str = "Tags") -> dict[str, Any]:
        return {**resource.document, field: _as_list(resource.tags)}

    def _template(self, template: FakeResource) -> dict[str, Any]:
        versions = self.versions[template.id]
        default = next(each["VersionNumber"] for each in versions if each["DefaultVersion"])
        latest = versions[-1]["VersionNumber"]
        return {**self._document(template), "DefaultVersionNumber": default, "LatestVersionNumber": latest}


class LeftoversOfAutoScaling(_InFront):
    """Auto Scaling: what a group launches from, membership by instance, the warm pool."""

    def __init__(self, behind: Any) -> None:
        super().__init__(behind)
        self.launches_from: dict[str, dict[str, Any]] = {}
        """Fields of a group's document that name a launch template, by group."""
        self.member_launched_from: dict[str, dict[str, Any]] = {}
        self.unlisted: set[str] = set()
        """Members that a describe of their group leaves out, as it may."""

    def describe_auto_scaling_groups(self, parameters: Parameters) -> dict[str, Any]:
        assert parameters["MaxRecords"] <= 100
        page: dict[str, Any] = self._behind.describe_auto_scaling_groups(parameters)
        for group in page["AutoScalingGroups"]:
            group.update(self.launches_from.get(group["AutoScalingGroupName"], {}))
            shown = [each for each in group["Instances"] if each["InstanceId"] not in self.unlisted]
            group["Instances"] = [{**each, **self.member_launched_from.get(each["InstanceId"], {})} for each in shown]
        return page

    def describe_auto_scaling_instances(self, parameters: Parameters) -> dict[str, Any]:
        if len(parameters["InstanceIds"]) > IDS_PER_MEMBERSHIP_CALL:
            raise refusal("ValidationError", "The number of instance ids must not exceed 50")
        found = [
            {
                "InstanceId": member.instance_id,
                "AutoScalingGroupName": group.name,
                "AvailabilityZone": f"{REGION}a",
                "LifecycleState": member.lifecycle_state,
                "HealthStatus": "HEALTHY",
                "ProtectedFromScaleIn": member.protected,
            }
            for group in self._behind.groups.values()
            for member in group.members
            if member.instance_id in parameters["InstanceIds"]
        ]
        return {"AutoScalingInstances": found}

    def describe_warm_pool(self, parameters: Parameters) -> dict[str, Any]:
        assert parameters["MaxRecords"] <= 50
        group = self._behind.groups[parameters["AutoScalingGroupName"]]
        documents = (each.document() for each in group.warm_pool)
        return {"Instances": [{**each, **self.member_launched_from.get(each["InstanceId"], {})} for each in documents]}


class LeftoversOfStacks(_InFront):
    """CloudFormation: the names in AWS of what a stack has made, two to a page."""

    def __init__(self, behind: Any) -> None:
        super().__init__(behind)
        self.resources: list[str] = []

    def list_stack_resources(self, parameters: Parameters) -> dict[str, Any]:
        start = int(parameters.get("NextToken", "0"))
        more = {"NextToken": str(start + 2)} if start + 2 < len(self.resources) else {}
        made = {"ResourceType": "AWS::Some::Thing", "ResourceStatus": "CREATE_COMPLETE"}
        stamp = {"LastUpdatedTimestamp": "2026-11-30T00:00:00Z"}
        page = [
            {"LogicalResourceId": f"R{number}", "PhysicalResourceId": name, **made, **stamp}
            for number, name in enumerate(self.resources)
        ]
        # Being made, it has no name in AWS yet.
        unnamed = {"LogicalResourceId": "Unnamed", **made, **stamp, "ResourceStatus": "CREATE_IN_PROGRESS"}
        return {"StackResourceSummaries": [*page[start : start + 2], unnamed], **more}


class FakeLogs:
    """CloudWatch Logs. `groups` holds the tags of each log group by name, `streams` how many streams it has."""

    def __init__(self) -> None:
        self.groups: dict[str, dict[str, str]] = {}
        self.streams: dict[str, int] = {}
        self.allows: Allows = lambda operation, tags: True

    def describe_log_streams(self, parameters: Parameters) -> dict[str, Any]:
        name = parameters["logGroupName"]
        self._tags(name)
        streams = [{"logStreamName": f"stream-{n}"} for n in range(self.streams.get(name, 0))]
        return {"logStreams": streams[: parameters["limit"]]}

    def list_tags_for_resource(self, parameters: Parameters) -> dict[str, Any]:
        return {"tags": dict(self._tags(log_group_name(parameters["resourceArn"])))}

    def tag_resource(self, parameters: Parameters) -> None:
        tags = self._tags(log_group_name(parameters["resourceArn"]))
        self._check("TagResource", tags)
        tags.update(parameters["tags"])

    def untag_resource(self, parameters: Parameters) -> None:
        tags = self._tags(log_group_name(parameters["resourceArn"]))
        self._check("UntagResource", tags)
        for key in parameters["tagKeys"]:
            tags.pop(key, None)

    def delete_log_group(self, parameters: Parameters) -> None:
        self._check("DeleteLogGroup", self._tags(parameters["logGroupName"]))
        del self.groups[parameters["logGroupName"]]

    def _check(self, operation: str, tags: Mapping[str, str]) -> None:
        if not self.allows(operation, tags):
            raise refusal("AccessDeniedException")

    def _tags(self, name: str) -> dict[str, str]:
        if name not in self.groups:
            raise refusal("ResourceNotFoundException", "The specified log group does not exist.")
        return self.groups[name]


class LeftoversOfSystemsManager(_InFront):
    """Systems Manager: parameters by path or name, and their tags. `endpoints` holds those by name."""

    def __init__(self, behind: Any) -> None:
        super().__init__(behind)
        self.endpoints: dict[str, FakeResource] = {}
        self.allows: Allows = lambda operation, tags: True

    def describe_parameters(self, parameters: Parameters) -> dict[str, Any]:
        assert parameters["MaxResults"] <= PARAMETERS_PER_PAGE
        (filter_,) = parameters["ParameterFilters"]
        assert len(filter_["Values"]) <= 50
        if filter_["Key"] == "Path":
            assert filter_["Option"] == "OneLevel"
            found = [each for each in self.endpoints.values() if each.id.rpartition("/")[0] in filter_["Values"]]
        else:
            assert (filter_["Key"], filter_["Option"]) == ("Name", "Equals")
            found = [each for each in self.endpoints.values() if each.id in filter_["Values"]]
        start, size = int(parameters.get("NextToken", "0")), parameters["MaxResults"]
        more = {"NextToken": str(start + size)} if start + size < len(found) else {}
        return {"Parameters": [each.document for each in found[start : start + size]], **more}

    def list_tags_for_resource(self, parameters: Parameters) -> dict[str, Any]:
        return {"TagList": _as_list(self._tags(parameters))}

    def add_tags_to_resource(self, parameters: Parameters) -> dict[str, Any]:
        tags = self._tags(parameters)
        self._check("AddTagsToResource", tags)
        tags.update({each["Key"]: each["Value"] for each in parameters["Tags"]})
        return {}

    def remove_tags_from_resource(self, parameters: Parameters) -> dict[str, Any]:
        tags = self._tags(parameters)
        self._check("RemoveTagsFromResource", tags)
        for key in parameters["TagKeys"]:
            tags.pop(key, None)
        return {}

    def delete_parameter(self, parameters: Parameters) -> dict[str, Any]:
        name = parameters["Name"]
        if name not in self.endpoints:
            raise refusal("ParameterNotFound")
        self._check("DeleteParameter", self.endpoints[name].tags)
        del self.endpoints[name]
        return {}

    def _check(self, operation: str, tags: Mapping[str, str]) -> None:
        if not self.allows(operation, tags):
            raise refusal("AccessDeniedException")

    def _tags(self, parameters: Parameters) -> dict[str, str]:
        assert parameters["ResourceType"] == "Parameter"
        if parameters["ResourceId"] not in self.endpoints:
            raise refusal("InvalidResourceId")
        return self.endpoints[parameters["ResourceId"]].tags


class FakeTagging:
    """The Resource Groups Tagging API: an index of tags. `remembers` lists log groups that are gone, as it may."""

    def __init__(self, logs: FakeLogs, ssm: LeftoversOfSystemsManager) -> None:
        self._logs = logs
        self._ssm = ssm
        self.remembers: dict[str, dict[str, str]] = {}
        self.listed_per_page = TAGGED_PER_PAGE

    def get_resources(self, parameters: Parameters) -> dict[str, Any]:
        assert parameters["ResourcesPerPage"] <= TAGGED_PER_PAGE
        (kind,) = parameters["ResourceTypeFilters"]
        (filter_,) = parameters["TagFilters"]
        groups = {**self._logs.groups, **self.remembers}
        known = {
            "logs:log-group": {log_group_arn(name): tags for name, tags in groups.items()},
            "ssm:parameter": {_parameter_arn(each.id): each.tags for each in self._ssm.endpoints.values()},
        }[kind]
        found = [(arn, tags) for arn, tags in known.items() if tags.get(filter_["Key"]) in filter_["Values"]]
        start = int(parameters.get("PaginationToken") or "0")
        end = start + self.listed_per_page
        page = [{"ResourceARN": arn, "Tags": _as_list(tags)} for arn, tags in found[start:end]]
        # The last page has an empty token.
        return {"ResourceTagMappingList": page, "PaginationToken": str(end) if end < len(found) else ""}


def with_leftovers(aws: FakeAws) -> LeftoverWorld:
    """Put the services of this module in front of an account's own."""
    world: Any = aws
    world.ec2 = LeftoversOfEc2(aws.ec2)
    world.autoscaling = LeftoversOfAutoScaling(aws.autoscaling)
    world.cloudformation = LeftoversOfStacks(aws.cloudformation)
    world.ssm = LeftoversOfSystemsManager(aws.ssm)
    world.logs = FakeLogs()
    world.resourcegroupstaggingapi = FakeTagging(world.logs, world.ssm)
    return LeftoverWorld(aws, world.ec2, world.autoscaling, world.cloudformation, world.logs, world.ssm)


@dataclass
class LeftoverWorld:
    """An account with things that can be left over, and how they get there."""

    aws: FakeAws
    ec2: LeftoversOfEc2
    autoscaling: LeftoversOfAutoScaling
    cloudformation: LeftoversOfStacks
    logs: FakeLogs
    ssm: LeftoversOfSystemsManager

    def iam_allows(self, allows: Allows) -> None:
        """Let every service ask IAM."""
        self.ec2.allows = self.logs.allows = self.ssm.allows = allows

    def add_volume(
        self, id: str, tags: Mapping[str, str], *, attached_to: str | None = None, age_hours: float = 100, **more: Any
    ) -> FakeResource:
        attachment = {"InstanceId": attached_to, "DeleteOnTermination": True, "State": "attached"}
        document = {
            "VolumeId": id,
            "VolumeType": "gp3",
            "Size": 100,
            "Iops": 3000,
            "Throughput": 125,
            "State": "in-use" if attached_to else "available",
            "Attachments": [attachment] if attached_to else [],
            "CreateTime": self._ago(age_hours),
            **more,
        }
        return self._add(self.ec2.volumes, id, document, tags)

    def add_interface(
        self, id: str, tags: Mapping[str, str], *, attached_to: str | None = None, **more: Any
    ) -> FakeResource:
        attachment = {"Attachment": {"InstanceId": attached_to}} if attached_to else {}
        document = {
            "NetworkInterfaceId": id,
            "InterfaceType": "interface",
            "Status": "in-use" if attached_to else "available",
            "RequesterManaged": False,
            **attachment,
            **more,
        }
        return self._add(self.ec2.interfaces, id, document, tags)

    def add_address(self, id: str, tags: Mapping[str, str], *, used_by: str | None = None, **more: Any) -> FakeResource:
        use = {"AssociationId": "eipassoc-1", "InstanceId": used_by} if used_by else {}
        document = {"AllocationId": id, "PublicIp": "198.51.100.7", "Domain": "vpc", "PublicIpv4Pool": "amazon"}
        return self._add(self.ec2.addresses, id, {**document, **use, **more}, tags)

    def add_snapshot(self, id: str, tags: Mapping[str, str], *, age_hours: float = 1000, **more: Any) -> FakeResource:
        document = {
            "SnapshotId": id,
            "State": "completed",
            "VolumeSize": 200,
            "StorageTier": "standard",
            "StartTime": self._ago(age_hours),
            **more,
        }
        return self._add(self.ec2.snapshots, id, document, tags)

    def add_image(self, id: str, snapshot_id: str, **more: Any) -> None:
        devices = [{"DeviceName": "/dev/xvda", "Ebs": {"SnapshotId": snapshot_id}}]
        self.ec2.images.append({"ImageId": id, "State": "available", "BlockDeviceMappings": devices, **more})

    def add_template(
        self, id: str, tags: Mapping[str, str], *, versions: int, default: int = 1, own: bool = True
    ) -> FakeResource:
        """Add a template with so many versions, made by the fleet's stack unless told otherwise."""
        self.ec2.versions[id] = [
            {
                "LaunchTemplateId": id,
                "LaunchTemplateName": f"name-of-{id}",
                "VersionNumber": number,
                "DefaultVersion": number == default,
                "CreateTime": self._ago(1000),
                "LaunchTemplateData": {},
            }
            for number in range(1, versions + 1)
        ]
        if own:
            self.cloudformation.resources.append(id)
        document = {"LaunchTemplateId": id, "LaunchTemplateName": f"name-of-{id}"}
        return self._add(self.ec2.templates, id, document, tags)

    def template_versions(self, id: str) -> list[int]:
        return [each["VersionNumber"] for each in self.ec2.versions[id]]

    def add_log_group(self, name: str, tags: Mapping[str, str], *, streams: int = 0) -> dict[str, str]:
        self.logs.groups[name] = dict(tags)
        self.logs.streams[name] = streams
        return self.logs.groups[name]

    def add_endpoint(
        self, name: str, tags: Mapping[str, str], *, age_hours: float = 100, tier: str = "Standard"
    ) -> FakeResource:
        changed = self._ago(age_hours)
        document = {"Name": name, "Type": "String", "LastModifiedDate": changed, "Version": 1, "Tier": tier}
        return self._add(self.ssm.endpoints, name, document, tags)

    def _ago(self, hours: float) -> datetime:
        return self.aws.clock.now() - timedelta(hours=hours)

    def _add(
        self, resources: dict[str, FakeResource], id: str, document: dict[str, Any], tags: Mapping[str, str]
    ) -> FakeResource:
        resources[id] = FakeResource(id, document, dict(tags))
        return resources[id]


def log_group_arn(name: str) -> str:
    return f"arn:aws:logs:{REGION}:{ACCOUNT}:log-group:{name}"


def log_group_name(arn: str) -> str:
    name = arn.split(":log-group:")[1]
    assert not name.endswith(":*"), "the tagging calls take the ARN without it"
    return name


def _parameter_arn(name: str) -> str:
    return f"arn:aws:ssm:{REGION}:{ACCOUNT}:parameter{name}"


def _as_list(tags: Mapping[str, str]) -> list[dict[str, str]]:
    return [{"Key": key, "Value": value} for key, value in tags.items()]


def _values(resource: FakeResource, name: str, id_filter: str) -> list[str]:
    if name == id_filter:
        return [resource.id]
    if name == "attachment.instance-id":
        return [each["InstanceId"] for each in resource.document["Attachments"]]
    if name.startswith("tag:"):
        return [value for key, value in resource.tags.items() if key == name.removeprefix("tag:")]
    raise NotImplementedError(f"filter {name}")


def _any_matches(values: Iterable[str], patterns: Sequence[str]) -> bool:
    """Match with wildcards, as EC2's filters do."""
    return any(fnmatchcase(value, pattern) for value in values for pattern in patterns)
