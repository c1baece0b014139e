"""What roles and policies say, from templates: by reference, by name, by policies of AWS."""

from __future__ import annotations

import re
from typing import Any

import pytest

from constructs_lib.compliance.checking import check
from constructs_lib.compliance.deployment import Deployment, Resource, Source
from constructs_lib.compliance.facts.launches import launches
from constructs_lib.compliance.facts.managed_policies import managed_policies, managed_policy
from constructs_lib.compliance.facts.policies import Statement, policy_statements, settled, stands_for
from constructs_lib.compliance.facts.reach import Power, Unlimited, unlimited
from constructs_lib.compliance.facts.roles import allows, role_of, role_of_function, statements_of
from constructs_lib.compliance.rules import RULES
from constructs_lib.compliance.values import NotKnown, Value
from scripts.managed_policies import asked_for, made
from tests.compliance.cases import group, template
from tests.compliance.rules.permissions import FUNCTION, allow, role

_PROFILE = {"Type": "IAM::InstanceProfile", "Properties": {"Roles": [{"Ref": "Role"}]}}
_AGENT = "arn:aws:iam::aws:policy/CloudWatchAgentServerPolicy"


def _deployment(content: Any) -> Deployment:
    return Deployment([Source(name="template", content=content)])


def _resource(content: Any, id: str = "Role") -> Resource:
    return _deployment(content).stacks[0].resources[id]


def _role_of_instances(content: Any) -> Resource | None:
    return role_of(launches(_deployment(content))[0])


@pytest.mark.parametrize(
    "profile",
    [
        {"Arn": {"Fn::GetAtt": ["Profile", "Arn"]}},
        {"Name": {"Ref": "Profile"}},
        {"Arn": {"Fn::Sub": "arn:aws:iam::${AWS::AccountId}:instance-profile/${Profile}"}},
        {"Name": "fleet"},
        {"Arn": "arn:aws:iam::111122223333:instance-profile/path/fleet"},
    ],
)
def test_the_role_of_a_group_is_found_through_its_profile(profile: Any) -> None:
    named = {"Type": "IAM::InstanceProfile", "Properties": {"Roles": [{"Ref": "Role"}], "InstanceProfileName": "fleet"}}
    found = _role_of_instances(group(launch={"IamInstanceProfile": profile}, Profile=named, Role=role()))
    assert found is not None
    assert found.id == "Role"


def test_an_instance_and_a_node_group_name_theirs_in_their_own_ways() -> None:
    box = {
        "Type": "EC2::Instance",
        "Properties": {"InstanceType": "g6.xlarge", "IamInstanceProfile": {"Ref": "Profile"}},
    }
    nodes = {
        "Type": "EKS::Nodegroup",
        "Properties": {"InstanceTypes": ["g6.xlarge"], "NodeRole": {"Fn::GetAtt": ["Role", "Arn"]}},
    }
    batch = {
        "Type": "Batch::ComputeEnvironment",
        "Properties": {
            "ComputeResources": {"InstanceTypes": ["g6"], "InstanceRole": {"Fn::GetAtt": ["Profile", "Arn"]}}
        },
    }
    for owner in (box, nodes, batch):
        found = _role_of_instances(template(Owner=owner, Profile=_PROFILE, Role=role()))
        assert found is not None
        assert found.id == "Role"


def test_without_a_profile_there_is_no_role() -> None:
    assert _role_of_instances(group()) is None


@pytest.mark.parametrize(
    "profile", [{"Arn": "arn:aws:iam::111122223333:instance-profile/other"}, {"Name": {"Fn::ImportValue": "x"}}]
)
def test_a_profile_that_is_elsewhere_is_not_known(profile: Any) -> None:
    with pytest.raises(NotKnown, match="not in the templates"):
        _role_of_instances(group(launch={"IamInstanceProfile": profile}))


def test_the_role_of_a_function() -> None:
    found = role_of_function(_resource(template(Function=FUNCTION, Role=role()), "Function"))
    assert found is not None
    assert found.id == "Role"
    assert role_of_function(_resource(template(Function={"Type": "Serverless::Function"}), "Function")) is None
    sam = {**FUNCTION, "Type": "Serverless::Function"}
    found = role_of_function(_resource(template(Function=sam, Role=role()), "Function"))
    assert found is not None
    assert found.id == "Role"
    with pytest.raises(NotKnown):
        role_of_function(_resource(template(Function={"Type": "Lambda::Function"}), "Function"))


