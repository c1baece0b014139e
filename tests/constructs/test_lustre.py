"""FSx for Lustre: what may be mounted where, and whether fleet and file system reach each other."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pytest
from aws_cdk import App, Aws, Environment, Fn, Stack
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_fsx as fsx
from aws_cdk.assertions import Annotations, Match, Template
from cfnlint import api  # type: ignore[import-untyped]
from constructs import Construct

from constructs_lib import FleetStorage, LustreMount
from constructs_lib.errors import ArgumentError
from constructs_lib.fleet.lustre_access import LUSTRE_IN_ANOTHER_VPC, LUSTRE_IN_ANOTHER_ZONE
from constructs_lib.node.settings import parse_settings
from tests.constructs.reading import plain, resources, user_data
from tests.support.stacks import fleet, project_context, stack
from tests.support.stacks import vpc as existing_vpc

LINT = {"regions": ["us-east-1"], "ignore_checks": ["W3005"]}
ENVIRONMENT = Environment(account="111122223333", region="us-east-1")
# "File system access control with Amazon VPC", FSx for Lustre User Guide.
PORTS = {(988, 988), (1018, 1023)}


def network(scope: Construct, id: str = "Vpc") -> ec2.Vpc:
    return ec2.Vpc(scope, id, max_azs=2, nat_gateways=0)


def file_system(
    scope: Construct, vpc: ec2.IVpc, id: str = "Input", zone: int = 0, **options: Any
) -> fsx.LustreFileSystem:
    return fsx.LustreFileSystem(
        scope,
        id,
        vpc=vpc,
        vpc_subnet=vpc.public_subnets[zone],
        storage_capacity_gib=1200,
        lustre_configuration=fsx.LustreConfiguration(deployment_type=fsx.LustreDeploymentType.SCRATCH_2),
        **options,
    )


def imported(scope: Construct, id: str = "Imported", **options: Any) -> fsx.IFileSystem:
    return fsx.LustreFileSystem.from_lustre_file_system_attributes(
        scope,
        id,
        dns_name="fs-0123456789abcdef0.fsx.us-east-1.amazonaws.com",
        file_system_id="fs-0123456789abcdef0",
        security_group=ec2.SecurityGroup.from_security_group_id(scope, f"{id}Group", "sg-0123456789abcdef0", **options),
    )


def mounts(*given: LustreMount) -> FleetStorage:
    return FleetStorage(lustre=list(given))


def training(vpc: ec2.IVpc | None = None, **options: Any) -> Stack:
    """A file system and a fleet that mounts it, both in one zone's subnet."""
    made = stack(context=project_context())
    own = network(made) if vpc is None else vpc
    fleet(made, vpc=own, storage=mounts(LustreMount(file_system=file_system(made, own), path="/fsx")), **options)
    return made


def template(of: Stack) -> dict[str, Any]:
    return dict(Template.from_stack(of).to_json())


def rules(of: Mapping[str, Any]) -> set[tuple[str, str, int, int]]:
    """Who may be reached by whom, on which ports: the group of the rule, its peer, first and last port."""
    found = set()
    for rule in resources(of, "AWS::EC2::SecurityGroupIngress").values():
        shown = plain(rule["Properties"])
        assert shown["IpProtocol"] == "tcp"
        found.add((shown["GroupId"], shown["SourceSecurityGroupId"], shown["FromPort"], shown["ToPort"]))
    return found


def warned(of: Stack, id: str) -> list[Any]:
    return list(Annotations.from_stack(of).find_warning("*", Match.string_like_regexp(f".*{id}.*")))


# --- what the instance is told ---------------------------------------------------------------------------------------


def test_an_instance_is_told_what_to_mount() -> None:
    made = template(training())
    (line,) = [line for line in user_data(made).splitlines() if '"lustre"' in line]
    told = json.loads(line)["setup"]["lustre"]
    assert told == {"/fsx": {"source": "<Input>.fsx.<AWS::Region>.<AWS::URLSuffix>@tcp:/<Input.LustreMountName>"}}


def test_the_program_reads_what_it_is_told() -> None:
    made = stack()
    own = LustreMount(file_system=imported(made), mount_name="abcd_fg-", path="/fsx/in", read_only=True)
    document = json.dumps({"kind": "nvidia", "setup": mounts(own).settings()})
    setup = parse_settings(document, "node.json").setup
    assert setup is not None
    assert setup.lustre is not None
    assert vars(setup.lustre["/fsx/in"]) == {
        "source": "fs-0123456789abcdef0.fsx.us-east-1.amazonaws.com@tcp:/abcd_fg-",
        "read_only": True,
    }


