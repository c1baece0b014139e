"""What holds for each example with jobs and buckets: nothing is left, nobody gets more than the work needs."""

from __future__ import annotations

import re
from typing import Any

import pytest

from constructs_lib.catalog import lookup
from tests.constructs.reading import as_list, needs, plain, properties, resources
from tests.examples.example_templates import readme_types, readme_words, templates, type_names, work_permissions
from tests.support.stacks import ROOT

# Example, its stack, its fleet, and the contexts under which it takes other instance types.
EXAMPLES = {
    "neuron_inference": ("NeuronInference", "Inference", [{}, {"neuron_family": "trn1"}]),
    "spot_transcode": ("SpotTranscode", "Transcode", [{}, {"vt1_image_parameter": "/golden/vt1"}]),
    "fpga_batch": ("FpgaBatch", "Batch", [{}, {"fpga_type": "f2.12xlarge"}]),
}


@pytest.fixture(scope="module", params=EXAMPLES)
def example(request: pytest.FixtureRequest) -> str:
    name: str = request.param
    return name


@pytest.fixture(scope="module")
def made(example: str) -> dict[str, dict[str, Any]]:
    return templates(example)


@pytest.fixture(scope="module")
def template(example: str, made: dict[str, dict[str, Any]]) -> dict[str, Any]:
    return made[EXAMPLES[example][0]]


def test_a_given_vpc_is_used_and_none_is_made(example: str, monkeypatch: pytest.MonkeyPatch) -> None:
    stack, _, _ = EXAMPLES[example]
    monkeypatch.setenv("CDK_DEFAULT_ACCOUNT", "111122223333")
    monkeypatch.setenv("CDK_DEFAULT_REGION", "us-east-1")
    found = templates(example, vpc_id="vpc-0123456789abcdef0")
    assert found.keys() == {stack}
    assert resources(found[stack], "AWS::EC2::VPC") == {}


