"""All examples in one CDK application: what ``cdk ls`` and ``cdk deploy NAME`` see."""

from __future__ import annotations

from aws_cdk import App

from examples.inference_queue.app import build as inference_queue


def main() -> None:
    """Add every example and synthesize."""
    app = App()
    inference_queue(app)
    app.synth()


if __name__ == "__main__":
    main()