def test_what_was_left_out_is_none() -> None:
    made = stack()
    system = imported(made)
    short = LustreMount(file_system=system, mount_name="abcdefgh", path="/fsx")
    assert short == LustreMount(file_system=system, mount_name="abcdefgh", path="/fsx", read_only=None)
    assert short == LustreMount(file_system=system, mount_name="abcdefgh", path="/fsx", read_only=False)
    assert FleetStorage(lustre=None) == FleetStorage()
    assert FleetStorage(lustre=None).settings() == {}


def test_a_fleet_without_a_file_system_is_as_it_was() -> None:
    made = template(fleet(stack()).node.scope)  # type: ignore[arg-type]
    assert "lustre" not in json.dumps(made).lower()
    assert resources(made, "AWS::EC2::SecurityGroupIngress") == {}


def test_the_degraded_alarm_looks_at_the_setup() -> None:
    alarms = resources(template(training()), "AWS::CloudWatch::Alarm")
    (degraded,) = [each for id_, each in alarms.items() if "Degraded" in id_]
    assert "setup_failures" in json.dumps(degraded)


# --- who reaches whom ------------------------------------------------------------------------------------------------


def test_fleet_and_file_system_reach_each_other_both_ways() -> None:
    """Clients and file servers each begin connections."""
    made = template(training())
    servers, clients = "<InputFsxLustreSecurityGroup.GroupId>", "<FleetSecurityGroup.GroupId>"
    expected = {
        (group, peer, first, last) for group, peer in [(servers, clients), (clients, servers)] for first, last in PORTS
    }
    assert rules(made) >= expected
    # And of itself the file system has what the CDK gives it.
    assert {rule[:2] for rule in rules(made) - expected} == {(servers, servers)}


def test_nothing_is_said_of_outbound_rules_that_are_open() -> None:
    assert warned(training(), "ipv4IgnoreEgressRule") == []


def test_a_group_that_lets_nothing_out_lets_lustre_out() -> None:
    made = stack()
    vpc = network(made)
    closed = ec2.SecurityGroup(made, "Closed", vpc=vpc, allow_all_outbound=False)
    mount = LustreMount(file_system=file_system(made, vpc), path="/fsx")
    fleet(made, vpc=vpc, security_group=closed, storage=mounts(mount))
    out = resources(template(made), "AWS::EC2::SecurityGroupEgress").values()
    found = {(each["Properties"]["FromPort"], each["Properties"]["ToPort"]) for each in out}
    assert found == PORTS


def test_rules_are_there_before_the_first_instance_and_after_the_last() -> None:
    """The last one may save a checkpoint while the stack is deleted."""
    made = template(training())
    (group,) = resources(made, "AWS::AutoScaling::AutoScalingGroup").values()
    ours = {
        id_
        for id_, each in resources(made, "AWS::EC2::SecurityGroupIngress").items()
        if each["Properties"]["Description"] == "Lustre of an accelerated fleet"
    }
    assert len(ours) == 4
    assert ours <= set(group["DependsOn"])


def test_one_file_system_at_two_paths_needs_its_rules_once() -> None:
    made = stack()
    vpc = network(made)
    system = file_system(made, vpc)
    fleet(
        made,
        vpc=vpc,
        storage=mounts(
            LustreMount(file_system=system, path="/in", read_only=True), LustreMount(file_system=system, path="/out")
        ),
    )
    assert len(rules(template(made))) == 5


def test_a_file_system_of_another_stack() -> None:
    app = App()
    base, made = Stack(app, "Base"), Stack(app, "Test")
    vpc = network(base)
    mount = LustreMount(file_system=file_system(base, vpc), path="/fsx")
    fleet(made, vpc=vpc, storage=mounts(mount))
    assembly = app.synth()
    # Its stack does not depend on the fleet's, which would be a circle.
    rules_of = {
        name: len(resources(assembly.get_stack_by_name(name).template, "AWS::EC2::SecurityGroupIngress"))
        for name in ("Base", "Test")
    }
    assert rules_of == {"Base": 1, "Test": 4}


def test_an_imported_file_system() -> None:
    made = stack()
    mount = LustreMount(file_system=imported(made), mount_name="abcdefgh", path="/fsx")
    fleet(made, storage=mounts(mount))
    found = template(made)
    assert {rule[0] for rule in rules(found)} >= {"sg-0123456789abcdef0"}
    assert len(rules(found)) == 4
    assert "fs-0123456789abcdef0.fsx.us-east-1.amazonaws.com@tcp:/abcdefgh" in user_data(found)


def test_an_imported_group_that_must_not_be_changed_is_not() -> None:
    made = stack()
    mount = LustreMount(file_system=imported(made, mutable=False), mount_name="abcdefgh", path="/fsx")
    fleet(made, storage=mounts(mount))
    assert {rule[1] for rule in rules(template(made))} == {"sg-0123456789abcdef0"}


