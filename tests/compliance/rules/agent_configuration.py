"""What the agent acts on: its schema and translator, release 1.300071; field cases 20, 21 and 76."""

import json
from typing import Any

from tests.compliance.cases import Breaks, Case, group, template
from tests.compliance.telemetry import agent, measured, role, script, without_default

_USER_DATA = "LaunchTemplateData.UserData"
_PROFILE = {"IamInstanceProfile": {"Arn": {"Fn::GetAtt": ["Profile", "Arn"]}}}
_MANAGED: dict[str, Any] = {
    "ManagedPolicyArns": [{"Fn::Sub": "arn:${AWS::Partition}:iam::aws:policy/CloudWatchAgentServerPolicy"}]
}
_FETCHED = {"UserData": {"Fn::Base64": {"Fn::Sub": "#!/bin/bash\namazon-cloudwatch-agent-ctl -c ssm:${Agent} -s\n"}}}


def _in_parameter(configuration: object, *types: str) -> dict[str, object]:
    parameter = {"Type": "SSM::Parameter", "Properties": {"Type": "String", "Value": json.dumps(configuration)}}
    return group(*types, launch=_FETCHED, **template(Agent=parameter)["Resources"])


def _in_init(configuration: object) -> dict[str, object]:
    written = group()
    written["Resources"]["Launch"]["Metadata"] = {
        "AWS::CloudFormation::Init": {
            "config": {"files": {"/opt/aws/amazon-cloudwatch-agent/etc/a.json": {"content": configuration}}}
        }
    }
    return written


def _booted(*parts: str, image: str = "resolve:ssm:/aws/service/canonical/ubuntu/server/24.04/id") -> dict[str, Any]:
    return group(launch={"ImageId": image, "UserData": {"Fn::Base64": "".join(parts)}})


_AGENT = script(agent())
_DRIVER = "apt-get install -y nvidia-driver-580-server\n"
_WRONG_KEY = agent({"nvidia_smi": {"measurement": ["utilization_gpu"]}})
_WRONG_NAME = agent({"nvidia_gpu": {"measurement": ["gpu_utilization"]}})
_APPENDS_MORE = agent(append_dimensions={"Project": "vision"}, aggregation_dimensions=None)

