"""IMDSv1: "Configure the Instance Metadata Service options", Amazon EC2 User Guide."""

from tests.compliance.cases import Breaks, Case, group, template

_AL2023 = "/aws/service/ecs/optimized-ami/amazon-linux-2023/gpu/recommended/image_id"
_TOKENS = "LaunchTemplateData.MetadataOptions.HttpTokens"

_OPTIONAL = {"HttpTokens": "optional"}
_OPTIONAL_AND_FAR = {"HttpTokens": "optional", "HttpPutResponseHopLimit": 3}
_GIVEN = {
    "Parameters": {"Stage": {"Type": "String"}},
    "Conditions": {"Dev": {"Fn::Equals": [{"Ref": "Stage"}, "dev"]}},
}
_MAPPED = {"Mappings": {"Images": {"us-east-1": {"Id": "ami-1"}, "us-west-2": {"Id": "ami-2"}}}}
_IN_MAPPING = {"Fn::FindInMap": ["Images", {"Ref": "AWS::Region"}, "Id"]}

CASES = (
    Case(
        rule="instance-metadata-v1",
        breaks=(
            # Nobody asks for a token unless the account or the image happens to.
            Breaks(template=group(), resource="Launch", property=_TOKENS, got="nothing"),
            Breaks(
                template=group(launch={"MetadataOptions": {"HttpTokens": "optional"}}),
                resource="Launch",
                property=_TOKENS,
                got="'optional'",
            ),
            Breaks(
                template=group(launch={"MetadataOptions": {"HttpTokens": "optional", "HttpEndpoint": "enabled"}}),
                resource="Launch",
                property=_TOKENS,
                got="'optional'",
            ),
            Breaks(
                template=template(
                    Box={
                        "Type": "EC2::Instance",
                        "Properties": {"InstanceType": "trn1.2xlarge", "MetadataOptions": {"HttpTokens": "optional"}},
                    }
                ),
                resource="Box",
                property="MetadataOptions.HttpTokens",
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
                property="SpotFleetRequestConfigData.LaunchSpecifications[0].MetadataOptions.HttpTokens",
                got="nothing",
            ),
            # No more is known of images in a mapping than of one.
            Breaks(template=_MAPPED | group(launch={"ImageId": _IN_MAPPING}), resource="Launch", property=_TOKENS),
            # Both sides of the condition say no.
            Breaks(
                template=_GIVEN | group(launch={"MetadataOptions": {"Fn::If": ["Dev", _OPTIONAL, _OPTIONAL_AND_FAR]}}),
                resource="Launch",
                property=_TOKENS,
                got="'optional'",
            ),
        ),
        keeps=(
            group(launch={"MetadataOptions": {"HttpTokens": "required"}}),
            {"Parameters": {"Tokens": {"Type": "String", "Default": "required"}}}
            | group(launch={"MetadataOptions": {"HttpTokens": {"Ref": "Tokens"}}}),
            # Without an endpoint there is neither version.
            group(launch={"MetadataOptions": {"HttpTokens": "optional", "HttpEndpoint": "disabled"}}),
            # Images of Amazon Linux 2023 ask for tokens.
            group(launch={"ImageId": f"resolve:ssm:{_AL2023}"}),
            {"Parameters": {"Image": {"Type": "AWS::SSM::Parameter::Value<AWS::EC2::Image::Id>", "Default": _AL2023}}}
            | group(launch={"ImageId": {"Ref": "Image"}}),
            # Types without accelerators are none of its business.
            group("m7i.large", launch={"MetadataOptions": {"HttpTokens": "optional"}}),
        ),
        unknown=(
            {"Parameters": {"Tokens": {"Type": "String"}}}
            | group(launch={"MetadataOptions": {"HttpTokens": {"Ref": "Tokens"}}}),
            {"Parameters": {"Image": {"Type": "AWS::EC2::Image::Id"}}} | group(launch={"ImageId": {"Ref": "Image"}}),
        ),
    ),
)
