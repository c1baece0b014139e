"""Configurations of the agent as rules find them, and what they publish."""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping
from typing import Any

import pytest

from constructs_lib.compliance.deployment import Deployment, Source
from constructs_lib.compliance.facts.agents import AgentConfiguration, start_of
from constructs_lib.compliance.facts.launches import launches
from tests.compliance.cases import group, template
from tests.compliance.telemetry import agent, script

_FETCH = "amazon-cloudwatch-agent-ctl -a fetch-config -m ec2 -s -c ssm:"


def _found(content: Mapping[str, Any]) -> tuple[AgentConfiguration, ...]:
    (launch,) = launches(Deployment([Source(name="template", content=content)]))
    return start_of(launch).configurations


def _of_script(text: object) -> tuple[AgentConfiguration, ...]:
    return _found(group(launch={"UserData": {"Fn::Base64": text}}))


_TEXT = json.dumps(agent(), indent=2)


@pytest.mark.parametrize(
    "text",
    [
        script(agent()),
        f"#!/bin/bash\ncat <<'EOF' > /opt/aws/amazon-cloudwatch-agent/etc/config.json\n{_TEXT}\nEOF\n",
        f"#!/bin/bash\nsudo tee /opt/agent.json >/dev/null << 'END_OF_FILE'\n{_TEXT}\nEND_OF_FILE\n",
        "#!/bin/bash\ncat <<-'EOF' >/opt/a.json\n\t" + _TEXT.replace("\n", "\n\t") + "\n\tEOF\n",
        "#!/bin/bash\r\ncat <<'EOF' >/opt/a.json\r\n" + _TEXT.replace("\n", "\r\n") + "\r\nEOF\r\n",
        {"Fn::Join": ["\n", ["#!/bin/bash", "cat >/opt/a.json <<'EOF'", _TEXT, "EOF", ""]]},
        base64.b64encode(script(agent()).encode()).decode(),
    ],
)
def test_a_configuration_in_a_boot_script_is_found(text: object) -> None:
    (configuration,) = _of_script(text)
    assert configuration.content == agent()
    assert configuration.is_whole
    assert configuration.eaten == ()


def test_the_shell_leaves_what_is_escaped() -> None:
    (configuration,) = _of_script(script(_TEXT.replace("$", "\\$"), end="EOF"))
    assert configuration.content == agent()
    assert configuration.eaten == ()


def test_the_shell_takes_placeholders_for_its_own() -> None:
    (configuration,) = _of_script(script(agent(), end="EOF"))
    assert configuration.eaten == ("${aws:AutoScalingGroupName}", "${aws:InstanceId}")


def test_a_variable_of_the_shell_is_not_known() -> None:
    (configuration,) = _of_script(script(agent(namespace="$NAMESPACE"), end="EOF"))
    assert not configuration.is_whole


@pytest.mark.parametrize(
    "text", ["cat >/etc/motd <<'EOF'\n{welcome}\nEOF\n", "cat >/a.json <<'EOF'\n{\"a\": 1}\nEOF\n"]
)
def test_another_file_is_no_configuration(text: str) -> None:
    assert _of_script(f"#!/bin/bash\n{text}") == ()


@pytest.mark.parametrize("name", [{}, {"Name": "AmazonCloudWatch-gpu"}])
@pytest.mark.parametrize("fetched", ["AmazonCloudWatch-gpu", {"Ref": "Agent"}])
def test_a_parameter_that_the_script_fetches_is_found(name: Mapping[str, str], fetched: object) -> None:
    parameter = {"Type": "SSM::Parameter", "Properties": {"Type": "String", "Value": json.dumps(agent()), **name}}
    text = {"Fn::Join": ["", [_FETCH, fetched, "\n"]]}
    found = _found(group(launch={"UserData": {"Fn::Base64": text}}, **template(Agent=parameter)["Resources"]))
    is_named = fetched != "AmazonCloudWatch-gpu" or bool(name)
    assert [each.content for each in found] == ([agent()] if is_named else [])


def test_a_parameter_that_is_not_here_is_told() -> None:
    content = group(launch={"UserData": {"Fn::Base64": f"{_FETCH}AmazonCloudWatch-gpu\n"}})
    (launch,) = launches(Deployment([Source(name="template", content=content)]))
    assert start_of(launch).fetches_what_is_not_here


def test_a_comment_fetches_nothing() -> None:
    text = f"#!/bin/bash\n# {_FETCH}mine\n{script(agent())}"
    (launch,) = launches(
        Deployment([Source(name="template", content=group(launch={"UserData": {"Fn::Base64": text}}))])
    )
    assert not start_of(launch).fetches_what_is_not_here
    assert len(start_of(launch).configurations) == 1


@pytest.mark.parametrize(
    ("names", "is_published"),
    [
        ({"AutoScalingGroupName"}, True),
        ({"InstanceId"}, True),
        ({"AutoScalingGroupName", "InstanceId"}, False),
        ({"AutoScalingGroupName", "InstanceId", "index", "name"}, True),
        ({"AutoScalingGroupName", "InstanceId", "index", "name", "arch"}, True),
        ({"host", "index", "name"}, False),
        (set(), False),
    ],
)
def test_series_are_those_of_the_roll_ups_and_the_raw_ones(names: set[str], is_published: bool) -> None:
    (configuration,) = _of_script(script(agent()))
    use = next(each for each in configuration.published() if each.name == "nvidia_smi_utilization_gpu")
    assert use.has_series_by(frozenset(names)) is is_published


def test_dropped_series_leave_the_roll_ups() -> None:
    section = {"nvidia_gpu": {"measurement": ["utilization_gpu"], "drop_original_metrics": ["*"]}}
    (configuration,) = _of_script(script(agent(section)))
    (use,) = configuration.published()
    assert use.has_series_by(frozenset({"InstanceId"}))
    assert not use.has_series_by(frozenset({"AutoScalingGroupName", "InstanceId", "index", "name"}))


def test_without_appended_dimensions_the_host_is_one() -> None:
    (configuration,) = _of_script(script(agent(append_dimensions=None, aggregation_dimensions=None)))
    use = next(each for each in configuration.published() if each.name == "nvidia_smi_utilization_gpu")
    assert use.has_series_by(frozenset({"host", "index", "name"}))
    assert use.interval == 60
