"""Reading a template needs neither the CDK nor the SDK; asking needs the SDK, and no earlier than the first call."""

from __future__ import annotations

import subprocess
import sys

_CHECK = """
import sys
import constructs_lib.preflight.run
import constructs_lib.preflight as preflight
from constructs_lib.preflight.plan import read
preflight.policy_document()
loaded = [name for name in ("aws_cdk", "jsii", "constructs", "boto3", "botocore") if name in sys.modules]
print(loaded)
"""


def test_what_is_loaded_before_anybody_is_asked() -> None:
    done = subprocess.run([sys.executable, "-c", _CHECK], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
