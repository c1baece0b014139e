"""What somebody declares accelerators are for: in the metadata of a resource, or of a template for all of it.

::

    Metadata:
      accel-fleet:
        workload: inference

The words are in :data:`WORKLOADS`. ``none`` says that the work needs no accelerator.
"""

from __future__ import annotations

from constructs_lib.compliance.deployment import Resource
from constructs_lib.compliance.facts.launches import Launch
from constructs_lib.compliance.values import Value
from constructs_lib.statements import KEY, WORKLOAD
from constructs_lib.template.plain_values import mapping

NONE = "none"
INFERENCE = "inference"
TRAINING = "training"
GRAPHICS = "graphics"
MEDIA = "media"
WORKLOADS = (INFERENCE, TRAINING, GRAPHICS, MEDIA, NONE)


def declared(launch: Launch) -> Value | None:
    """The word that is declared for a launch: at its owner, else at its launch template, else at the owner's template.

    None: nobody has declared one.
    """
    found = declared_by_itself(launch)
    return _in(launch.owner, launch.owner.stack.source.content.get("Metadata")) if found is None else found


def declared_by_itself(launch: Launch) -> Value | None:
    """The word that is declared at a launch's owner, else at its launch template. None: neither declares one."""
    for resource in (launch.owner, launch.resource):
        found = _in(resource, resource.written.get("Metadata"))
        if found is not None:
            return found
    return None


def _in(resource: Resource, metadata: object) -> Value | None:
    word = mapping(mapping(metadata).get(KEY)).get(WORKLOAD)
    return None if word is None else Value(resource, ("<Metadata>", KEY, WORKLOAD), word)
