"""The AWS calls of a sweep. Documents are taken as AWS sends them; a field that is missing without need is an error."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol, TypeAlias

from runtime.patience import Patience

Document: TypeAlias = Mapping[str, Any]
Filters: TypeAlias = Sequence[Mapping[str, Any]]


class AutoScalingClient(Protocol):
    """The Auto Scaling calls."""

    def describe_auto_scaling_groups(self, *, MaxRecords: int, NextToken: str = ...) -> Document: ...

    def describe_auto_scaling_instances(self, *, InstanceIds: Sequence[str], NextToken: str = ...) -> Document: ...

    def describe_warm_pool(self, *, AutoScalingGroupName: str, MaxRecords: int, NextToken: str = ...) -> Document: ...


class StackClient(Protocol):
    """The CloudFormation call."""

    def list_stack_resources(self, *, StackName: str, NextToken: str = ...) -> Document: ...


class Ec2Client(Protocol):
    """The EC2 calls."""

    def describe_instances(self, *, Filters: Filters, MaxResults: int, NextToken: str = ...) -> Document: ...

    def describe_volumes(self, *, Filters: Filters, MaxResults: int, NextToken: str = ...) -> Document: ...

    def describe_network_interfaces(self, *, Filters: Filters, MaxResults: int, NextToken: str = ...) -> Document: ...

    def describe_addresses(self, *, Filters: Filters) -> Document: ...

    def describe_snapshots(
        self, *, OwnerIds: Sequence[str], Filters: Filters, MaxResults: int, NextToken: str = ...
    ) -> Document: ...

    def describe_images(
        self,
        *,
        Owners: Sequence[str],
        IncludeDeprecated: bool,
        IncludeDisabled: bool,
        MaxResults: int,
        NextToken: str = ...,
    ) -> Document: ...

    def describe_launch_templates(self, *, Filters: Filters, MaxResults: int, NextToken: str = ...) -> Document: ...

    def describe_launch_template_versions(
        self, *, LaunchTemplateId: str = ..., Versions: Sequence[str] = ..., MaxResults: int, NextToken: str = ...
    ) -> Document: ...

    def create_tags(self, *, Resources: Sequence[str], Tags: Sequence[Mapping[str, str]]) -> object: ...

    def delete_tags(self, *, Resources: Sequence[str], Tags: Sequence[Mapping[str, str]]) -> object: ...

    def terminate_instances(self, *, InstanceIds: Sequence[str]) -> object: ...

    def delete_volume(self, *, VolumeId: str) -> object: ...

    def delete_network_interface(self, *, NetworkInterfaceId: str) -> object: ...

    def release_address(self, *, AllocationId: str) -> object: ...

    def delete_snapshot(self, *, SnapshotId: str) -> object: ...

    def delete_launch_template_versions(self, *, LaunchTemplateId: str, Versions: Sequence[str]) -> Document: ...


class TaggingClient(Protocol):
    """The call of the Resource Groups Tagging API."""

    def get_resources(
        self,
        *,
        TagFilters: Filters,
        ResourceTypeFilters: Sequence[str],
        ResourcesPerPage: int,
        PaginationToken: str = ...,
    ) -> Document: ...


class LogsClient(Protocol):
    """The CloudWatch Logs calls."""

    def describe_log_streams(self, *, logGroupName: str, limit: int, nextToken: str = ...) -> Document: ...

    def list_tags_for_resource(self, *, resourceArn: str) -> Document: ...

    def tag_resource(self, *, resourceArn: str, tags: Mapping[str, str]) -> object: ...

    def untag_resource(self, *, resourceArn: str, tagKeys: Sequence[str]) -> object: ...

    def delete_log_group(self, *, logGroupName: str) -> object: ...


class ParameterClient(Protocol):
    """The Systems Manager calls."""

    def describe_parameters(self, *, ParameterFilters: Filters, MaxResults: int, NextToken: str = ...) -> Document: ...

    def list_tags_for_resource(self, *, ResourceType: str, ResourceId: str) -> Document: ...

    def add_tags_to_resource(
        self, *, ResourceType: str, ResourceId: str, Tags: Sequence[Mapping[str, str]]
    ) -> object: ...

    def remove_tags_from_resource(self, *, ResourceType: str, ResourceId: str, TagKeys: Sequence[str]) -> object: ...

    def delete_parameter(self, *, Name: str) -> object: ...


class TopicClient(Protocol):
    """The SNS call."""

    def publish(self, *, TopicArn: str, Subject: str, Message: str) -> object: ...


@dataclass(frozen=True, kw_only=True)
class Clients:
    """The AWS clients of a sweep."""

    autoscaling: AutoScalingClient
    cloudformation: StackClient
    ec2: Ec2Client
    logs: LogsClient
    sns: TopicClient
    ssm: ParameterClient
    tagging: TaggingClient


def pages(what: str, ask: Callable[..., Document], patience: Patience, token: str = "NextToken") -> Iterator[Document]:
    """Yield every page of an answer. A page may be empty although more follow: the token decides, not the count."""
    continuation: dict[str, str] = {}
    while True:
        page = patience.call(what, partial(ask, **continuation))
        yield page
        following = page.get(token)
        # CloudWatch Logs may repeat the token at the end, and the tagging API sends an empty one.
        if not following or following == continuation.get(token):
            return
        continuation = {token: following}


def tags_of(document: Document, field: str = "Tags") -> dict[str, str]:
    """Return the tags of a document as EC2, Auto Scaling and Systems Manager write them."""
    return {each["Key"]: each["Value"] for each in document.get(field, [])}


def batches(ids: Iterable[str], size: int) -> Iterator[list[str]]:
    """Yield the ids in lists of at most `size`."""
    listed = list(ids)
    for start in range(0, len(listed), size):
        yield listed[start : start + size]
