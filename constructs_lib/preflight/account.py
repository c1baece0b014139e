"""Asks one account in one Region, page by page, and never takes a refusal for an answer.

Every call that preflight makes is in :data:`ACTIONS` with the IAM action that it needs; the policy is made from it.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from constructs_lib.errors import ArgumentError
from constructs_lib.preflight.report import Finding
from constructs_lib.template.plain_values import items, mapping
from constructs_lib.validation import complaint

#: IAM action of each call: (client, method) -> action.
ACTIONS: Mapping[tuple[str, str], str] = {
    ("cloudformation", "describe_stacks"): "cloudformation:DescribeStacks",
    ("cloudformation", "list_exports"): "cloudformation:ListExports",
    ("ec2", "describe_availability_zones"): "ec2:DescribeAvailabilityZones",
    ("ec2", "describe_capacity_reservations"): "ec2:DescribeCapacityReservations",
    ("ec2", "describe_images"): "ec2:DescribeImages",
    ("ec2", "describe_instance_type_offerings"): "ec2:DescribeInstanceTypeOfferings",
    ("ec2", "describe_instance_types"): "ec2:DescribeInstanceTypes",
    ("ec2", "describe_instances"): "ec2:DescribeInstances",
    ("ec2", "describe_launch_template_versions"): "ec2:DescribeLaunchTemplateVersions",
    ("ec2", "describe_route_tables"): "ec2:DescribeRouteTables",
    ("ec2", "describe_subnets"): "ec2:DescribeSubnets",
    ("ec2", "describe_vpc_endpoints"): "ec2:DescribeVpcEndpoints",
    ("ec2", "get_instance_types_from_instance_requirements"): "ec2:GetInstanceTypesFromInstanceRequirements",
    ("iam", "get_role"): "iam:GetRole",
    ("kms", "describe_key"): "kms:DescribeKey",
    ("kms", "get_key_policy"): "kms:GetKeyPolicy",
    ("kms", "list_grants"): "kms:ListGrants",
    ("resource-groups", "list_group_resources"): "resource-groups:ListGroupResources",
    ("service-quotas", "list_aws_default_service_quotas"): "servicequotas:ListAWSDefaultServiceQuotas",
    ("service-quotas", "list_service_quotas"): "servicequotas:ListServiceQuotas",
    ("ssm", "get_parameters"): "ssm:GetParameters",
    ("sts", "get_caller_identity"): "sts:GetCallerIdentity",
}
# ListGroupResources reads the group and what is in it.
_BESIDE = ("cloudformation:ListStackResources", "tag:GetResources")
_ROLE_PATH = "role/aws-service-role/*"
_DENIED = (
    "AccessDenied",
    "AccessDeniedException",
    "UnauthorizedOperation",
    "AuthorizationError",
    "Client.Unauthorized",
)
_THROTTLED = (
    "RequestLimitExceeded",
    "ThrottledException",
    "Throttling",
    "ThrottlingException",
    "TooManyRequestsException",
)
# With credentials like that no call gets an answer ("Common errors" in the API references of STS and EC2).
_UNUSABLE_CREDENTIALS = (
    "AuthFailure",
    "ExpiredToken",
    "ExpiredTokenException",
    "InvalidClientTokenId",
    "RequestExpired",
    "SignatureDoesNotMatch",
    "UnrecognizedClientException",
)
# What botocore raises before a call, by name: an older one does not know them all.
_WITHOUT_CREDENTIALS = (
    "CredentialRetrievalError",
    "LoginError",
    "NoAuthTokenError",
    "NoCredentialsError",
    "PartialCredentialsError",
    "RefreshWithMFAUnsupportedError",
    "SSOError",
    "TokenRetrievalError",
)
_MOST_PAGES = 1000
_ATTEMPTS = 8


class Refused(Exception):
    """A question that got no answer.

    Attributes:
        action: IAM action that the call needs.
        code: error code of AWS. Empty: the answer was none of AWS's.
        reason: why, as a sentence without a full stop.
        cure: what to do about it.
        of_credentials: what is wrong with the credentials. None: nothing that is known.
    """

    def __init__(self, action: str, code: str, reason: str, cure: str, *, of_credentials: str | None = None) -> None:
        super().__init__(reason)
        self.action = action
        self.code = code
        self.reason = reason
        self.cure = cure
        self.of_credentials = of_credentials

    def finding(self, resource: str, asked: str) -> Finding:
        """The refusal as a finding: unknown."""
        return Finding(severity="unknown", resource=resource, asked=asked, message=self.reason, cure=self.cure)


class Account:
    """An account in one Region, asked through a boto3 session; each question is put once.

    Args:
        session: a ``boto3.Session``, or what behaves like one.
        region: to ask.
        progress: called with the name of each call before it is made.
    """

    def __init__(self, session: Any, region: str, progress: Callable[[str], object] | None) -> None:
        self._session = session
        self._progress = progress
        self._clients: dict[str, Any] = {}
        self._answers: dict[str, list[Any] | Refused] = {}
        self.region = region

    def ask(self, client: str, method: str, under: str | None = None, /, **parameters: Any) -> list[Any]:
        """All pages of an answer.

        Args:
            client: name of the service.
            method: of its client.
            under: name of the list in the answer. None: the answer itself is the one item.
            parameters: of the call.

        Raises:
            Refused: there is no answer, or not the whole of it.
        """
        key = json.dumps([client, method, parameters], sort_keys=True, default=str)
        if key not in self._answers:
            try:
                self._answers[key] = self._pages(client, method, under, parameters)
            except Refused as refused:
                self._answers[key] = refused
        answer = self._answers[key]
        if isinstance(answer, Refused):
            raise answer
        return answer

    def _pages(self, client: str, method: str, under: str | None, parameters: dict[str, Any]) -> list[Any]:
        action = ACTIONS[client, method]
        found: list[Any] = []
        given, asked = "NextToken", "NextToken"
        if method == "list_grants":
            given, asked = "NextMarker", "Marker"
        seen = set()
        arguments = dict(parameters)
        for _ in range(_MOST_PAGES):
            page = self._call(client, method, action, arguments)
            found += [page] if under is None else items(page.get(under))
            token = page.get(given)
            if not token:
                return found
            if token in seen:
                break
            seen.add(token)
            arguments = {**parameters, asked: token}
        raise Refused(action, "", f"the pages of {action} have no end", "run preflight again")

    def _call(self, client: str, method: str, action: str, arguments: Mapping[str, Any]) -> Mapping[str, Any]:
        if self._progress is not None:
            self._progress(action)
        try:
            answer = getattr(self._client(client), method)(**arguments)
        except Exception as error:  # whatever a call ends with, the other questions have answers to give
            raise _refused(action, error) from error
        if not isinstance(answer, Mapping):
            raise Refused(action, "", f"{action} gave no answer", "run preflight again")
        return answer

    def _client(self, name: str) -> Any:
        if name not in self._clients:
            from botocore.config import Config  # comes with boto3, which only who asks needs

            config = Config(retries={"mode": "standard", "total_max_attempts": _ATTEMPTS})
            self._clients[name] = self._session.client(name, region_name=self.region, config=config)
        return self._clients[name]


def policy_document(*, partition: str | None = None) -> dict[str, object]:
    """The least IAM policy with which preflight can put every question; it changes nothing.

    Args:
        partition: of the account, as ARNs write it. Default: ``aws``.
    """
    of_roles = ACTIONS["iam", "get_role"]
    rest = sorted({*ACTIONS.values(), *_BESIDE} - {of_roles})
    roles = f"arn:{'aws' if partition is None else partition}:iam::*:{_ROLE_PATH}"
    return {
        "Version": "2012-10-17",
        "Statement": [
            {"Sid": "Preflight", "Effect": "Allow", "Action": rest, "Resource": "*"},
            {"Sid": "PreflightServiceRoles", "Effect": "Allow", "Action": [of_roles], "Resource": roles},
        ],
    }


def check_credentials(account: Account) -> None:
    """Ask the one question that needs no permission.

    Raises:
        ArgumentError: the credentials are missing, have expired or are wrong, so that no other would be answered.
    """
    try:
        account.ask("sts", "get_caller_identity")
    except Refused as refused:
        if refused.of_credentials is not None:
            rule = "have credentials that AWS takes"
            cure = (
                "get some with 'aws configure' or 'aws sso login' (or renew those in the environment), "
                "and name their profile if it is not the default one: boto3.Session(profile_name='dev')"
            )
            raise ArgumentError(complaint("preflight", "session", rule, refused.of_credentials, cure)) from refused


def account_number(account: Account) -> str | None:
    """Number of the account, or None if it cannot be told."""
    try:
        number = account.ask("sts", "get_caller_identity")[0].get("Account")
    except Refused:
        return None
    return number if isinstance(number, str) else None


def ssm_value(account: Account, name: str) -> str | None:
    """What an SSM parameter holds; None if there is none.

    Raises:
        Refused: SSM does not say.
    """
    answer = account.ask("ssm", "get_parameters", "Parameters", Names=[name])
    return str(mapping(answer[0]).get("Value")) if answer else None


def filters(**values: str | Sequence[str]) -> list[dict[str, object]]:
    """Filters as EC2 takes them; an underscore stands for a hyphen, two for a full stop."""
    return [
        {
            "Name": name.replace("__", ".").replace("_", "-"),
            "Values": [value] if isinstance(value, str) else sorted(set(value)),
        }
        for name, value in values.items()
    ]


def _refused(action: str, error: Exception) -> Refused:
    details = mapping(mapping(getattr(error, "response", None)).get("Error"))
    code = str(details.get("Code") or "")
    said = str(details.get("Message") or str(error) or type(error).__name__)
    if code in _DENIED:
        cure = f"allow {action}; accel-fleet preflight --print-policy prints all that preflight needs"
        return Refused(action, code, f"these credentials may not call {action} ({code})", cure)
    if code in _THROTTLED:
        return Refused(action, code, f"AWS kept throttling {action} ({code})", "run preflight again in a few minutes")
    kind = code or type(error).__name__
    return Refused(
        action,
        code,
        f"{action} gave no answer ({kind}: {_short(said)})",
        f"see that {action} can be called",
        of_credentials=f"{kind}: {_short(said)}" if _is_of_credentials(code, error) else None,
    )


def _is_of_credentials(code: str, error: Exception) -> bool:
    if code:
        return code in _UNUSABLE_CREDENTIALS
    return any(each.__name__ in _WITHOUT_CREDENTIALS for each in type(error).__mro__)


def _short(said: str) -> str:
    line = " ".join(said.split())
    return line if len(line) <= 200 else f"{line[:200]}..."
