"""The CloudWatch agent's configuration: what it acts on, and how each kind of accelerator is measured with it."""

from constructs_lib.agent.rules import check

__all__ = ["check"]
