"""Field case 37; which actions can be limited: "Service Authorization Reference"."""

from typing import Any

from tests.compliance.cases import Breaks, Case, group

_ENDS = ["ec2:TerminateInstances", "ec2:DescribeInstances"]
_OWN = {"StringEquals": {"aws:ResourceTag/fleet": "train-1"}}
_PATH = "Policies[0].PolicyDocument.Statement[0].Resource"


def allow(action: Any, resource: Any = "*", **more: Any) -> dict[str, Any]:
    return {"Effect": "Allow", "Action": action, "Resource": resource, **more}


def role(*statements: Any, **more: Any) -> dict[str, Any]:
    policies = [{"PolicyName": "p", "PolicyDocument": {"Statement": list(statements)}}] if statements else []
    return {"Type": "IAM::Role", "Properties": {"AssumeRolePolicyDocument": {}, "Policies": policies, **more}}


FUNCTION: dict[str, Any] = {"Type": "Lambda::Function", "Properties": {"Role": {"Fn::GetAtt": ["Role", "Arn"]}}}


def _function(*statements: Any, types: tuple[str, ...] = (), **more: Any) -> dict[str, Any]:
    return group(*types, **{"Function": FUNCTION, "Role": role(*statements), **more})


def _instance(role_: Any, **more: Any) -> dict[str, Any]:
    profile = {"Type": "IAM::InstanceProfile", "Properties": {"Roles": [{"Ref": "Role"}]}}
    arn = {"Fn::GetAtt": ["Profile", "Arn"]}
    return group(launch={"IamInstanceProfile": {"Arn": arn}}, Profile=profile, Role=role_, **more)


_APART = {
    "Type": "IAM::Policy",
    "Properties": {
        "PolicyName": "p",
        "Roles": [{"Ref": "Role"}],
        "PolicyDocument": {"Statement": allow("autoscaling:*")},
    },
}
_MANAGED = {"Type": "IAM::ManagedPolicy", "Properties": {"PolicyDocument": {"Statement": [allow("ecs:*")]}}}
_GIVEN = {"Parameters": {"Given": {"Type": "String"}}}
_SAM = {
    "Type": "Serverless::Function",
    "Properties": {"Policies": ["AWSLambdaBasicExecutionRole", {"Statement": [allow("ec2:Stop*")]}]},
}

CASES = (
    Case(
        rule="may-end-anything",
        breaks=(
            Breaks(template=_function(allow(_ENDS)), resource="Role", property=_PATH, got="'*'"),
            Breaks(template=_function(allow("*")), resource="Role", property=_PATH),
            Breaks(template=_function(allow("EC2:terminate*", ["*"])), resource="Role", property=_PATH),
            # One action that is not known does not hide another.
            Breaks(
                template=_GIVEN | _function(allow([{"Ref": "Given"}, "ec2:StopInstances"])),
                resource="Role",
                property=_PATH,
            ),
            # A Region is no limit to what is one's own.
            Breaks(
                template=_function(allow(_ENDS, Condition={"StringEquals": {"aws:RequestedRegion": "us-east-1"}})),
                resource="Role",
                property=_PATH,
            ),
            Breaks(
                template=_function(
                    {"Effect": "Allow", "NotAction": "iam:*", "NotResource": "arn:aws:s3:::private"},
                ),
                resource="Role",
                property="Policies[0].PolicyDocument.Statement[0].NotResource",
            ),
            Breaks(
                template=_instance(role(), Apart=_APART), resource="Apart", property="PolicyDocument.Statement.Resource"
            ),
            Breaks(
                template=_instance(role(ManagedPolicyArns=[{"Ref": "More"}]), More=_MANAGED),
                resource="More",
                property="PolicyDocument.Statement[0].Resource",
            ),
            Breaks(
                template=_instance(role(ManagedPolicyArns=["arn:aws:iam::aws:policy/AmazonEC2FullAccess"])),
                resource="Role",
                property="ManagedPolicyArns[0]",
                got="AmazonEC2FullAccess",
            ),
            Breaks(
                template=_instance(
                    role(ManagedPolicyArns=[{"Fn::Sub": "arn:${AWS::Partition}:iam::aws:policy/AdministratorAccess"}])
                ),
                resource="Role",
                property="ManagedPolicyArns[0]",
            ),
            Breaks(template=group(Function=_SAM), resource="Function", property="Policies[1].Statement[0].Resource"),
        ),
        keeps=(
            _function(allow(_ENDS, Condition=_OWN)),
            _function(allow("autoscaling:SetDesiredCapacity", {"Fn::Sub": "arn:aws:autoscaling:*:*:*/${Group}"})),
            _function(allow("ec2:TerminateInstances", {"Fn::GetAtt": ["Group", "Arn"]})),
            # No action that takes away, or none that can be limited.
            _function(allow(["ec2:Describe*", "cloudwatch:PutMetricData", "ec2:CreateTags", "logs:*"])),
            _function(allow(_ENDS), {"Effect": "Deny", "Action": "ec2:Terminate*", "Resource": "*", "Condition": _OWN}),
            _function({"Effect": "Deny", "Action": "*", "Resource": "*"}),
            _instance(
                role(
                    ManagedPolicyArns=[
                        "arn:aws:iam::aws:policy/CloudWatchAgentServerPolicy",
                        "arn:aws:iam::aws:policy/AmazonSSMManagedInstanceCore",
                        "arn:aws:iam::aws:policy/service-role/AmazonEC2ContainerServiceforEC2Role",
                    ]
                )
            ),
            _function(allow("*"), types=("m7i.large",)),
        ),
        unknown=(
            _GIVEN | _function(allow(_ENDS, {"Ref": "Given"})),
            _GIVEN | _function(allow({"Ref": "Given"})),
            _GIVEN | _function(allow(_ENDS, Condition={"Ref": "Given"})),
            _function(Role=role(ManagedPolicyArns=["arn:aws:iam::111122223333:policy/ours"])),
            _function(Role=role(allow(_ENDS), PermissionsBoundary="arn:aws:iam::111122223333:policy/limit")),
            group(Function={"Type": "Lambda::Function", "Properties": {"Role": "arn:aws:iam::111122223333:role/ours"}}),
            group(Function={"Type": "Serverless::Function", "Properties": {"Policies": [{"SQSPollerPolicy": {}}]}}),
        ),
    ),
)
