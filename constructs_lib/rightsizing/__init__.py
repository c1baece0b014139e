"""From a workload to instance types: what fits, how much it does there, and what that costs."""

from constructs_lib.rightsizing.memory import Memory, replica_memory
from constructs_lib.rightsizing.models import Model, ModelShape, known_models
from constructs_lib.rightsizing.recommend import recommend
from constructs_lib.rightsizing.recommendation import Choice, Figure, Hint, Recommendation, Refusal
from constructs_lib.rightsizing.workload import (
    METHODS,
    OPTIMIZERS,
    PRECISIONS,
    RECOMPUTES,
    STACKS,
    UNITS_OF,
    USES,
    VIDEOS,
    Workload,
)

__all__ = [
    "METHODS",
    "OPTIMIZERS",
    "PRECISIONS",
    "RECOMPUTES",
    "STACKS",
    "UNITS_OF",
    "USES",
    "VIDEOS",
    "Choice",
    "Figure",
    "Hint",
    "Memory",
    "Model",
    "ModelShape",
    "Recommendation",
    "Refusal",
    "Workload",
    "known_models",
    "recommend",
    "replica_memory",
]