def test_a_role_has_statements_in_four_ways() -> None:
    policy = {"PolicyDocument": {"Statement": allow("sqs:ReceiveMessage")}}
    content = template(
        Role=role(allow("s3:GetObject"), ManagedPolicyArns=[_AGENT, {"Ref": "More"}], RoleName="fleet"),
        More={"Type": "IAM::ManagedPolicy", "Properties": {"PolicyDocument": {"Statement": [allow("ecs:Poll")]}}},
        ByReference={"Type": "IAM::Policy", "Properties": {**policy, "Roles": [{"Ref": "Role"}]}},
        ByName={"Type": "IAM::RolePolicy", "Properties": {"RoleName": "fleet", **policy}},
    )
    statements = [settled(each) for each in statements_of(_resource(content))]
    assert {each.value.resource.id for each in statements} == {"Role", "More", "ByReference", "ByName"}
    for action in ("s3:GetObject", "ecs:Poll", "sqs:ReceiveMessage", "cloudwatch:PutMetricData"):
        assert allows(_resource(content), action), action
    assert not allows(_resource(content), "ec2:TerminateInstances")


def test_a_statement_that_takes_away_everywhere_counts_and_one_with_a_condition_does_not() -> None:
    gives = allow("s3:*")
    takes = {**allow("s3:PutObject"), "Effect": "Deny"}
    assert not allows(_resource(template(Role=role(gives, takes))), "s3:PutObject")
    assert allows(_resource(template(Role=role(gives, {**takes, "Condition": {"Bool": {"a": "b"}}}))), "s3:PutObject")
    assert allows(_resource(template(Role=role(gives, {**takes, "Resource": "arn:aws:s3:::x"}))), "s3:PutObject")


@pytest.mark.parametrize(
    "content",
    [
        template(Role=role(ManagedPolicyArns=["arn:aws:iam::aws:policy/SomethingNew"])),
        template(Role=role(ManagedPolicyArns=["arn:aws:iam::111122223333:policy/AdministratorAccess"])),
        {"Transform": "Ours"} | template(Role=role()),
        template(Role=role())
        | {"Outputs": {"R": {"Value": {"Fn::GetAtt": ["Role", "Arn"]}, "Export": {"Name": "role"}}}},
        template(Role=role(), More={"Type": "Custom::Attach", "Properties": {"Role": {"Ref": "Role"}}}),
        {"Parameters": {"Given": {"Type": "String"}}} | template(Role=role(ManagedPolicyArns={"Ref": "Given"})),
    ],
)
def test_what_may_be_given_elsewhere_is_not_known(content: Any) -> None:
    with pytest.raises(NotKnown):
        allows(_resource(content), "s3:GetObject")


def test_policies_of_aws_are_known_by_their_arn_in_each_partition() -> None:
    for arn in (
        "arn:aws-cn:iam::aws:policy/AdministratorAccess",
        {"Fn::Sub": "arn:${AWS::Partition}:iam::aws:policy/X"},
    ):
        content = template(Role=role(ManagedPolicyArns=[arn]))
        if isinstance(arn, str):
            assert allows(_resource(content), "ec2:TerminateInstances")
        else:
            with pytest.raises(NotKnown, match="policy X"):
                allows(_resource(content), "ec2:TerminateInstances")


def test_actions_match_as_iam_has_it() -> None:
    assert stands_for("ec2:*", "ec2:TerminateInstances")
    assert stands_for("EC2:terminate*", "ec2:TerminateInstances")
    assert stands_for("ec2:Terminate?nstances", "ec2:TerminateInstances")
    assert not stands_for("ec2:Terminate", "ec2:TerminateInstances")
    assert not stands_for("ec2:[T]*", "ec2:TerminateInstances")


def _statement(**words: Any) -> Statement:
    made = _resource(template(Role=role({"Effect": "Allow", **words})))
    (statement,) = policy_statements(made.properties.at("Policies").each()[0].at("PolicyDocument"))
    return settled(statement)


def test_not_action_is_about_all_the_rest() -> None:
    statement = _statement(NotAction=["iam:*"], Resource="*")
    assert statement.covers("ec2:StopInstances")
    assert not statement.covers("iam:PassRole")


