"""Write each example's cloud assembly, as on a machine that has neither credentials nor context.

``--nag`` adds cdk-nag's AwsSolutions pack: synthesis then fails at a finding without an acknowledged reason.
"""

from __future__ import annotations

import argparse
import importlib
import os
import shutil
import sys
from pathlib import Path

_CHECKOUT = Path(__file__).resolve().parent.parent
_FROM_OUTSIDE = ("AWS_", "CDK_DEFAULT_", "CDK_CONTEXT_")


def main() -> None:
    """Synthesize and print one line per example."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("output", type=Path, help="folder that gets one assembly per example")
    parser.add_argument("--examples", type=Path, default=_CHECKOUT / "examples", help="default: the checkout's")
    parser.add_argument("--nag", action="store_true", help="apply cdk-nag's AwsSolutions pack")
    arguments = parser.parse_args()
    forget_the_machine()
    sys.path.insert(0, str(arguments.examples.resolve().parent))
    names = example_names(arguments.examples)
    if not names:
        sys.exit(f"{arguments.examples} holds no example: nothing was synthesized")
    for name in names:
        output = arguments.output / name
        templates = synthesize(name, output, nag=arguments.nag)
        print(f"{name}: {', '.join(templates)} in {output}")


def forget_the_machine() -> None:
    """Remove what could leak into a template from whoever runs this; must come before the first import of the CDK."""
    for variable in [name for name in os.environ if name.startswith(_FROM_OUTSIDE)]:
        del os.environ[variable]


def example_names(examples: Path) -> list[str]:
    """Return the folders that hold an ``app.py``, sorted."""
    return sorted(app.parent.name for app in examples.glob("*/app.py"))


def synthesize(name: str, output: Path, *, nag: bool) -> list[str]:
    """Write the assembly of one example to ``output`` and return its templates' names.

    Raises:
        RuntimeError: a construct of the example carries an error annotation, which synthesis alone lets pass.
    """
    from aws_cdk import App, Validations
    from aws_cdk.cx_api import SynthesisMessageLevel

    shutil.rmtree(output, ignore_errors=True)
    app = App(outdir=str(output))
    importlib.import_module(f"examples.{name}.app").build(app)
    if nag:
        from cdk_nag import AwsSolutionsChecks

        Validations.of(app).add_plugins(AwsSolutionsChecks(app))
    stacks = app.synth().stacks_recursively
    for message in [message for stack in stacks for message in stack.messages]:
        print(f"{message.level.value} {message.id}: {message.entry.data}", file=sys.stderr)
        if message.level == SynthesisMessageLevel.ERROR:
            raise RuntimeError(f"{message.id} carries an error annotation: {message.entry.data}")
    return [stack.template_file for stack in stacks]


if __name__ == "__main__":
    main()
