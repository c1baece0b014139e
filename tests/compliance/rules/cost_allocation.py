"""Field case 51 (tags on volumes); "Tag Auto Scaling groups and instances", Amazon EC2 Auto Scaling User Guide."""

from typing import Any

from tests.compliance.cases import Breaks, Case, group, template


def _tag(key: str = "team", *, passed_on: Any = True) -> dict[str, Any]:
    return {"Key": key, "Value": "vision", "PropagateAtLaunch": passed_on}


def _specified(**keys: str) -> dict[str, Any]:
    return {
        "TagSpecifications": [
            {"ResourceType": kind, "Tags": [{"Key": key, "Value": "vision"}]} for kind, key in keys.items()
        ]
    }


def _tagged(*kinds: str) -> dict[str, Any]:
    return _specified(**dict.fromkeys(kinds, "team"))


def _called(*kinds: str) -> dict[str, Any]:
    return _specified(**dict.fromkeys(kinds, "Name"))


def _group_tags(*tags: Any) -> dict[str, Any]:
    return {"Tags": list(tags)}


_GIVEN = {"Parameters": {"Given": {"Type": "String"}}}
_VOLUMES = "LaunchTemplateData.TagSpecifications"
_TOLD = [{"Notification": {}, "Subscribers": [{"SubscriptionType": "EMAIL", "Address": "a@example.com"}]}]


def _budget(**properties: Any) -> dict[str, Any]:
    return {"Type": "Budgets::Budget", "Properties": {"Budget": {"BudgetType": "COST"}, **properties}}


def _instance(**properties: Any) -> dict[str, Any]:
    return template(
        Box={
            "Type": "EC2::Instance",
            "Properties": {"LaunchTemplate": {"LaunchTemplateId": {"Ref": "Launch"}, "Version": "1"}, **properties},
        },
        Launch={
            "Type": "EC2::LaunchTemplate",
            "Properties": {"LaunchTemplateData": {"InstanceType": "g6.xlarge", **_tagged("instance")}},
        },
    )


def _nodes(tags: Any, *, launch: dict[str, Any] | None = None) -> dict[str, Any]:
    """A node group; ``launch`` is the data of its launch template, which it has then."""
    chosen = {} if launch is None else {"LaunchTemplate": {"Id": {"Ref": "Launch"}, "Version": "1"}}
    made = {"Type": "EC2::LaunchTemplate", "Properties": {"LaunchTemplateData": launch}}
    own = {"InstanceTypes": ["g6.xlarge"], **({} if tags is None else {"Tags": tags}), **chosen}
    return template(Nodes={"Type": "EKS::Nodegroup", "Properties": own}, **({} if launch is None else {"Launch": made}))


def _batch(tags: Any, of_instances: Any, *, launch: dict[str, Any] | None = None) -> dict[str, Any]:
    """A compute environment; ``launch`` is the data of its launch template, which it has then."""
    chosen = {} if launch is None else {"LaunchTemplate": {"LaunchTemplateId": {"Ref": "Launch"}, "Version": "1"}}
    made = {"Type": "EC2::LaunchTemplate", "Properties": {"LaunchTemplateData": launch}}
    computed = {"Type": "EC2", "InstanceTypes": ["g6.xlarge"], "Tags": of_instances, **chosen}
    own = {"Type": "MANAGED", "ComputeResources": computed, "Tags": tags}
    return template(
        Batch={"Type": "Batch::ComputeEnvironment", "Properties": own}, **({} if launch is None else {"Launch": made})
    )


_PASSED_ON = "PropagateTagsToVolumeOnCreation"


def _box(**properties: Any) -> dict[str, Any]:
    return template(Box={"Type": "EC2::Instance", "Properties": {"InstanceType": "g6.xlarge", **properties}})


_OWN_TAG = [{"Key": "team", "Value": "vision"}]


def _endpoint(kind: str = "ml.g6.xlarge", **properties: Any) -> dict[str, Any]:
    return template(
        Config={
            "Type": "SageMaker::EndpointConfig",
            "Properties": {"ProductionVariants": [{"InstanceType": kind}], "Tags": _OWN_TAG},
        },
        Endpoint={
            "Type": "SageMaker::Endpoint",
            "Properties": {"EndpointConfigName": {"Fn::GetAtt": ["Config", "EndpointConfigName"]}, **properties},
        },
    )


def _of_sagemaker(kind: str, **properties: Any) -> dict[str, Any]:
    return template(Host={"Type": f"SageMaker::{kind}", "Properties": properties})


_ON_GPU = {"ResourceSpec": {"InstanceType": "ml.g5.xlarge"}}


def _app(**user: Any) -> dict[str, Any]:
    own = {"UserProfileName": {"Ref": "User"}, "DomainId": {"Ref": "Domain"}, **_ON_GPU}
    return template(
        App={"Type": "SageMaker::App", "Properties": own},
        User={"Type": "SageMaker::UserProfile", "Properties": user},
        Domain={"Type": "SageMaker::Domain", "Properties": {}},
    )


