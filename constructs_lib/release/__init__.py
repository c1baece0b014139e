"""Idle becomes zero: the policy, the release loop, and the clean-up when the stack goes."""

from constructs_lib.release.cleanup import FleetCleanup
from constructs_lib.release.idle_release import IdleRelease
from constructs_lib.release.loop import ReleaseLoop, ScaleInProtection
from constructs_lib.release.policy import IdlePolicy, IdleSignal
from constructs_lib.release.signals import doubt_of_node_program

__all__ = [
    "FleetCleanup",
    "IdlePolicy",
    "IdleRelease",
    "IdleSignal",
    "ReleaseLoop",
    "ScaleInProtection",
    "doubt_of_node_program",
]
