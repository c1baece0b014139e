"""The practices that rules serve: of the AWS Well-Architected Framework, and where it says less, what AWS documents."""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType

_FRAMEWORK = "https://docs.aws.amazon.com/wellarchitected/latest"
_PILLARS = {
    "COST": "cost-optimization",
    "OPS": "operational-excellence",
    "PERF": "performance-efficiency",
    "REL": "reliability",
    "SEC": "security",
    "SUS": "sustainability",
}


@dataclass(frozen=True)
class Practice:
    """A practice.

    Attributes:
        id: for example ``SUS05-BP04``, with ``/`` and a word for one of its steps.
        title: as AWS has it, or the step in our words.
        url: where it is described.
    """

    id: str
    title: str
    url: str


def _practice(id: str, title: str, page: str) -> Practice:
    pillar = _PILLARS[id.partition("-")[0].rstrip("0123456789")]
    return Practice(id, title, f"{_FRAMEWORK}/{pillar}-pillar/{page}.html")


_ACCELERATORS = "sus_sus_hardware_a5"
"""The page of SUS05-BP04, "Optimize your use of hardware-based compute accelerators"; its steps are practices here."""

# Ids, titles and pages as in "AWS Well-Architected Framework", read in copies of May to August 2026.
PRACTICES = MappingProxyType(
    {
        each.id: each
        for each in (
            _practice("SUS05-BP04/choose", "Choose the accelerator that fits the work, or none", _ACCELERATORS),
            _practice("SUS05-BP04/measure", "Measure how accelerators are used", _ACCELERATORS),
            _practice("SUS05-BP04/tune", "Use accelerators as their makers and AWS advise", _ACCELERATORS),
            _practice("SUS05-BP04/release", "Release accelerators by automation when they are idle", _ACCELERATORS),
            _practice("SUS02-BP01", "Scale workload infrastructure dynamically", "sus_sus_user_a2"),
            _practice("SUS05-BP02", "Use instance types with the least impact", "sus_sus_hardware_a3"),
            _practice("COST02-BP05", "Implement cost controls", "cost_govern_usage_controls"),
            _practice(
                "COST03-BP02", "Add organization information to cost and usage", "cost_monitor_usage_org_information"
            ),
            _practice(
                "COST04-BP04",
                "Decommission resources automatically",
                "cost_decomissioning_resources_decomm_automated",
            ),
            _practice(
                "COST06-BP02",
                "Select resource type, size, and number based on data",
                "cost_type_size_number_resources_data",
            ),
            _practice("COST07-BP01", "Perform pricing model analysis", "cost_pricing_model_analysis"),
            _practice("COST09-BP03", "Supply resources dynamically", "cost_manage_demand_resources_dynamic"),
            _practice(
                "PERF02-BP06",
                "Use optimized hardware-based compute accelerators",
                "perf_compute_hardware_compute_accelerators",
            ),
            _practice(
                "PERF04-BP02",
                "Evaluate available networking features",
                "perf_networking_evaluate_networking_features",
            ),
            _practice("OPS04-BP02", "Implement application telemetry", "ops_observability_application_telemetry"),
            _practice(
                "REL06-BP01",
                "Monitor all components for the workload (Generation)",
                "rel_monitor_aws_resources_monitor_resources",
            ),
            _practice(
                "REL07-BP01",
                "Use automation when obtaining or scaling resources",
                "rel_adapt_to_changes_autoscale_adapt",
            ),
            _practice(
                "REL08-BP05", "Deploy changes with automation", "rel_tracking_change_management_automated_changemgmt"
            ),
            _practice(
                "REL11-BP01",
                "Monitor all components of the workload to detect failures",
                "rel_withstand_component_failures_monitoring_health",
            ),
            _practice(
                "REL11-BP03", "Automate healing on all layers", "rel_withstand_component_failures_auto_healing_system"
            ),
            _practice("SEC03-BP02", "Grant least privilege access", "sec_permissions_least_privileges"),
            _practice(
                "SEC04-BP01",
                "Configure service and application logging",
                "sec_detect_investigate_events_app_service_logging",
            ),
            _practice("SEC06-BP02", "Provision compute from hardened images", "sec_protect_compute_hardened_images"),
            _practice("SEC08-BP01", "Implement secure key management", "sec_protect_data_rest_key_mgmt"),
            _practice("SEC08-BP02", "Enforce encryption at rest", "sec_protect_data_rest_encrypt"),
        )
    }
)
"""By id."""