_DEFAULT = {"JupyterLabAppSettings": {"DefaultResourceSpec": {"InstanceType": "ml.g5.xlarge"}}}


def _studio(**domain: Any) -> dict[str, Any]:
    own = {"DomainId": {"Ref": "Domain"}, "UserSettings": _DEFAULT}
    return template(
        Domain={"Type": "SageMaker::Domain", "Properties": domain},
        User={"Type": "SageMaker::UserProfile", "Properties": own},
    )


_GROUPS_OF_CLUSTER = [{"InstanceType": "ml.m5.large"}, {"InstanceType": "ml.p5.48xlarge"}]

_OF_SERVICES: list[dict[str, Any]] = [
    {"Type": "AppStream::Fleet", "Properties": {"InstanceType": "stream.graphics.g5.xlarge"}},
    {"Type": "AppStream::ImageBuilder", "Properties": {"InstanceType": "stream.graphics.g5.xlarge"}},
    {"Type": "WorkSpaces::Workspace", "Properties": {"WorkspaceProperties": {"ComputeTypeName": "GRAPHICS_G4DN"}}},
    {"Type": "EMR::Cluster", "Properties": {"Instances": {"CoreInstanceGroup": {"InstanceType": "g5.xlarge"}}}},
    {"Type": "CodeBuild::Fleet", "Properties": {"EnvironmentType": "LINUX_GPU_CONTAINER", "BaseCapacity": 1}},
    {"Type": "GameLift::Fleet", "Properties": {"EC2InstanceType": "g5.xlarge"}},
    {"Type": "GameLift::ContainerFleet", "Properties": {"InstanceType": "g5.xlarge"}},
    {
        "Type": "Deadline::Fleet",
        "Properties": {
            "Configuration": {
                "ServiceManagedEc2": {"InstanceCapabilities": {"AcceleratorCapabilities": {"Selections": []}}}
            }
        },
    },
    {"Type": "PCS::ComputeNodeGroup", "Properties": {"InstanceConfigs": [{"InstanceType": "p5.48xlarge"}]}},
]


def _with_tags(resource: dict[str, Any], tags: Any) -> dict[str, Any]:
    return {**resource, "Properties": {**resource["Properties"], "Tags": tags}}


