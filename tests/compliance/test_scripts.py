"""What of a script is a command, and what a comment."""

from __future__ import annotations

import pytest

from constructs_lib.compliance.facts.scripts import commands_in, decoded, has_commands_of_a_deploy
from constructs_lib.template.settling import Surroundings, Template

_RESOURCES = {"Bucket": {"Type": "AWS::S3::Bucket"}, "Own": {"Type": "Custom::Script"}}
_PARAMETERS = {"Value": {"Type": "String"}}


@pytest.mark.parametrize(
    ("script", "commands"),
    [
        ("#!/bin/bash\n# halt\nrun", "\n\nrun"),
        ("run # then halt", "run "),
        ("run;# halt", "run;"),
        ("wall 'in # minutes'; halt", "wall 'in # minutes'; halt"),
        ('wall "it\'s # now" # halt', 'wall "it\'s # now" '),
        ("echo don't # halt", "echo don't "),
        ("echo $# ${#list} a#b; halt", "echo $# ${#list} a#b; halt"),
        ("<powershell>\n<# halt\nhalt #>run</powershell>", "<powershell>\nrun</powershell>"),
        ("cat <# halt", "cat <# halt"),
    ],
)
def test_comments_are_no_commands(script: str, commands: str) -> None:
    assert commands_in(script) == commands


def test_a_script_may_be_written_in_base64() -> None:
    assert decoded("IyEvYmluL2Jhc2gKaGFsdAo=") == "#!/bin/bash\nhalt\n"
    assert decoded("#!/bin/bash\nhalt\n") == "#!/bin/bash\nhalt\n"
    assert decoded("halt now") == "halt now"


@pytest.mark.parametrize(
    ("script", "expected"),
    [
        ("#!/bin/bash\n${Value}\n", True),
        ("#!/bin/bash\nrun && ${Value}\n", True),
        ("#!/bin/bash\nsudo bash -x ${Value}\n", True),
        ("runcmd:\n  - ${Value}\n", True),
        ("#!/bin/bash\n${Own.Text}\n", True),
        ("#!/bin/bash\nrun --name ${Value}\n", False),
        ("#!/bin/bash\necho ${Bucket}${Value} > /etc/name\n", False),
        ("#!/bin/bash\n${Bucket}\n", False),
        ("#!/bin/bash\n${AWS::StackName}\n", False),
        ("#!/bin/bash\nrun\n", False),
    ],
)
def test_what_a_deploy_tells_is_a_command_where_one_begins(script: str, expected: bool) -> None:
    template = Template({"Parameters": _PARAMETERS, "Resources": _RESOURCES}, Surroundings(region=None))
    assert has_commands_of_a_deploy(template.settle({"Fn::Sub": script})) is expected