@pytest.mark.parametrize("context", [{}, project_context()], ids=["empty", "project"])
def test_the_template_is_valid(context: dict[str, Any]) -> None:
    made = stack(context=context)
    vpc = network(made)
    fleet(
        made,
        vpc=vpc,
        storage=mounts(
            LustreMount(file_system=file_system(made, vpc), path="/fsx"),
            LustreMount(file_system=imported(made), mount_name="abcdefgh", path="/old", read_only=True),
        ),
    )
    assert [str(each) for each in api.lint(json.dumps(template(made)), config=LINT)] == []


# --- where it stands -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("zone", "warnings"), [(0, 0), (1, 1)])
def test_a_file_system_in_a_zone_without_the_fleet_is_warned_about(zone: int, warnings: int) -> None:
    made = stack()
    vpc = network(made)
    mount = LustreMount(file_system=file_system(made, vpc, zone=zone), path="/fsx")
    first = ec2.SubnetSelection(subnets=[vpc.public_subnets[0]])
    fleet(made, vpc=vpc, vpc_subnets=first, storage=mounts(mount))
    assert len(warned(made, LUSTRE_IN_ANOTHER_ZONE)) == warnings


@pytest.mark.parametrize("kind", [ec2.SubnetType.PUBLIC, ec2.SubnetType.PRIVATE_WITH_EGRESS])
def test_it_is_the_zone_that_counts_and_not_the_subnet(kind: ec2.SubnetType) -> None:
    made = stack(env=ENVIRONMENT)
    vpc = existing_vpc(made)
    chosen = ec2.SubnetSelection(subnet_type=kind, availability_zones=["us-east-1b"])
    for zone, warnings in [(1, 0), (0, 1)]:
        mount = LustreMount(file_system=file_system(made, vpc, f"Input{zone}", zone), path="/fsx")
        fleet(made, f"Fleet{zone}", vpc=vpc, vpc_subnets=chosen, storage=mounts(mount))
        assert len(warned(made, LUSTRE_IN_ANOTHER_ZONE)) == warnings


@pytest.mark.parametrize("how", ["of this app", "imported"])
def test_a_fleet_in_several_zones_reads_across_wherever_the_file_system_stands(how: str) -> None:
    made = stack()
    vpc = network(made)
    mount = LustreMount(file_system=file_system(made, vpc), path="/fsx")
    if how == "imported":
        mount = LustreMount(file_system=imported(made), mount_name="abcdefgh", path="/fsx")
    fleet(made, vpc=vpc, storage=mounts(mount))
    (said,) = warned(made, LUSTRE_IN_ANOTHER_ZONE)
    assert "stands in one zone, and the fleet in 2: instances in the others read across zones" in str(said)


def test_zones_that_only_a_deploy_settles_are_not_guessed() -> None:
    made = stack()
    zones = Fn.get_azs()
    vpc = ec2.Vpc.from_vpc_attributes(
        made,
        "Vpc",
        vpc_id=Fn.import_value("vpc"),
        availability_zones=[Fn.select(0, zones), Fn.select(1, zones)],
        public_subnet_ids=[Fn.import_value("one"), Fn.import_value("two")],
    )
    mount = LustreMount(file_system=file_system(made, vpc), path="/fsx")
    second = ec2.SubnetSelection(subnets=[vpc.public_subnets[1]])
    fleet(made, vpc=vpc, vpc_subnets=second, storage=mounts(mount))
    assert warned(made, LUSTRE_IN_ANOTHER_ZONE) == []


def test_a_file_system_in_another_vpc_is_warned_about() -> None:
    made = stack()
    vpc, other = network(made), network(made, "Other")
    fleet(made, vpc=vpc, storage=mounts(LustreMount(file_system=file_system(made, other), path="/fsx")))
    assert len(warned(made, LUSTRE_IN_ANOTHER_VPC)) == 1
    assert warned(training(), LUSTRE_IN_ANOTHER_VPC) == []


def test_whether_an_imported_vpc_is_the_one_of_this_app_is_not_guessed() -> None:
    made = stack()
    mount = LustreMount(file_system=file_system(made, network(made)), path="/fsx")
    fleet(made, storage=mounts(mount))
    assert warned(made, LUSTRE_IN_ANOTHER_VPC) == []


@pytest.mark.parametrize(
    ("environment", "what"),
    [
        (Environment(account="111122223333", region="eu-west-1"), "Region"),
        (Environment(account="999999999999", region="us-east-1"), "account"),
        (None, "account"),
    ],
)
def test_another_account_or_region_is_refused_in_our_own_words(environment: Environment | None, what: str) -> None:
    app = App()
    base, made = Stack(app, "Base", env=ENVIRONMENT), Stack(app, "Test", env=environment)
    mount = LustreMount(file_system=file_system(base, existing_vpc(base)), path="/fsx")
    with pytest.raises(ArgumentError, match=rf"^Test/Fleet: storage\.lustre must hold .* fleet's own {what}, got "):
        fleet(made, storage=mounts(mount))