def test_a_vpc_that_nobody_can_look_up_is_told(example: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CDK_DEFAULT_ACCOUNT", raising=False)
    with pytest.raises(SystemExit, match="give the cdk command credentials and a Region"):
        templates(example, vpc_id="vpc-0123456789abcdef0")


def test_own_network_costs_nothing_while_the_fleet_is_at_zero(example: str, made: dict[str, dict[str, Any]]) -> None:
    network = made[f"{EXAMPLES[example][0]}Network"]
    for billed in ("AWS::EC2::NatGateway", "AWS::EC2::EIP"):
        assert resources(network, billed) == {}
    endpoints = [each["Properties"] for each in resources(network, "AWS::EC2::VPCEndpoint").values()]
    assert [(each["VpcEndpointType"], plain(each["ServiceName"])) for each in endpoints] == [
        ("Gateway", "com.amazonaws.<AWS::Region>.s3")
    ]


def test_case_52_nothing_is_left_after_destroy(made: dict[str, dict[str, Any]]) -> None:
    for template in made.values():
        assert not [id for id, each in template["Resources"].items() if each.get("DeletionPolicy") == "Retain"]


def test_buckets_are_encrypted_private_and_reached_by_tls_alone(template: dict[str, Any]) -> None:
    buckets = resources(template, "AWS::S3::Bucket")
    assert buckets
    policies = [each["Properties"] for each in resources(template, "AWS::S3::BucketPolicy").values()]
    for id, bucket in buckets.items():
        given = bucket["Properties"]
        (rule,) = given["BucketEncryption"]["ServerSideEncryptionConfiguration"]
        assert rule["ServerSideEncryptionByDefault"]["SSEAlgorithm"] == "AES256"
        assert set(given["PublicAccessBlockConfiguration"].values()) == {True}
        (policy,) = [each for each in policies if each["Bucket"] == {"Ref": id}]
        refused = [each for each in policy["PolicyDocument"]["Statement"] if each["Effect"] == "Deny"]
        assert [(each["Action"], each["Condition"]) for each in refused] == [
            ("s3:*", {"Bool": {"aws:SecureTransport": "false"}})
        ]


def test_what_is_in_a_bucket_goes_by_itself_and_with_the_stack(template: dict[str, Any]) -> None:
    emptied = {
        each["Properties"]["BucketName"]["Ref"] for each in resources(template, "Custom::S3AutoDeleteObjects").values()
    }
    for id, bucket in resources(template, "AWS::S3::Bucket").items():
        rules = bucket["Properties"]["LifecycleConfiguration"]["Rules"]
        assert [rule["ExpirationInDays"] for rule in rules if "ExpirationInDays" in rule] in ([7], [30])
        assert [
            rule["AbortIncompleteMultipartUpload"] for rule in rules if "AbortIncompleteMultipartUpload" in rule
        ] == [{"DaysAfterInitiation": 1}]
        assert bucket["DeletionPolicy"] == "Delete"
        assert id in emptied


def test_buckets_are_emptied_only_once_no_instance_can_write(template: dict[str, Any]) -> None:
    (group,) = resources(template, "AWS::AutoScaling::AutoScalingGroup")
    assert needs(template, group) >= resources(template, "AWS::S3::Bucket").keys()
    assert needs(template, group) >= resources(template, "Custom::S3AutoDeleteObjects").keys()


def test_the_work_may_use_its_queue_and_its_objects_and_no_more(example: str, template: dict[str, Any]) -> None:
    allowed = work_permissions(template, EXAMPLES[example][1])
    queue = allowed.pop("<JobsQueue.Arn>")
    assert {"sqs:ReceiveMessage", "sqs:DeleteMessage", "sqs:ChangeMessageVisibility"} <= queue
    assert all(action.startswith("sqs:") and "*" not in action and "Send" not in action for action in queue)
    # One action on each: nobody lists a bucket, deletes from it, or reads what others get from it.
    for resource, actions in allowed.items():
        assert re.fullmatch(r"<\w+\.Arn>/\S+", resource)
        assert actions in ({"s3:GetObject"}, {"s3:PutObject"})


def test_failed_jobs_are_kept_apart_for_two_weeks(template: dict[str, Any]) -> None:
    jobs = properties(template, "JobsQueue", "AWS::SQS::Queue")
    assert plain(jobs["RedrivePolicy"])["deadLetterTargetArn"] == "<JobsFailed.Arn>"
    assert properties(template, "JobsFailed", "AWS::SQS::Queue")["MessageRetentionPeriod"] == 14 * 24 * 3600


def test_a_message_stays_hidden_for_as_long_as_the_worker_says(example: str, template: dict[str, Any]) -> None:
    """Else a job that a lost machine had is begun anew earlier than its keeper would have asked for more time."""
    worker = (ROOT / "examples" / example / "worker.sh").read_text(encoding="utf-8")
    (hidden,) = re.findall(r"^HIDDEN=(\d+)$", worker, re.MULTILINE)
    assert properties(template, "JobsQueue", "AWS::SQS::Queue")["VisibilityTimeout"] == int(hidden)


def test_readme_says_what_each_type_is_and_costs(example: str) -> None:
    stack, _, contexts = EXAMPLES[example]
    used = {name for context in contexts for name in type_names(templates(example, **context)[stack])}
    said = readme_types(example)
    assert said.keys() == used
    for name, row in said.items():
        facts = lookup(name)
        assert facts.usd_per_hour is not None
        assert row == (facts.vcpus, facts.accelerators, round(facts.usd_per_hour, 2))
    assert "us-east-1, July 2026" in readme_words(example)


def test_readme_names_the_quota_the_outputs_and_the_context(example: str, template: dict[str, Any]) -> None:
    text = readme_words(example)
    assert re.search(r"(Running On-Demand \w+|All G and VT Spot) [Ii]nstance", text)
    for output in template["Outputs"]:
        if not output.startswith("ExportsOutput"):
            assert output in text
    app = (ROOT / "examples" / example / "app.py").read_text(encoding="utf-8")
    for option in set(re.findall(r'context\("(\w+)"\)', app)):
        assert option in text


def test_every_policy_statement_of_the_app_names_its_resources(made: dict[str, dict[str, Any]]) -> None:
    """What the examples add to a fleet: bucket and queue policies, and the function that empties buckets."""
    for template in made.values():
        for type_ in ("AWS::SQS::QueuePolicy", "AWS::S3::BucketPolicy"):
            for each in resources(template, type_).values():
                for statement in each["Properties"]["PolicyDocument"]["Statement"]:
                    assert "*" not in as_list(plain(statement["Resource"]))
