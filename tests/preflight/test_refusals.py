"""What AWS refuses to tell is unknown, names the permission, and never reads as ok."""

from __future__ import annotations

from typing import Any

import pytest
from botocore.exceptions import (
    CredentialRetrievalError,
    EndpointConnectionError,
    LoginRefreshRequired,
    NoCredentialsError,
    PartialCredentialsError,
    SSOTokenLoadError,
    TokenRetrievalError,
    UnauthorizedSSOTokenError,
)

from constructs_lib.errors import ArgumentError
from constructs_lib.preflight import policy_document, preflight
from constructs_lib.preflight.account import ACTIONS, Account, Refused
from tests.preflight.fake_account import NOW, REGION, FakeAccount, quota, refusal
from tests.preflight.templates import ask, found, mixed, template
from tests.support.iam_linter import findings

_KEY = "alias/volumes"
_ARN = "arn:aws:resource-groups:us-east-1:111122223333:group/gpus"


def _everything() -> dict[str, Any]:
    """A template about which every call is made."""
    target = {
        "CapacityReservationPreference": "capacity-reservations-first",
        "CapacityReservationTarget": {"CapacityReservationResourceGroupArns": [_ARN]},
    }
    group = {**mixed("g6.xlarge", OnDemandPercentageAboveBaseCapacity=50), "CapacityReservationSpecification": target}
    attributes = {"InstanceRequirements": {"VCpuCount": {"Min": 4}, "MemoryMiB": {"Min": 0}}}
    group["MixedInstancesPolicy"]["LaunchTemplate"]["Overrides"].append(attributes)
    output = {"Fn::GetStackOutput": {"StackName": "Net", "OutputName": "Subnet"}}
    group["VPCZoneIdentifier"] = ["subnet-a", output, {"Fn::ImportValue": "second"}, {"Ref": "New"}]
    volume = {"DeviceName": "/dev/xvda", "Ebs": {"Encrypted": True, "KmsKeyId": _KEY}}
    zone = {"Fn::Select": [0, {"Fn::GetAZs": ""}]}
    new = {"Type": "AWS::EC2::Subnet", "Properties": {"AvailabilityZone": zone}}
    elsewhere = {
        "Type": "AWS::AutoScaling::AutoScalingGroup",
        "Properties": {"MaxSize": "1", "LaunchTemplate": {"LaunchTemplateId": "lt-1"}, "VPCZoneIdentifier": "subnet-a"},
    }
    return template(
        group=group, launch={"BlockDeviceMappings": [volume]}, resources={"New": new, "Elsewhere": elsewhere}
    )


def _account(**facts: Any) -> FakeAccount:
    return FakeAccount(
        keys={_KEY: {}},
        stacks={"Net": {"Subnet": "subnet-a"}},
        exports={"second": "subnet-b"},
        group_members=["arn:aws:ec2:us-east-1:111122223333:capacity-reservation/cr-1"],
        reservations=[{"CapacityReservationId": "cr-1", "State": "active", "InstanceType": "g6.xlarge"}],
        quotas=[quota("Running On-Demand G and VT instances", 64)],
        launch_templates={"lt-1": {"InstanceType": "g6.xlarge", "ImageId": "ami-1"}},
        **facts,
    )


def test_the_policy_allows_exactly_what_is_called() -> None:
    account = _account()
    ask(account, _everything())
    assert account.called() == set(ACTIONS)
    statements: Any = policy_document()["Statement"]
    allowed = {action for statement in statements for action in statement["Action"]}
    assert {ACTIONS[call] for call in account.called()} <= allowed
    # What the one call on resource groups reads through.
    assert allowed - set(ACTIONS.values()) == {"cloudformation:ListStackResources", "tag:GetResources"}


def test_the_policy_changes_nothing() -> None:
    statements: Any = policy_document()["Statement"]
    for action in [action for statement in statements for action in statement["Action"]]:
        assert action.partition(":")[2].startswith(("Describe", "Get", "List"))


def test_the_policys_actions_exist() -> None:
    issues = {issue for issue, _ in findings(policy_document())}
    # What a template names is not known when the policy is written.
    assert issues == {"RESOURCE_STAR"}


def test_the_policy_of_another_partition() -> None:
    statements: Any = policy_document(partition="aws-cn")["Statement"]
    assert statements[1]["Resource"] == "arn:aws-cn:iam::*:role/aws-service-role/*"


@pytest.mark.parametrize(("service", "method"), sorted(set(ACTIONS) - {("sts", "get_caller_identity")}))
@pytest.mark.parametrize("code", ["AccessDenied", "AccessDeniedException", "UnauthorizedOperation"])
def test_a_missing_permission_is_named(service: str, method: str, code: str) -> None:
    report = ask(_account(refused={method: refusal(code)}), _everything())
    action = ACTIONS[service, method]
    named = [finding for finding in report.findings if f"may not call {action} ({code})" in finding.message]
    assert named
    assert {finding.severity for finding in named} == {"unknown"}
    assert all(f"allow {action}" in finding.cure for finding in named)


