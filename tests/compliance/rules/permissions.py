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


def _instance(role_: Any, types: tuple[str, ...] = (), **more: Any) -> dict[str, Any]:
    profile = {"Type": "IAM::InstanceProfile", "Properties": {"Roles": [{"Ref": "Role"}]}}
    arn = {"Fn::GetAtt": ["Profile", "Arn"]}
    return group(*types, launch={"IamInstanceProfile": {"Arn": arn}}, Profile=profile, Role=role_, **more)


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


def _acting(*statements: Any, types: tuple[str, ...] = (), **more: Any) -> dict[str, Any]:
    """A function that acts on accelerated capacity, of its own alone, and does what the statements say besides."""
    own = allow("autoscaling:SetDesiredCapacity", {"Fn::Sub": "arn:aws:autoscaling:*:*:*/${Group}"})
    return _function(own, *statements, types=types, **more)


_SECOND = "Policies[0].PolicyDocument.Statement[1].Resource"
_LAUNCHES = ["ec2:RunInstances", "ec2:CreateTags"]
_BY_TEMPLATE = {"ArnLike": {"ec2:LaunchTemplate": {"Fn::Sub": "arn:aws:ec2:*:*:launch-template/${Launch}"}}}
_TO_EC2 = {"StringEquals": {"iam:PassedToService": "ec2.amazonaws.com"}}
_OTHER_ROLE = "arn:aws:iam::111122223333:role/ours"