# --- what is refused -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("path", ["fsx", "/", "/fsx/", "/mnt/../etc", "/a b", "/home/x", "/tmp", "/usr", "", 1, None])
def test_paths_are_checked_as_those_of_the_instance_store(path: Any) -> None:
    with pytest.raises(ArgumentError, match=r"^LustreMount: path must .*; write for example '/fsx'$"):
        LustreMount(file_system=imported(stack()), mount_name="abcdefgh", path=path)


def test_a_path_that_only_a_deploy_settles_cannot_be_checked() -> None:
    with pytest.raises(ArgumentError, match=r"^LustreMount: path must be known at synth"):
        LustreMount(file_system=imported(stack()), mount_name="abcdefgh", path=f"/mnt/{Aws.REGION}")


@pytest.mark.parametrize(
    ("paths", "at"),
    [
        (["/fsx", "/fsx"], "/fsx"),
        (["/fsx", "/fsx/in"], "/fsx"),
        (["/data/in", "/data"], "/data/in"),
        (["/mnt/store/fsx"], "/mnt/store"),
        (["/mnt"], "/mnt/store"),
    ],
)
def test_mounts_that_would_hide_each_other_are_refused(paths: list[str], at: str) -> None:
    system = imported(stack())
    given = [LustreMount(file_system=system, mount_name="abcdefgh", path=path) for path in paths]
    with pytest.raises(ArgumentError) as caught:
        FleetStorage(instance_store_path="/mnt/store", lustre=given)
    assert str(caught.value).startswith(f"FleetStorage: lustre must be mounted apart from {at}, got '{paths[-1]}'; ")


def test_mounts_beside_each_other_are_taken() -> None:
    system = imported(stack())
    given = [LustreMount(file_system=system, mount_name="abcdefgh", path=path) for path in ("/fsx", "/fsx2", "/mnt/a")]
    storage = FleetStorage(instance_store_path="/mnt/ab", lustre=given)
    assert list(storage.settings()) == ["instance_store", "lustre"]


def test_more_than_a_boot_has_time_for_are_refused() -> None:
    system = imported(stack())
    given = [LustreMount(file_system=system, mount_name="abcdefgh", path=f"/fsx{number}") for number in range(5)]
    FleetStorage(lustre=given[:4])
    with pytest.raises(ArgumentError, match=r"^FleetStorage: lustre must hold at most 4 file systems, got 5; "):
        FleetStorage(lustre=given)


@pytest.mark.parametrize("given", [[], "/fsx", ["/fsx"], 1, {}])
def test_a_list_of_mounts_is_needed(given: Any) -> None:
    with pytest.raises(ArgumentError, match=r"^FleetStorage: lustre must be a list of LustreMount that is not empty"):
        FleetStorage(lustre=given)


@pytest.mark.parametrize("given", [None, "fs-0123456789abcdef0", 1])
def test_something_that_is_no_file_system_is_refused(given: Any) -> None:
    with pytest.raises(ArgumentError, match=r"^LustreMount: file_system must be of type FileSystemBase, got "):
        LustreMount(file_system=given, path="/fsx")


def test_a_resource_of_cloudformation_is_no_file_system() -> None:
    raw: Any = fsx.CfnFileSystem(stack(), "Raw", file_system_type="LUSTRE", subnet_ids=["subnet-0123456789abcdef0"])
    with pytest.raises(ArgumentError, match=r"^LustreMount: file_system must .*from_lustre_file_system_attributes"):
        LustreMount(file_system=raw, path="/fsx")


def test_an_imported_file_system_needs_its_mount_name() -> None:
    with pytest.raises(ArgumentError, match=r"^LustreMount: mount_name must be given with an imported file system"):
        LustreMount(file_system=imported(stack()), path="/fsx")


@pytest.mark.parametrize("name", ["", "abcdefghi", "a b", "fsx/in", "é", 1])
def test_a_mount_name_that_fsx_never_gives_is_refused(name: Any) -> None:
    with pytest.raises(ArgumentError, match=r"^LustreMount: mount_name must be .*; copy MountName from"):
        LustreMount(file_system=imported(stack()), path="/fsx", mount_name=name)


def test_a_mount_name_that_only_a_deploy_settles_is_taken() -> None:
    name = Fn.import_value("MountName")
    mount = LustreMount(file_system=imported(stack()), path="/fsx", mount_name=name)
    assert str(mount.settings()["source"]).endswith(f"@tcp:/{name}")


@pytest.mark.parametrize("given", [1, "yes", "False"])
def test_read_only_is_a_flag(given: Any) -> None:
    with pytest.raises(ArgumentError, match=r"^LustreMount: read_only must be of type bool, got "):
        LustreMount(file_system=imported(stack()), mount_name="abcdefgh", path="/fsx", read_only=given)
