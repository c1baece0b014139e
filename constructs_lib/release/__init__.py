"""Idle becomes zero: the policy, the release loop, and the clean-up when the stack goes."""

from constructs_lib.release.cleanup import FleetCleanup
from constructs_lib.release.expiry import ExpiryStart, StackExpiry
from constructs_lib.release.handler_settings import ReleaseSettings, ScaleInProtection
from constructs_lib.release.idle_release import IdleRelease
from constructs_lib.release.idle_signal import OF_ACCELERATORS, CustomSignal, IdleSignal
from constructs_lib.release.keep_warm import KeepWarm
from constructs_lib.release.loop import RELEASED_BY, ReleaseLoop
from constructs_lib.release.policy import AtMinimum, IdlePolicy
from constructs_lib.release.signals import doubt_of_node_program

__all__ = [
    "OF_ACCELERATORS",
    "RELEASED_BY",
    "AtMinimum",
    "CustomSignal",
    "ExpiryStart",
    "FleetCleanup",
    "IdlePolicy",
    "IdleRelease",
    "IdleSignal",
    "KeepWarm",
    "ReleaseLoop",
    "ReleaseSettings",
    "ScaleInProtection",
    "StackExpiry",
    "doubt_of_node_program",
]