CASES = (
    Case(
        rule="may-launch-anything",
        breaks=(
            Breaks(template=_function(allow(_LAUNCHES)), resource="Role", property=_PATH, got="'*'"),
            Breaks(template=_function(allow("ec2:CreateFleet")), resource="Role", property=_PATH),
            Breaks(template=_function(allow("autoscaling:Create*")), resource="Role", property=_PATH),
            Breaks(template=_function(allow("sagemaker:Create*")), resource="Role", property=_PATH),
            Breaks(template=_function(allow("batch:Submit*")), resource="Role", property=_PATH),
            Breaks(template=_function(allow("ecs:Run*")), resource="Role", property=_PATH),
            Breaks(template=_function(allow("eks:Create*")), resource="Role", property=_PATH),
            Breaks(template=_instance(role(allow(["ec2:RunInstances"]))), resource="Role", property=_PATH),
            Breaks(
                template=_function(allow(_LAUNCHES, Condition={"StringEquals": {"ec2:Region": "us-east-1"}})),
                resource="Role",
                property=_PATH,
            ),
            Breaks(
                template=_instance(role(ManagedPolicyArns=["arn:aws:iam::aws:policy/AmazonEC2SpotFleetTaggingRole"])),
                resource="Role",
                property="ManagedPolicyArns[0]",
            ),
        ),
        keeps=(
            # All of a service is told once, by what may be ended with it.
            _function(allow("batch:*")),
            _function(allow("ecs:*")),
            _function(allow("eks:*")),
            _instance(role(ManagedPolicyArns=["arn:aws:iam::aws:policy/AmazonEC2FullAccess"])),
            _function(allow(_LAUNCHES, Condition=_BY_TEMPLATE)),
            _function(allow("ec2:RunInstances", Condition={"StringEquals": {"ec2:InstanceType": "g6.xlarge"}})),
            _function(allow("ec2:RunInstances", ["arn:aws:ec2:*:*:instance/*", "arn:aws:ec2:*::image/ami-0"])),
            # A limit to what may be launched may be taken away in a statement of its own.
            _function(
                allow(_LAUNCHES),
                {
                    "Effect": "Deny",
                    "Action": "ec2:RunInstances",
                    "Resource": "arn:aws:ec2:*:*:instance/*",
                    "Condition": {"StringNotEquals": {"ec2:InstanceType": "g6.xlarge"}},
                },
            ),
            # None of these can be limited to resources.
            _function(allow(["ec2:Describe*", "ecs:CreateCapacityProvider", "ecs:DiscoverPollEndpoint", "eks:List*"])),
            # All that there is, is told once, by may-end-anything.
            _function(allow("*")),
            _instance(role(ManagedPolicyArns=["arn:aws:iam::aws:policy/AdministratorAccess"])),
            _function(allow(_LAUNCHES), types=("m7i.large",)),
        ),
        unknown=(
            _GIVEN | _function(allow(_LAUNCHES, {"Ref": "Given"})),
            _function(Role=role(allow(_LAUNCHES), PermissionsBoundary="arn:aws:iam::111122223333:policy/limit")),
        ),
    ),
    Case(
        rule="may-take-any-role",
        breaks=(
            Breaks(template=_acting(allow("iam:PassRole")), resource="Role", property=_SECOND, got="'*'"),
            Breaks(
                template=_acting(allow(["iam:CreateRole", "iam:AttachRolePolicy"])), resource="Role", property=_SECOND
            ),
            Breaks(template=_acting(allow("sts:AssumeRole")), resource="Role", property=_SECOND),
            Breaks(template=_instance(role(allow("iam:*"))), resource="Role", property=_PATH),
            # May-end-anything, which tells of all that there is, finds nothing here to be ended.
            Breaks(
                template=_instance(role(allow("*"), {"Effect": "Deny", "NotAction": "iam:*", "Resource": "*"})),
                resource="Role",
                property=_PATH,
            ),
        ),
        keeps=(
            _acting(allow("iam:PassRole", _OTHER_ROLE)),
            _acting(allow("iam:PassRole", Condition=_TO_EC2)),
            _acting(allow(["iam:Get*", "iam:ListRoles"])),
            _acting(allow("iam:CreateServiceLinkedRole", Condition={"StringEquals": {"iam:AWSServiceName": "x"}})),
            _acting(allow("*")),
            # It stands beside accelerators and has nothing to do with them.
            _function(allow("iam:PassRole")),
            _acting(allow("iam:PassRole"), types=("m7i.large",)),
        ),
        unknown=(
            _GIVEN | _acting(allow("iam:PassRole", {"Ref": "Given"})),
            _function(Role=role(allow("iam:PassRole"), ManagedPolicyArns=["arn:aws:iam::111122223333:policy/ours"])),
        ),
    ),
    Case(
        rule="may-command-any-instance",
        breaks=(
            Breaks(template=_acting(allow("ssm:SendCommand")), resource="Role", property=_SECOND, got="'*'"),
            # Who sends commands acts on whatever he sends them to.
            Breaks(template=_function(allow(["ssm:SendCommand", "ssm:Get*"])), resource="Role", property=_PATH),
            Breaks(template=_instance(role(allow("ssm:*"))), resource="Role", property=_PATH),
        ),
        keeps=(
            _acting(allow("ssm:SendCommand", Condition={"StringEquals": {"ssm:resourceTag/fleet": "train-1"}})),
            _acting(
                allow(
                    "ssm:SendCommand",
                    ["arn:aws:ssm:*::document/AWS-RunShellScript", "arn:aws:ec2:*:*:instance/i-0123456789abcdef0"],
                )
            ),
            _acting(allow(["ssm:GetCommandInvocation", "ssm:GetParameter", "ssmmessages:*", "ec2messages:*"])),
            _instance(role(ManagedPolicyArns=["arn:aws:iam::aws:policy/AmazonSSMManagedInstanceCore"])),
            _acting(allow("*")),
            _function(allow("ssm:SendCommand"), types=("m7i.large",)),
        ),
        unknown=(_GIVEN | _acting(allow("ssm:SendCommand", {"Ref": "Given"})),),
    ),
    Case(
        rule="may-change-any-data",
        breaks=(
            Breaks(template=_instance(role(allow("s3:*"))), resource="Role", property=_PATH, got="'*'"),
            Breaks(template=_instance(role(allow(["s3:PutObject"]))), resource="Role", property=_PATH),
            Breaks(template=_instance(role(allow("s3:*", "arn:aws:s3:::*"))), resource="Role", property=_PATH),
            Breaks(template=_acting(allow("dynamodb:*")), resource="Role", property=_SECOND),
            Breaks(template=_acting(allow("sqs:Delete*")), resource="Role", property=_SECOND),
            Breaks(
                template=_instance(role(ManagedPolicyArns=["arn:aws:iam::aws:policy/AmazonS3FullAccess"])),
                resource="Role",
                property="ManagedPolicyArns[0]",
                got="AmazonS3FullAccess",
            ),
        ),
        keeps=(
            _instance(role(allow("s3:*", ["arn:aws:s3:::models", "arn:aws:s3:::models/*"]))),
            _instance(role(allow("s3:*", Condition={"StringEquals": {"s3:ResourceAccount": "111122223333"}}))),
            _instance(role(allow(["s3:Get*", "s3:List*", "dynamodb:Query", "ecr:GetAuthorizationToken", "logs:*"]))),
            _instance(role(ManagedPolicyArns=["arn:aws:iam::aws:policy/AmazonS3ReadOnlyAccess"])),
            _acting(allow("*")),
            _function(allow("s3:*")),
            _instance(role(allow("s3:*")), types=("m7i.large",)),
        ),
        unknown=(_GIVEN | _instance(role(allow("s3:*", {"Ref": "Given"}))),),
    ),
    Case(
        rule="may-end-anything",
        breaks=(
            # Every group, instance and endpoint by its kind.
            *(
                Breaks(template=_function(allow(action, arn)), resource="Role", property=_PATH)
                for action, arn in (
                    (
                        "autoscaling:UpdateAutoScalingGroup",
                        {"Fn::Sub": "arn:aws:autoscaling:${AWS::Region}:*:autoScalingGroup:*:autoScalingGroupName/*"},
                    ),
                    ("ec2:TerminateInstances", "arn:aws:ec2:*:111122223333:instance/*"),
                    ("sagemaker:DeleteEndpoint", ["arn:aws:sagemaker:*:*:endpoint/*"]),
                )
            ),
            # A stack is all that it has.
            Breaks(template=_function(allow("cloudformation:DeleteStack")), resource="Role", property=_PATH),
            Breaks(template=_function(allow("ec2:DeleteFleets")), resource="Role", property=_PATH),
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
            _function(allow("ec2:TerminateInstances", "arn:aws:ec2:*:*:instance/*", Condition=_OWN)),
            _function(allow("sagemaker:DeleteEndpoint", "arn:aws:sagemaker:*:*:endpoint/ours-*")),
            # Every image, and no instance.
            _function(allow(["ec2:TerminateInstances", "ecr:PutImage"], "arn:aws:ecr:*:*:repository/*")),
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
