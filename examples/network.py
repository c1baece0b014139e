"""Where the fleet of an example stands: in a VPC of its own, or in the one that ``-c vpc_id=vpc-...`` names."""

from __future__ import annotations

import os

from aws_cdk import Acknowledgment, Annotations, App, Environment, Stack, Validations
from aws_cdk import aws_ec2 as ec2
from constructs import Construct


class Network(Stack):
    """A VPC that costs nothing while the fleet is at zero: public subnets, no NAT gateway.

    The instances have no inbound rule; the public address is only their way out. What they fetch from S3 and send there
    goes through a gateway endpoint, which costs nothing either.
    """

    def __init__(self, scope: Construct, id: str) -> None:
        super().__init__(scope, id, description="Network of an accelerated fleet")
        self.vpc = ec2.Vpc(
            self,
            "Vpc",
            max_azs=3,
            nat_gateways=0,
            subnet_configuration=[ec2.SubnetConfiguration(name="Fleet", subnet_type=ec2.SubnetType.PUBLIC)],
            gateway_endpoints={"S3": ec2.GatewayVpcEndpointOptions(service=ec2.GatewayVpcEndpointAwsService.S3)},
            restrict_default_security_group=False,
        )
        Validations.of(self.vpc).acknowledge(
            Acknowledgment(
                id="AwsSolutions-VPC7",
                reason="Flow logs bill for every byte that jobs move; a team that needs them deploys into its own VPC.",
            )
        )


class FleetStack(Stack):
    """A stack whose fleet stands in a VPC of the same app, or in one that is looked up in the account.

    Attributes:
        vpc: that VPC.
    """

    def __init__(self, scope: Construct, id: str, *, description: str) -> None:
        vpc_id = scope.node.try_get_context("vpc_id")
        super().__init__(
            scope,
            id,
            description=description,
            env=_from_command_line() if vpc_id else None,
            suppress_template_indentation=True,  # a quarter of the file, and nobody reads it unformatted
        )
        if vpc_id:
            self.vpc = ec2.Vpc.from_lookup(self, "Vpc", vpc_id=vpc_id)
            return
        Annotations.of(self).acknowledge_warning(
            "@aws-cdk/core:crossStackReferencesDefaultStrong", "the network must outlive the fleet that stands in it"
        )
        app = self.node.root
        assert isinstance(app, App)
        self.vpc = Network(app, f"{id}Network").vpc


def _from_command_line() -> Environment:
    """The account and Region of the CDK command line's credentials; a lookup needs them."""
    account, region = os.environ.get("CDK_DEFAULT_ACCOUNT"), os.environ.get("CDK_DEFAULT_REGION")
    if not account or not region:
        raise SystemExit(
            "-c vpc_id=... looks the VPC up in your account: give the cdk command credentials and a Region"
        )
    return Environment(account=account, region=region)