def test_nothing_is_ok_without_any_permission() -> None:
    everything = {method: refusal("AccessDenied") for _, method in ACTIONS}
    report = ask(_account(refused=everything), _everything())
    assert {finding.severity for finding in report.findings} == {"unknown"}
    assert report.worst == "unknown"
    assert report.account is None


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (refusal("RequestLimitExceeded"), "AWS kept throttling ec2:DescribeImages (RequestLimitExceeded)"),
        (refusal("Throttling"), "AWS kept throttling ec2:DescribeImages (Throttling)"),
        (refusal("InternalError", "boom\nboom " * 100), "ec2:DescribeImages gave no answer (InternalError: boom boom"),
        (EndpointConnectionError(endpoint_url="https://x"), "gave no answer (EndpointConnectionError"),
        (NoCredentialsError(), "gave no answer (NoCredentialsError"),
        (NotImplementedError(), "gave no answer (NotImplementedError: NotImplementedError)"),
    ],
)
def test_other_failures(error: Exception, said: str) -> None:
    (finding,) = found(ask(FakeAccount(refused={"describe_images": error})), "image")
    assert finding.severity == "unknown"
    assert said in finding.message
    assert finding.cure
    assert len(finding.message) < 400


def test_each_question_is_put_once() -> None:
    account = FakeAccount(refused={"describe_instance_types": refusal("AccessDenied")})
    ask(account)
    calls = [(method, str(parameters)) for _, method, parameters in account.calls]
    assert len(calls) == len(set(calls))


@pytest.mark.parametrize("method", sorted(method for _, method in ACTIONS))
@pytest.mark.parametrize("items", [None, [], [{}], [None], "text"])
def test_empty_and_odd_answers_bring_nothing_down(method: str, items: object) -> None:
    lists = (
        "InstanceTypes InstanceTypeOfferings AvailabilityZones Reservations CapacityReservations Subnets RouteTables "
        "VpcEndpoints Images Quotas Parameters Grants Resources Stacks Exports LaunchTemplateVersions"
    )
    answer = {} if items is None else dict.fromkeys(lists.split(), items)
    report = ask(_account(answers={method: answer}), _everything())
    assert report.findings


@pytest.mark.parametrize(
    ("method", "answer", "asked"),
    [
        ("describe_instance_type_offerings", {"InstanceTypeOfferings": []}, "type offered"),
        ("describe_images", {"Images": []}, "image"),
        ("get_parameters", {}, "image"),
        ("list_service_quotas", {"Quotas": []}, "vCPU quota"),
        ("describe_subnets", {"Subnets": []}, "subnets"),
        ("describe_route_tables", {"RouteTables": []}, "agent reachable"),
    ],
)
def test_an_empty_answer_is_not_ok(method: str, answer: dict[str, Any], asked: str) -> None:
    findings = found(ask(FakeAccount(answers={method: answer})), asked)
    assert findings
    assert "ok" not in {finding.severity for finding in findings}


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (NoCredentialsError(), "Unable to locate credentials"),
        (PartialCredentialsError(provider="env", cred_var="AWS_SECRET_ACCESS_KEY"), "AWS_SECRET_ACCESS_KEY"),
        (CredentialRetrievalError(provider="sso", error_msg="gone"), "gone"),
        (UnauthorizedSSOTokenError(), "expired"),
        (SSOTokenLoadError(error_msg="no token"), "no token"),
        (TokenRetrievalError(provider="sso", error_msg="expired"), "expired"),
        (LoginRefreshRequired(), "LoginRefreshRequired"),
        *[
            (refusal(code, f"said {code}"), f"said {code}")
            for code in (
                "AuthFailure",
                "ExpiredToken",
                "ExpiredTokenException",
                "InvalidClientTokenId",
                "RequestExpired",
                "SignatureDoesNotMatch",
                "UnrecognizedClientException",
            )
        ],
    ],
)
def test_credentials_that_no_call_could_use_are_refused_at_once(error: Exception, said: str) -> None:
    account = FakeAccount(refused={"get_caller_identity": error})
    with pytest.raises(ArgumentError) as refused:
        ask(account)
    message = str(refused.value)
    assert message.startswith("preflight: session must have credentials that AWS takes, got ")
    assert said in message
    assert "aws sso login" in message
    assert "\n" not in message
    assert account.called() == {("sts", "get_caller_identity")}


@pytest.mark.parametrize(
    "error", [refusal("AccessDenied"), refusal("Throttling"), EndpointConnectionError(endpoint_url="https://x")]
)
def test_who_may_not_ask_for_the_account_may_ask_for_the_rest(error: Exception) -> None:
    report = ask(FakeAccount(refused={"get_caller_identity": error}))
    assert (report.account, report.worst) == (None, "ok")


class _Circling:
    def client(self, *_: object, **__: object) -> _Circling:
        return self

    def list_service_quotas(self, **_: object) -> dict[str, Any]:
        return {"Quotas": [], "NextToken": "again"}

    def list_exports(self) -> None:
        return None


def test_pages_without_end_are_no_answer() -> None:
    with pytest.raises(Refused, match="have no end"):
        Account(_Circling(), REGION, None).ask("service-quotas", "list_service_quotas", "Quotas")


def test_an_answer_that_is_none_is_no_answer() -> None:
    with pytest.raises(Refused, match="gave no answer"):
        Account(_Circling(), REGION, None).ask("cloudformation", "list_exports", "Exports")


def test_progress_hears_of_each_call_before_it_is_made() -> None:
    heard: list[str] = []
    account = FakeAccount()
    ask(account, progress=heard.append)
    assert heard == [ACTIONS[service, method] for service, method, _ in account.calls]


@pytest.mark.parametrize("region", [None, "", "  "])
def test_a_region_is_needed(region: str | None) -> None:
    account = FakeAccount(region_name=None)
    with pytest.raises(ArgumentError, match="region must be the name of a Region"):
        preflight(template(), account, region=region, now=NOW)
    assert preflight(template(), account, region=REGION, now=NOW).region == REGION