CASES = (
    Case(
        rule="cost-not-attributed",
        breaks=(
            # What the configuration has, the endpoint has not.
            Breaks(template=_endpoint(), resource="Endpoint", property="Tags", got="nothing"),
            Breaks(template=_endpoint(Tags=[{"Key": "Name", "Value": "x"}]), resource="Endpoint", property="Tags"),
            Breaks(
                template=_of_sagemaker("NotebookInstance", InstanceType="ml.g5.xlarge"),
                resource="Host",
                property="Tags",
            ),
            Breaks(
                template=_of_sagemaker("Cluster", InstanceGroups=_GROUPS_OF_CLUSTER), resource="Host", property="Tags"
            ),
            Breaks(template=_app(), resource="App", property="Tags"),
            Breaks(template=_studio(), resource="User", property="Tags"),
            Breaks(template=_studio(DefaultUserSettings=_DEFAULT), resource="Domain", property="Tags"),
            *(Breaks(template=template(Host=each), resource="Host", property="Tags") for each in _OF_SERVICES),
        ),
        keeps=(
            _endpoint(Tags=_OWN_TAG),
            _endpoint("ml.m5.large"),
            *(template(Host=_with_tags(each, _OWN_TAG)) for each in _OF_SERVICES[:-1]),
            # Its tags are an object.
            template(Host=_with_tags(_OF_SERVICES[-1], {"team": "vision"})),
            _of_sagemaker("NotebookInstance", InstanceType="ml.g5.xlarge", Tags=_OWN_TAG),
            _of_sagemaker("Cluster", InstanceGroups=_GROUPS_OF_CLUSTER, Tags=_OWN_TAG),
            _of_sagemaker("Cluster", InstanceGroups=_GROUPS_OF_CLUSTER[:1]),
            # A user's tags reach the applications.
            _app(Tags=_OWN_TAG),
            _studio(DefaultUserSettings=_DEFAULT, Tags=_OWN_TAG),
            _of_sagemaker("Domain", DefaultUserSettings={}),
            {"Resources": {**_endpoint()["Resources"], "Budget": {"Type": "AWS::Budgets::Budget", "Properties": {}}}},
        ),
        unknown=(
            _GIVEN | _endpoint(Tags={"Ref": "Given"}),
            _GIVEN | _of_sagemaker("NotebookInstance", InstanceType={"Ref": "Given"}),
            {"Transform": "House"} | _endpoint(),
            # It may have the tags of its domain.
            _of_sagemaker("App", DomainId="d-1", **_ON_GPU),
            _of_sagemaker("UserProfile", DomainId="d-1", UserSettings=_DEFAULT),
        ),
    ),
    Case(
        rule="tags-do-not-reach-instances",
        breaks=(
            Breaks(
                template=group(properties=_group_tags(_tag(passed_on=False), _tag("owner", passed_on="false"))),
                resource="Group",
                property="Tags[0].PropagateAtLaunch",
                got="false",
            ),
            Breaks(
                template=group(
                    launch=_tagged("volume"),
                    properties=_group_tags(_tag("k8s.io/cluster-autoscaler/enabled"), _tag(passed_on=False)),
                ),
                resource="Group",
                property="Tags[1].PropagateAtLaunch",
            ),
            # "Nodegroup", Amazon EKS API Reference: tags do not propagate to other resources.
            Breaks(template=_nodes({"team": "vision"}), resource="Nodes", property="Tags", got="'team'"),
            Breaks(template=_nodes({"team": "vision"}, launch=_tagged("volume")), resource="Nodes", property="Tags"),
            # "Tag your resources", AWS Batch User Guide: tags of the environment do not propagate.
            Breaks(template=_batch({"team": "vision"}, {"Name": "x"}), resource="Batch", property="Tags"),
            # A name that instances get is no answer to who pays.
            Breaks(template=_nodes({"team": "vision"}, launch=_called("instance")), resource="Nodes", property="Tags"),
            Breaks(
                template=group(launch=_called("instance"), properties=_group_tags(_tag(passed_on=False))),
                resource="Group",
                property="Tags[0].PropagateAtLaunch",
            ),
        ),
        keeps=(
            _nodes({"team": "vision"}, launch=_tagged("instance")),
            _nodes({"Name": "nodes", "k8s.io/cluster-autoscaler/enabled": "true"}),
            _batch({"team": "vision"}, {"team": "vision"}),
            _batch({"team": "vision"}, None, launch=_tagged("instance")),
            _batch({"Name": "x"}, None),
            # Programs read switches on the group.
            group(properties=_group_tags(_tag("Schedule", passed_on=False))),
            _nodes(None),
            group(properties=_group_tags(_tag(), _tag("owner", passed_on=False))),
            group(launch=_tagged("instance"), properties=_group_tags(_tag(passed_on=False))),
            group("m7i.large", properties=_group_tags(_tag(passed_on=False))),
        ),
        unknown=(
            _GIVEN | group(properties=_group_tags(_tag(passed_on={"Ref": "Given"}))),
            _GIVEN | _nodes({"Ref": "Given"}),
        ),
    ),
    Case(
        rule="cost-not-attributed",
        breaks=(
            Breaks(template=group(), resource="Group", property="Tags", got="nothing"),
            # Programs read these; no bill shows them.
            Breaks(
                template=group(properties=_group_tags(_tag("k8s.io/cluster-autoscaler/enabled"))),
                resource="Group",
                property="Tags",
            ),
            Breaks(
                template=template(Box={"Type": "EC2::Instance", "Properties": {"InstanceType": "g6.xlarge"}}),
                resource="Box",
                property="Tags",
            ),
            # Neither a fleet nor a launch template has tags that instances get in any other way.
            Breaks(
                template=template(
                    Launch={
                        "Type": "EC2::LaunchTemplate",
                        "Properties": {"LaunchTemplateData": {"InstanceType": "g6.xlarge"}},
                    }
                ),
                resource="Launch",
                property="LaunchTemplateData.TagSpecifications",
                got="nothing",
            ),
            Breaks(
                template=template(
                    Fleet={
                        "Type": "EC2::SpotFleet",
                        "Properties": {
                            "SpotFleetRequestConfigData": {"LaunchSpecifications": [{"InstanceType": "g6.xlarge"}]}
                        },
                    }
                ),
                resource="Fleet",
                property="SpotFleetRequestConfigData.LaunchSpecifications[0].TagSpecifications",
            ),
            # The tags of a node group reach no instance, and those that programs read tell nobody who pays.
            Breaks(template=_nodes(None), resource="Nodes", property="LaunchTemplate", got="nothing"),
            Breaks(
                template=_nodes({"eks:cluster-name": "x", "kubernetes.io/cluster/x": "owned"}),
                resource="Nodes",
                property="LaunchTemplate",
            ),
            Breaks(template=_nodes(None, launch=_called("instance")), resource="Launch", property=_VOLUMES),
            Breaks(template=group(launch=_called("instance")), resource="Group", property="Tags"),
            *(
                Breaks(template=group(properties=_group_tags(_tag(key))), resource="Group", property="Tags")
                for key in ("AutoStop", "Schedule", "StackName", "GitHub", "Backup", "Patch Group", "ttl", "ManagedBy")
            ),
            # What something is called does not say who pays.
            Breaks(
                template=template(
                    Box={
                        "Type": "EC2::Instance",
                        "Properties": {"InstanceType": "g6.xlarge", "Tags": [{"Key": "Name", "Value": "gpu"}]},
                    }
                ),
                resource="Box",
                property="Tags",
            ),
        ),
        keeps=(
            group(properties=_group_tags(_tag())),
            group(launch=_tagged("instance")),
            group(Budget={"Type": "Budgets::Budget", "Properties": {}}),
            _nodes(None, launch=_tagged("instance")),
            *(
                group(properties=_group_tags(_tag(key)))
                for key in ("CostCenter", "Seattle", "DispatchTeam", "business-unit", "Project", "Owner", "StackOwner")
            ),
            template(
                Nodes={
                    "Type": "EKS::Nodegroup",
                    "Properties": {"InstanceTypes": ["g6.xlarge"], "Tags": {"team": "search"}},
                }
            ),
            group("m7i.large"),
        ),
        unknown=(
            _GIVEN | group(properties={"Tags": {"Ref": "Given"}}),
            # What is included may be the policy that launches, and the tags.
            group(properties={"Fn::Transform": {"Name": "AWS::Include", "Parameters": {"Location": "s3://b/t.yaml"}}}),
            # A macro may tag whatever it finds.
            {"Transform": "House"} | group(),
        ),
    ),
    Case(
        rule="tags-do-not-reach-volumes",
        breaks=(
            Breaks(template=group(launch=_tagged("instance")), resource="Launch", property=_VOLUMES),
            Breaks(template=group(properties=_group_tags(_tag())), resource="Launch", property=_VOLUMES),
            Breaks(template=_instance(), resource="Launch", property=_VOLUMES),
            Breaks(
                template=group(launch=_specified(instance="team", volume="Name")), resource="Launch", property=_VOLUMES
            ),
            # "AWS::EC2::Instance", CloudFormation Template Reference: not unless it is said.
            Breaks(template=_box(Tags=_OWN_TAG), resource="Box", property=_PASSED_ON, got="nothing"),
            Breaks(
                template=_box(Tags=_OWN_TAG, **{_PASSED_ON: False}), resource="Box", property=_PASSED_ON, got="false"
            ),
        ),
        keeps=(
            _box(Tags=_OWN_TAG, **{_PASSED_ON: True}),
            _box(Tags=[{"Key": "Name", "Value": "gpu"}]),
            _box(),
            group(launch=_tagged("instance", "volume"), properties=_group_tags(_tag())),
            _instance(PropagateTagsToVolumeOnCreation=True),
            template(
                Box={
                    "Type": "EC2::Instance",
                    "Properties": {"LaunchTemplate": {"LaunchTemplateId": {"Ref": "Launch"}}},
                },
                Launch={
                    "Type": "EC2::LaunchTemplate",
                    "Properties": {"LaunchTemplateData": {"InstanceType": "g6.xlarge"}},
                },
            ),
            # A launch configuration cannot tag volumes.
            template(
                Config={"Type": "AutoScaling::LaunchConfiguration", "Properties": {"InstanceType": "g5.xlarge"}},
                Group={
                    "Type": "AutoScaling::AutoScalingGroup",
                    "Properties": {"LaunchConfigurationName": {"Ref": "Config"}, **_group_tags(_tag())},
                },
            ),
            # Nobody tags anything: that is another question.
            group(),
            group(launch=_called("instance")),
            group("m7i.large", launch=_tagged("instance")),
        ),
        unknown=(
            _GIVEN | group(launch={"TagSpecifications": {"Ref": "Given"}}, properties=_group_tags(_tag())),
            _GIVEN | group(properties=_group_tags(_tag(passed_on={"Ref": "Given"}))),
            _GIVEN | _box(Tags=_OWN_TAG, **{_PASSED_ON: {"Ref": "Given"}}),
        ),
    ),
    Case(
        rule="budget-tells-nobody",
        breaks=(
            Breaks(template=group(Budget=_budget()), resource="Budget", property="NotificationsWithSubscribers"),
            Breaks(
                template=group(Budget=_budget(NotificationsWithSubscribers=[])),
                resource="Budget",
                property="NotificationsWithSubscribers",
                got="[]",
            ),
        ),
        keeps=(
            group(Budget=_budget(NotificationsWithSubscribers=_TOLD)),
            group(
                Budget=_budget(),
                Act={"Type": "Budgets::BudgetsAction", "Properties": {"BudgetName": {"Ref": "Budget"}}},
            ),
            group("m7i.large", Budget=_budget()),
        ),
        unknown=(_GIVEN | group(Budget=_budget(NotificationsWithSubscribers={"Ref": "Given"})),),
    ),
)