CASES = (
    Case(
        rule="agent-configuration-ignored",
        breaks=(
            Breaks(template=measured(_WRONG_KEY), resource="Launch", property=_USER_DATA, got="nvidia_smi"),
            Breaks(template=_in_parameter(_WRONG_KEY), resource="Agent", property="Value", got="nvidia_smi"),
            Breaks(template=_in_parameter(_WRONG_NAME), resource="Agent", property="Value", got="gpu_utilization"),
            Breaks(template=_in_parameter(_APPENDS_MORE), resource="Agent", property="Value", got="Project"),
            Breaks(
                template=measured('{"metrics": {"metrics_collected": {"nvidia_gpu": }}}'),
                resource="Launch",
                property=_USER_DATA,
                got="nvidia_gpu",
            ),
            Breaks(
                template=_in_init(_WRONG_KEY),
                resource="Launch",
                property="<Metadata>.AWS::CloudFormation::Init.config.files./opt/aws/amazon-cloudwatch-agent/etc/a.json"
                ".content",
                got="nvidia_smi",
            ),
        ),
        keeps=(
            measured(agent()),
            _in_parameter(agent()),
            _in_init(agent()),
            # The wizard's own answer for StatsD and collectd.
            measured(agent({"statsd": {"service_address": ":8125"}, "collectd": {"metrics_aggregation_interval": 60}})),
            # The name of a parameter in a text does not make the rest unknown.
            without_default(
                group(launch={"UserData": {"Fn::Base64": {"Fn::Join": ["", [script(agent(namespace="Vision")), ""]]}}})
            ),
        ),
        unknown=(
            without_default(group(launch={"UserData": {"Ref": "Script"}}), "Script"),
            without_default(
                group(
                    launch={
                        "UserData": {
                            "Fn::Base64": {
                                "Fn::Sub": script('{"metrics": {"metrics_collected": ${Collected}}}'),
                            }
                        }
                    }
                ),
                "Collected",
            ),
        ),
    ),
    Case(
        rule="agent-section-without-gpus",
        breaks=(
            Breaks(template=measured(agent(), "inf2.xlarge"), resource="Launch", property=_USER_DATA),
            Breaks(template=_in_parameter(agent(), "trn1.2xlarge"), resource="Agent", property="Value"),
        ),
        keeps=(measured(agent()), measured(agent(), "g5.xlarge", "g6.xlarge")),
        unknown=(measured(agent(), "g6.xlarge", "m7i.large"),),
    ),
    Case(
        rule="agent-before-driver",
        breaks=(Breaks(template=_booted(_AGENT, _DRIVER), resource="Launch", property=_USER_DATA),),
        keeps=(
            _booted(_DRIVER, _AGENT),
            # Started again when the driver is there.
            _booted(_AGENT, _DRIVER, "systemctl restart amazon-cloudwatch-agent\n"),
            measured(agent()),
        ),
        unknown=(_booted(_AGENT, _DRIVER, image="ami-0123456789abcdef0"),),
    ),
    Case(
        rule="agent-placeholder-expanded-by-shell",
        breaks=(
            Breaks(
                template=group(launch={"UserData": {"Fn::Base64": script(agent(), end="EOF")}}),
                resource="Launch",
                property=_USER_DATA,
                got="${aws:AutoScalingGroupName}",
            ),
        ),
        keeps=(
            measured(agent()),
            group(launch={"UserData": {"Fn::Base64": script(json.dumps(agent()).replace("$", "\\$"), end="EOF")}}),
        ),
        unknown=(without_default(group(launch={"UserData": {"Ref": "Script"}}), "Script"),),
    ),
    Case(
        rule="agent-placeholder-in-sub",
        breaks=(
            Breaks(
                template=group(launch={"UserData": {"Fn::Base64": {"Fn::Sub": script(agent())}}}),
                resource="Launch",
                got="${aws:AutoScalingGroupName}",
            ),
        ),
        keeps=(
            group(launch={"UserData": {"Fn::Base64": {"Fn::Sub": script(json.dumps(agent()).replace("${", "${!"))}}}),
        ),
        unknown=(
            without_default(
                group(
                    launch={"InstanceType": {"Ref": "Kind"}, "UserData": {"Fn::Base64": {"Fn::Sub": script(agent())}}}
                ),
                "Kind",
            ),
        ),
    ),
    Case(
        rule="metrics-not-permitted",
        breaks=(
            Breaks(template=measured(agent()), resource="Launch", property="LaunchTemplateData.IamInstanceProfile"),
            Breaks(
                template=measured(agent(), launch=_PROFILE, **template(**role("s3:GetObject"))["Resources"]),
                resource="Role",
                property="Policies",
            ),
            Breaks(
                template=measured(
                    agent(namespace="Vision"),
                    launch=_PROFILE,
                    **template(
                        **role(
                            "cloudwatch:PutMetricData",
                            condition={"StringEquals": {"cloudwatch:namespace": "CWAgent"}},
                        )
                    )["Resources"],
                ),
                resource="Role",
                property="Policies",
                got="cloudwatch:namespace",
            ),
        ),
        keeps=(
            measured(agent(), launch=_PROFILE, **template(**role(**_MANAGED))["Resources"]),
            measured(
                agent(namespace="Vision/GPU"),
                launch=_PROFILE,
                **template(
                    **role(
                        "cloudwatch:Put*", condition={"StringLike": {"cloudwatch:namespace": ["CWAgent", "Vision/*"]}}
                    )
                )["Resources"],
            ),
            # To a workspace of Prometheus alone.
            measured(agent(metrics_destinations={"amp": {"workspace_id": "ws-1"}})),
        ),
        unknown=(
            measured(agent(), launch={"IamInstanceProfile": {"Name": "made-elsewhere"}}),
            measured({**agent(), "agent": {"credentials": {"role_arn": "arn:aws:iam::1:role/metrics"}}}),
        ),
    ),
    Case(
        rule="group-roll-up-missing",
        breaks=(
            Breaks(
                template=measured(agent(aggregation_dimensions=None)),
                resource="Launch",
                property="LaunchTemplateData.UserData",
                got="[]",
            ),
            Breaks(
                template=measured(agent(aggregation_dimensions=[["InstanceId"], ["AutoScalingGroupName", "name"]])),
                resource="Launch",
                property="LaunchTemplateData.UserData",
            ),
        ),
        keeps=(
            measured(agent()),
            # One series of everything in the namespace tells of the group if it is the only one.
            measured(agent(aggregation_dimensions=[[]])),
            measured(agent({"mem": {"measurement": ["mem_used_percent"]}}, aggregation_dimensions=None)),
        ),
        unknown=(
            {"Parameters": {"Roll": {"Type": "String"}}}
            | group(
                launch={
                    "UserData": {
                        "Fn::Base64": {"Fn::Sub": script(agent(aggregation_dimensions="${Roll}"), end="'EOF'")}
                    }
                }
            ),
        ),
    ),
    Case(
        rule="group-name-not-permitted",
        breaks=(
            Breaks(
                template=measured(
                    agent(), launch=_PROFILE, **template(**role("cloudwatch:PutMetricData"))["Resources"]
                ),
                resource="Role",
                property="Policies",
            ),
        ),
        keeps=(
            measured(
                agent(),
                launch=_PROFILE,
                **template(**role("cloudwatch:PutMetricData", "ec2:DescribeTags"))["Resources"],
            ),
            measured(
                agent(append_dimensions=None, aggregation_dimensions=None),
                launch=_PROFILE,
                **template(**role("cloudwatch:PutMetricData"))["Resources"],
            ),
        ),
        unknown=(measured(agent(), launch={"IamInstanceProfile": {"Name": "made-elsewhere"}}),),
    ),
)
