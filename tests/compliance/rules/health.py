"""Dead accelerators: field case 16. Grace period: field case 46."""

from typing import Any

from tests.compliance.cases import Breaks, Case, group, template

_PARAMETER = {"Parameters": {"Value": {"Type": "String"}}}


def _role(*actions: str, managed: tuple[str, ...] = ()) -> dict[str, Any]:
    statement = {"Effect": "Allow", "Action": list(actions), "Resource": "*"}
    policies = [{"PolicyName": "p", "PolicyDocument": {"Statement": [statement]}}] if actions else []
    return {"Type": "IAM::Role", "Properties": {"Policies": policies, "ManagedPolicyArns": list(managed)}}


def _nodes(**properties: Any) -> dict[str, Any]:
    given = {"InstanceTypes": ["g6.xlarge"], "Subnets": ["s"], **properties}
    return template(Nodes={"Type": "EKS::Nodegroup", "Properties": given})


def _checked_by(kind: Any, **properties: Any) -> dict[str, Any]:
    return group(properties={"HealthCheckType": kind, **properties})


CASES = (
    Case(
        rule="dead-accelerator-unnoticed",
        breaks=(
            Breaks(template=group(), resource="Group", property="HealthCheckType", got="nothing"),
            Breaks(template=_checked_by("EC2,EBS"), resource="Group", property="HealthCheckType", got="EC2,EBS"),
            Breaks(template=group(Role=_role("s3:GetObject")), resource="Group", property="HealthCheckType"),
            Breaks(template=_nodes(), resource="Nodes", property="NodeRepairConfig.Enabled", got="nothing"),
        ),
        keeps=(
            _checked_by("ELB", TargetGroupARNs=["arn:x"]),
            _PARAMETER | _checked_by("ELB", TargetGroupARNs=[{"Ref": "Value"}]),
            _PARAMETER | _checked_by("ELB", TargetGroupARNs={"Ref": "Value"}),
            _checked_by("ELB", LoadBalancerNames=["classic"]),
            _checked_by("EC2,VPC_LATTICE", TrafficSources=[{"Identifier": "arn:x", "Type": "vpc-lattice"}]),
            group(Role=_role("autoscaling:SetInstanceHealth")),
            group(Role=_role("autoscaling:TerminateInstanceInAutoScalingGroup")),
            group(
                Function={
                    "Type": "Serverless::Function",
                    "Properties": {
                        "Policies": [
                            {
                                "Statement": [
                                    {"Effect": "Allow", "Action": "autoscaling:SetInstanceHealth", "Resource": "*"}
                                ]
                            }
                        ]
                    },
                }
            ),
            # A machine that has switched itself off is replaced, and needs no permission for that.
            group(launch={"UserData": {"Fn::Base64": "#!/bin/bash\nnvidia-smi || shutdown -h now\n"}}),
            _nodes(NodeRepairConfig={"Enabled": True}),
            template(Alone={"Type": "EC2::Instance", "Properties": {"InstanceType": "m7i.xlarge"}}),
        ),
        unknown=(
            _PARAMETER | _checked_by({"Ref": "Value"}),
            # "Attach an Elastic Load Balancing load balancer": the check is of load balancers that are attached, and
            # of none here; somebody else may attach one.
            _checked_by("ELB"),
            _checked_by("ELB", TargetGroupARNs=[]),
            _checked_by("EC2,VPC_LATTICE"),
            # What a wildcard lets somebody do, nobody need do.
            group(Role=_role("autoscaling:*")),
            group(Role=_role(managed=("arn:aws:iam::123456789012:policy/OfOurs",))),
            group() | {"Transform": "OfOurs"},
            # The instance itself may do it, and so may a function whose role is elsewhere.
            group(launch={"IamInstanceProfile": {"Name": "made-elsewhere"}}),
            group(Function={"Type": "Lambda::Function", "Properties": {"Role": "arn:aws:iam::123456789012:role/r"}}),
            group(properties={"Tags": [{"Key": "k8s.io/cluster-autoscaler/enabled", "Value": "true"}]}),
            template(
                **_nodes()["Resources"],
                Chart={"Type": "Custom::AWSCDK-EKS-HelmChart", "Properties": {"Chart": "node-problem-detector"}},
            ),
        ),
    ),
    Case(
        rule="health-check-before-boot",
        breaks=(
            Breaks(template=_checked_by("ELB"), resource="Group", property="HealthCheckGracePeriod", got="nothing"),
            Breaks(
                template=_checked_by("ELB", HealthCheckGracePeriod=0),
                resource="Group",
                property="HealthCheckGracePeriod",
                got="0",
            ),
        ),
        keeps=(group(), _checked_by("ELB", HealthCheckGracePeriod=600)),
        unknown=(_PARAMETER | _checked_by("ELB", HealthCheckGracePeriod={"Ref": "Value"}),),
    ),
)
