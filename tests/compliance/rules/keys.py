"""Field case 22; "Required AWS KMS key policy for use with encrypted volumes", Amazon EC2 Auto Scaling User Guide."""

from typing import Any

from tests.compliance.cases import Breaks, Case, group, template

_ROOT = {"AWS": {"Fn::Sub": "arn:${AWS::Partition}:iam::${AWS::AccountId}:root"}}
_ROLE = "role/aws-service-role/autoscaling.amazonaws.com/AWSServiceRoleForAutoScaling"
_LINKED = {"AWS": {"Fn::Sub": f"arn:${{AWS::Partition}}:iam::${{AWS::AccountId}}:{_ROLE}"}}
_USE = ["kms:Encrypt", "kms:Decrypt", "kms:ReEncrypt*", "kms:GenerateDataKey*", "kms:DescribeKey"]


def allow(principal: Any, action: Any = "kms:*", **more: Any) -> dict[str, Any]:
    return {"Effect": "Allow", "Principal": principal, "Action": action, "Resource": "*", **more}


def _key(*statements: Any) -> dict[str, Any]:
    return {"Type": "KMS::Key", "Properties": {"KeyPolicy": {"Statement": [allow(_ROOT), *statements]}}}


def _with(key: Any, named: Any = None, **more: Any) -> dict[str, Any]:
    ebs = {"Encrypted": True, "KmsKeyId": {"Fn::GetAtt": ["Key", "Arn"]} if named is None else named}
    return group(launch={"BlockDeviceMappings": [{"DeviceName": "/dev/xvda", "Ebs": ebs}]}, Key=key, **more)


def _both(principal: Any, **more: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    grant = {"Bool": {"kms:GrantIsForAWSResource": True}, **more.get("Condition", {})}
    return allow(principal, _USE, **more), allow(principal, "kms:CreateGrant", **{**more, "Condition": grant})


_OTHER = {"AWS": {"Fn::Sub": "arn:aws:iam::${AWS::AccountId}:role/Admin"}}
_SPOT_ONLY = {
    "Condition": {"ArnEquals": {"aws:PrincipalArn": "arn:aws:iam::1:role/aws-service-role/spot.amazonaws.com/X"}}
}
_SCALING_ONLY = {
    "Condition": {"ArnEquals": {"aws:PrincipalArn": {"Fn::Sub": f"arn:aws:iam::${{AWS::AccountId}}:{_ROLE}"}}}
}
_THROUGH_EC2 = {"Condition": {"StringEquals": {"kms:ViaService": "ec2.us-east-1.amazonaws.com"}}}

CASES = (
    Case(
        rule="volume-key-refuses-launch",
        breaks=(
            Breaks(template=_with(_key()), resource="Key", property="KeyPolicy", got="for Launch"),
            # A key without a policy of its own lets in the account's users and roles, no service-linked one.
            Breaks(template=_with({"Type": "KMS::Key"}), resource="Key", property="KeyPolicy"),
            Breaks(template=_with(_key(*_both(_OTHER))), resource="Key", property="KeyPolicy"),
            Breaks(
                template=_with(
                    _key(*_both({"AWS": {"Fn::GetAtt": ["Admin", "Arn"]}})),
                    Admin={"Type": "IAM::Role", "Properties": {}},
                ),
                resource="Key",
                property="KeyPolicy",
            ),
            # Use of the key without the grant.
            Breaks(template=_with(_key(allow(_LINKED, _USE))), resource="Key", property="KeyPolicy"),
            Breaks(template=_with(_key(*_both("*", **_SPOT_ONLY))), resource="Key", property="KeyPolicy"),
            Breaks(
                template=_with(
                    _key(),
                    {"Ref": "Alias"},
                    Alias={
                        "Type": "KMS::Alias",
                        "Properties": {"AliasName": "alias/volumes", "TargetKeyId": {"Ref": "Key"}},
                    },
                ),
                resource="Key",
                property="KeyPolicy",
            ),
        ),
        keeps=(
            _with(_key(*_both(_LINKED))),
            _with(
                _key(*_both(_LINKED)),
                "alias/volumes",
                Alias={
                    "Type": "KMS::Alias",
                    "Properties": {"AliasName": "alias/volumes", "TargetKeyId": {"Ref": "Key"}},
                },
            ),
            _with(_key(allow(_LINKED))),
            _with(_key(*_both("*", **_SCALING_ONLY))),
            _with(_key(*_both({"AWS": "*"}, **_THROUGH_EC2))),
            # A linked role with a suffix of one's own.
            _with(
                _key(*_both({"AWS": {"Fn::Sub": "arn:aws:iam::${AWS::AccountId}:" + _ROLE + "_mine"}})),
            ),
            _with(
                _key(*_both({"AWS": {"Fn::GetAtt": ["Role", "Arn"]}})),
                Role={
                    "Type": "IAM::ServiceLinkedRole",
                    "Properties": {"AWSServiceName": "autoscaling.amazonaws.com", "CustomSuffix": "mine"},
                },
            ),
            # Whoever deploys an instance of its own launches it.
            template(
                Key=_key(),
                Box={
                    "Type": "EC2::Instance",
                    "Properties": {
                        "InstanceType": "g6.xlarge",
                        "BlockDeviceMappings": [{"DeviceName": "/dev/xvda", "Ebs": {"KmsKeyId": {"Ref": "Key"}}}],
                    },
                },
            ),
            # Keys that AWS manages need nothing.
            _with(_key(), "alias/aws/ebs"),
            group(launch={"BlockDeviceMappings": [{"DeviceName": "/dev/xvda", "Ebs": {"Encrypted": True}}]}),
            group("m7i.large", Key=_key()),
        ),
        unknown=(
            # An imported key.
            _with(_key(), "arn:aws:kms:us-east-1:111122223333:key/1"),
            _with(_key(), {"Fn::ImportValue": "key"}),
            {"Parameters": {"Who": {"Type": "String"}}} | _with(_key(*_both({"AWS": {"Ref": "Who"}}))),
            # A custom resource may give grants on the key.
            _with(_key(), Grant={"Type": "Custom::Grant", "Properties": {"ServiceToken": "t", "Key": {"Ref": "Key"}}}),
        ),
    ),
)
