"""Field case 52; "Sending Lambda function logs to CloudWatch Logs", AWS Lambda Developer Guide."""

from typing import Any

from tests.compliance.cases import Breaks, Case, group
from tests.compliance.rules.permissions import allow, role

_WRITES = "arn:aws:iam::aws:policy/service-role/AWSLambdaBasicExecutionRole"
_KNOWS_GROUP = {"Environment": {"Variables": {"GROUP": {"Ref": "Group"}}}}


def _function(**properties: Any) -> dict[str, Any]:
    return {
        "Type": "Lambda::Function",
        "Properties": {"Role": {"Fn::GetAtt": ["Role", "Arn"]}, **_KNOWS_GROUP, **properties},
    }


def _acting(function: Any = None, **more: Any) -> dict[str, Any]:
    made = {"Function": function or _function(), "Role": role(ManagedPolicyArns=[_WRITES])}
    return group(*more.pop("types", ()), **{**made, **more})


def _logs(name: Any = None, **properties: Any) -> dict[str, Any]:
    return {"Type": "Logs::LogGroup", "Properties": {**({} if name is None else {"LogGroupName": name}), **properties}}


_NAMED = {"LoggingConfig": {"LogGroup": {"Ref": "Logs"}}}
_OWN_NAME = {"Fn::Sub": "/aws/lambda/${Function}"}
_GIVEN = {"Parameters": {"Given": {"Type": "String"}}}
_RETENTION = {
    "Type": "Custom::LogRetention",
    "Properties": {"LogGroupName": {"Fn::Join": ["", ["/aws/lambda/", {"Ref": "Function"}]]}, "RetentionInDays": 7},
}

CASES = (
    Case(
        rule="logs-never-expire",
        breaks=(
            Breaks(template=_acting(), resource="Function", property="LoggingConfig.LogGroup", got="nothing"),
            Breaks(template=_acting(_function(**_NAMED), Logs=_logs()), resource="Logs", property="RetentionInDays"),
            Breaks(template=_acting(Logs=_logs(_OWN_NAME)), resource="Logs", property="RetentionInDays"),
            Breaks(
                template=_acting(_function(FunctionName="release"), Logs=_logs("/aws/lambda/release")),
                resource="Logs",
                property="RetentionInDays",
            ),
            # Others write into the group: an agent, containers, a service.
            Breaks(
                template=group(Logs=_logs("/gpu/workers")), resource="Logs", property="RetentionInDays", got="nothing"
            ),
            # What SAM takes for all functions is for its own.
            Breaks(
                template={"Globals": {"Function": _NAMED}} | _acting(Logs=_logs(RetentionInDays=30)),
                resource="Function",
                property="LoggingConfig.LogGroup",
            ),
            # It knows no group by reference, but may end instances.
            Breaks(
                template=_acting(
                    _function(Environment={}),
                    Role=role(allow("ec2:TerminateInstances"), ManagedPolicyArns=[_WRITES]),
                ),
                resource="Function",
                property="LoggingConfig.LogGroup",
            ),
        ),
        keeps=(
            _acting(_function(**_NAMED), Logs=_logs(RetentionInDays=30)),
            _acting(Logs=_logs(_OWN_NAME, RetentionInDays="14")),
            _acting(_function(FunctionName="release"), Logs=_logs("/aws/lambda/release", RetentionInDays=1)),
            _acting(_function(LoggingConfig={"LogGroup": "ours"}), Logs=_logs("ours", RetentionInDays=30)),
            _acting(Keep=_RETENTION),
            # Without the right to make one it makes none.
            _acting(Role=role(allow(["logs:CreateLogStream", "logs:PutLogEvents"]))),
            # A function that has nothing to do with accelerators.
            _acting(_function(Environment={})),
            _acting(types=("m7i.large",)),
            group("m7i.large", Logs=_logs("/web")),
            group(Logs=_logs("/gpu/workers", RetentionInDays="30")),
            group(
                Logs=_logs("ours"),
                Keep={**_RETENTION, "Properties": {"LogGroupName": {"Ref": "Logs"}, "RetentionInDays": 7}},
            ),
            {"Globals": {"Function": {"LoggingConfig": {"LogGroup": {"Ref": "Logs"}}}}}
            | group(
                Function={"Type": "Serverless::Function", "Properties": _KNOWS_GROUP}, Logs=_logs(RetentionInDays=30)
            ),
        ),
        unknown=(
            _GIVEN | _acting(_function(LoggingConfig={"LogGroup": {"Ref": "Given"}})),
            _acting(_function(LoggingConfig={"LogGroup": "ours"})),
            _GIVEN | _acting(_function(**_NAMED), Logs=_logs(RetentionInDays={"Ref": "Given"})),
            _acting(_function(Role="arn:aws:iam::111122223333:role/ours")),
            {"Transform": "OurMacro"} | _acting(),
            _GIVEN | group(Logs=_logs(RetentionInDays={"Ref": "Given"})),
        ),
    ),
)