def test_whom_a_statement_is_for() -> None:
    assert _statement(Principal="*").is_for_service("events.amazonaws.com")
    assert _statement(Principal={"AWS": ["1", "*"]}).is_for_everybody()
    assert _statement(Principal={"Service": ["a", "events.amazonaws.com"]}).is_for_service("events.amazonaws.com")
    assert not _statement(Principal={"AWS": {"Fn::GetAtt": ["Role", "Arn"]}}).is_for_everybody()
    with pytest.raises(NotKnown):
        _statement(NotPrincipal={"AWS": "1"}).is_for_everybody()


def test_the_arn_of_a_resource_is_not_everything() -> None:
    assert not _statement(Resource={"Fn::GetAtt": ["Role", "Arn"]}).is_about_everything()
    assert not _statement(Resource=[{"Fn::Sub": "${AWS::StackName}-*"}]).is_about_everything()
    assert _statement(Resource=["arn:aws:s3:::x", "*"]).is_about_everything()
    assert _statement(NotResource="arn:aws:s3:::x").is_about_everything()
    assert not _statement().is_about_everything()


def test_what_a_role_may_do_everywhere_names_the_actions() -> None:
    power = Power(actions=("ec2:StopInstances", "ecs:StopTask", "ec2:DeleteVolume"))
    (found,) = unlimited(_resource(template(Role=role(allow("ec2:*")))), power)
    assert isinstance(found, Unlimited)
    assert found.actions == ("ec2:StopInstances", "ec2:DeleteVolume")


def test_arns_of_whatever_there_is_of_a_kind_are_no_limit_to_actions_of_their_service() -> None:
    power = Power(
        actions=("ec2:StopInstances", "sqs:PurgeQueue"), everything={"ec2": re.compile(r"arn:aws:ec2:.*:instance/\*")}
    )
    everywhere = ["arn:aws:ec2:eu-central-1:111122223333:instance/*", "arn:aws:sqs:eu-central-1:111122223333:ours"]
    holder = _resource(template(Role=role(allow(["ec2:StopInstances", "sqs:PurgeQueue"], everywhere))))
    (found,) = unlimited(holder, power)
    assert isinstance(found, Unlimited)
    assert found.actions == ("ec2:StopInstances",)


def test_a_statement_of_all_actions_is_told_as_such() -> None:
    content = group(Function=FUNCTION, Role=role(allow("*")))
    report = check([_deployment(content)], [RULES[each] for each in RULES if each.startswith("may-")])
    assert [each.rule for each in report.findings] == ["may-end-anything"]
    assert (
        "must allow the actions that are needed, on resources of the stack, and not all" in report.findings[0].message
    )


def test_a_statement_of_all_actions_of_a_service_is_told_once_and_what_is_besides_by_itself() -> None:
    def told(*actions: str) -> list[tuple[str, str, str]]:
        content = group(Function=FUNCTION, Role=role(allow([*actions, "ec2:*"])))
        report = check([_deployment(content)], [RULES[each] for each in RULES if each.startswith("may-")])
        return [(each.rule, each.message, each.fix) for each in report.findings]

    ((rule, message, _),) = told("autoscaling:*")
    assert rule == "may-end-anything"
    assert "must allow what is needed, on resources of the stack, in place of ec2:* and autoscaling:*" in message
    first, second = told("s3:PutObject")
    assert (first[0], second[0]) == ("may-end-anything", "may-change-any-data")
    assert "limit s3:PutObject to resources" in second[1]
    assert second[2] == "name the ARNs of the buckets in Resource"


def test_the_cure_names_what_is_deleted() -> None:
    content = group(Function=FUNCTION, Role=role(allow(["ec2:DeleteSnapshot", "ec2:StopInstances"])))
    (found,) = check([_deployment(content)], [RULES["may-change-any-data"]]).findings
    assert found.fix == "name the ARNs of the snapshots in Resource"


def test_a_message_names_three_actions_and_counts_the_rest() -> None:
    def message(*actions: str) -> str:
        content = group(Function=FUNCTION, Role=role(allow(list(actions))))
        (found,) = check([_deployment(content)], [RULES["may-end-anything"]]).findings
        return found.message

    few = ("ec2:TerminateInstances", "ec2:StopInstances", "ec2:DeleteVolume")
    assert "limit ec2:TerminateInstances, ec2:StopInstances, ec2:DeleteVolume to resources" in message(*few)
    assert "ec2:DeleteVolume and 2 more to resources" in message(*few, "ecs:StopTask", "batch:TerminateJob")


