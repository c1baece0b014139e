"""The cold start of a template's group: what the template tells of it, and what it cannot."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from constructs_lib.catalog import known_types
from constructs_lib.rehearsal.cold_start import MODEL_GB, ColdStart
from constructs_lib.rehearsal.template import Template
from constructs_lib.rightsizing.cold_start import IMAGE_GB

# AWS's own images: their parameters name what is on them.
_OF_AWS = "/aws/service/"
_WITH_DRIVER = ("nvidia", "neuron", "gpu", "inf", "deeplearning", "dlami")
# Kinds of accelerators that serve no model of this sort.
_WITHOUT_MODELS = frozenset({"fpga", "media"})


def start_of_template(
    template: Mapping[str, Any],
    *,
    group: str,
    image_gb: float = IMAGE_GB,
    model_gb: float = MODEL_GB,
    model_s: float | None = None,
    driver_baked: bool | None = None,
    capacity_wait: bool = True,
) -> ColdStart:
    """Return the published figures, put together for a group of a template.

    Args:
        template: synthesized.
        group: logical id of its Auto Scaling group.
        image_gb: as in :meth:`ColdStart.default`. Default: 10.78.
        model_gb: likewise. Default: 16.06.
        model_s: likewise. Default: None; 0 on FPGAs and media accelerators.
        driver_baked: likewise. Default: None, what the machine image is known to have. AWS's images say it in the name
            of their parameter; any other is taken to have the driver.
        capacity_wait: likewise. Default: yes.

    Raises:
        ArgumentError: a size or a time is no number from 0 on, or a launch template of the stack names no types.
    """
    read = Template(template, fleet=group)
    notes = []
    if driver_baked is None:
        driver_baked, note = _driver(read.image_parameter())
        notes.append(note)
    is_told = bool(read.launch_settings()) or "MixedInstancesPolicy" in read.properties(group)
    types = read.purchasing().types if is_told else ()
    kinds = {known_types()[name].kind for name in types if name in known_types()}
    if model_s is None and kinds and kinds <= _WITHOUT_MODELS:
        model_s = 0.0
        notes.append(f"no model is loaded on {' and '.join(sorted(kinds))} accelerators")
    found = ColdStart.default(
        image_gb=image_gb, model_gb=model_gb, model_s=model_s, driver_baked=driver_baked, capacity_wait=capacity_wait
    )
    return replace(found, notes=(*notes, *found.notes))


def _driver(image: str | None) -> tuple[bool, str]:
    """Whether a machine image has the driver, and how that is known; ``image`` is the parameter that names it."""
    if image is None or not image.startswith(_OF_AWS):
        return True, "the machine image is taken to have the driver: the template does not say what is on it"
    if any(word in image for word in _WITH_DRIVER):
        return True, f"the machine image has the driver: {image}"
    return False, f"the machine image has no driver, so each start installs it: {image}"