def test_what_is_malformed_is_not_known() -> None:
    for words in ({"Statement": 1}, {"Statement": [1]}, "text"):
        made = _resource(template(Role={"Type": "IAM::Role", "Properties": {"Policies": [{"PolicyDocument": words}]}}))
        with pytest.raises(NotKnown):
            allows(made, "s3:GetObject")
    assert isinstance(made.properties, Value)


def test_a_role_of_another_stack_is_found_when_both_are_deployed_together() -> None:
    export = {"Value": {"Fn::GetAtt": ["Profile", "Arn"]}, "Export": {"Name": "profile"}}
    roles = template(Profile=_PROFILE, Role=role(allow("ec2:TerminateInstances"))) | {"Outputs": {"Profile": export}}
    fleet = group(launch={"IamInstanceProfile": {"Arn": {"Fn::ImportValue": "profile"}}})
    deployment = Deployment(
        [Source(name="roles", stack="roles", content=roles), Source(name="fleet", stack="fleet", content=fleet)]
    )
    found = role_of(launches(deployment)[0])
    assert found is not None
    assert (found.stack.name, found.id) == ("roles", "Role")
    (broken,) = check([deployment], [RULES["may-end-anything"]]).findings
    assert (broken.location.stack, broken.resource) == ("roles", "Role")


def test_what_stands_in_a_stack_without_accelerators_is_left_alone() -> None:
    web = template(Function=FUNCTION, Role=role(allow("*")))
    both = [Source(name="web", stack="web", content=web), Source(name="fleet", stack="fleet", content=group())]
    assert check([Deployment(both)], [RULES["may-end-anything"]]).findings == ()


def test_each_statement_of_a_known_policy_of_aws_is_one_that_iam_takes() -> None:
    for name, statements in managed_policies().items():
        for each in statements:
            assert set(each) <= {"Effect", "Action", "NotAction", "Resource", "NotResource", "Condition"}, name
            assert ("Action" in each) != ("NotAction" in each), name
            assert ("Resource" in each) != ("NotResource" in each), name
            assert each["Effect"] in ("Allow", "Deny"), name
            actions = each.get("Action") or each["NotAction"]
            assert all(action == "*" or action.count(":") == 1 for action in actions), name
            assert len(set(actions)) == len(actions), name


def test_the_tables_of_policies_of_aws_are_what_their_command_makes_for_what_rules_ask() -> None:
    """If not: ``python -m scripts.managed_policies``."""
    assert "ec2:StopInstances" in asked_for()
    for file, text in made().items():
        assert file.read_text(encoding="utf-8") == text, file.name


@pytest.mark.parametrize(
    ("policy", "given", "not_given"),
    [
        ("AmazonEC2FullAccess", "ec2:StopInstances", "sagemaker:DeleteEndpoint"),
        ("AmazonEC2ReadOnlyAccess", "ec2:DescribeTags", "ec2:StopInstances"),
        ("AmazonSageMakerFullAccess", "sagemaker:DeleteEndpoint", "ec2:StopInstances"),
        ("AmazonDynamoDBFullAccess", "dynamodb:DeleteItem", "ec2:TerminateInstances"),
        ("AmazonBedrockFullAccess", "iam:PassRole", "autoscaling:SetDesiredCapacity"),
        ("AmazonSSMManagedInstanceCore", None, "ec2:StopInstances"),
        ("AmazonEC2SpotFleetTaggingRole", "ec2:TerminateInstances", "ec2:StopInstances"),
        ("AmazonTextractFullAccess", None, "ec2:StopInstances"),
        ("PowerUserAccess", "ec2:StopInstances", "iam:PassRole"),
    ],
)
def test_what_a_policy_of_aws_gives(policy: str, given: str | None, not_given: str) -> None:
    content = template(Role=role(ManagedPolicyArns=[f"arn:aws:iam::aws:policy/{policy}"]))
    assert given is None or allows(_resource(content), given)
    assert not allows(_resource(content), not_given)


def test_a_policy_that_aws_made_later_is_not_known() -> None:
    assert managed_policy("AmazonQuantumFullAccess") is None
    assert managed_policy("AmazonTextractFullAccess") == []
