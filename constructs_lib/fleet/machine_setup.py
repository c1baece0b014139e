"""How the fleet's machines are set up before work starts on them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from constructs_lib import catalog
from constructs_lib.catalog import AcceleratedType
from constructs_lib.errors import ArgumentError
from constructs_lib.telemetry import kind_named
from constructs_lib.validation import complaint, instance_of, integer

_OF_ACCELERATORS = ("persistence_mode", "application_clocks")
_HUGE_PAGE_MIB = 2
_MOST_HUGE_PAGES = 16 * 1024**2  # 32 TiB, above the memory of any instance type
# The kernel's own ceiling for a process, `fs.nr_open`, unless somebody has raised it ("/proc/sys/fs", kernel docs).
_OPEN_FILES = (1_024, 1_048_576)


@dataclass(frozen=True, kw_only=True)
class MachineSetup:
    """Settings of the machine that the node program makes on each boot, before agent and workload start.

    Each setting is read back after it was made. One that is not in force is counted in the metric ``setup_failures``
    and raises an alarm; one that nobody can read back, as newer NVIDIA drivers tell no application clocks, is told in
    the instance's journal and by ``accelerated-node status``. None stops the others or the workload. The MIG layout of
    a GPU is left as found.

    Attributes:
        persistence_mode: keep the NVIDIA driver loaded while nobody uses the GPU, so that a program starts faster.
            Default: as the image has it.
        application_clocks: pin the GPUs of each family to the clocks that AWS publishes ("Optimize GPU settings", EC2
            User Guide). It makes run times steadier and costs power, also at rest. Default: the driver's own clocks.
        huge_pages: how many huge pages of 2 MiB are set aside; that memory is lost to everything else.
            Default: as the image has it.
        open_files: how many files a process may hold open, 1,024 to 1,048,576, for every service and login that
            starts afterwards. Default: as the image has it.

    Raises:
        ArgumentError: a value is of the wrong type or out of range.
    """

    persistence_mode: bool | None = None
    application_clocks: bool | None = None
    huge_pages: int | None = None
    open_files: int | None = None

    def __post_init__(self) -> None:
        where = "MachineSetup"
        for parameter in _OF_ACCELERATORS:
            given = getattr(self, parameter)
            settled = False if given is None else given
            instance_of(where, parameter, settled, bool, cure="write True or leave it out")
            object.__setattr__(self, parameter, settled)
        if self.huge_pages is not None:
            cure = f"give a count of pages of {_HUGE_PAGE_MIB} MiB, or leave it out"
            integer(where, "huge_pages", self.huge_pages, minimum=1, maximum=_MOST_HUGE_PAGES, cure=cure)
        if self.open_files is not None:
            least, most = _OPEN_FILES
            cure = f"leave it out, or give for example {most}"
            integer(where, "open_files", self.open_files, minimum=least, maximum=most, cure=cure)

    def check_types(self, where: str, types: Sequence[AcceleratedType]) -> None:
        """Refuse what some of a fleet's types cannot have.

        Raises:
            ArgumentError: accelerators of their kind have no such setting, or AWS publishes no clocks for one of their
                families.
        """
        for parameter in _OF_ACCELERATORS:
            others = [each.name for each in types if parameter not in kind_named(each.kind).machine_settings]
            if getattr(self, parameter) and others:
                rule = f"be left out for {', '.join(others)}"
                cure = f"remove it: only {_owners(parameter)} have it"
                raise ArgumentError(complaint(where, f"machine.{parameter}", rule, True, cure))
        if self.application_clocks:
            slices = [each.name for each in types if each.fraction is not None]
            if slices:
                rule = f"be left out for {', '.join(slices)}"
                cure = "remove it: a fraction of an accelerator has no clocks of its own"
                raise ArgumentError(complaint(where, "machine.application_clocks", rule, True, cure))
            without = sorted({each.family for each in types if catalog.application_clocks(each.family) is None})
            if without:
                rule = f"be left out for the families {', '.join(without)}"
                cure = "remove it, or make a fleet of its own for them: AWS publishes no clocks for them"
                raise ArgumentError(complaint(where, "machine.application_clocks", rule, True, cure))

    def settings(self, types: Sequence[AcceleratedType]) -> dict[str, object]:
        """What the node program is told, only what was asked for; the types have passed :meth:`check_types`."""
        asked: dict[str, object] = {}
        if self.persistence_mode:
            asked["persistence_mode"] = True
        if self.application_clocks:
            clocks = {each.family: catalog.application_clocks(each.family) for each in types}
            asked["application_clocks"] = {family: list(pair) for family, pair in clocks.items() if pair is not None}
        if self.huge_pages is not None:
            asked["huge_pages"] = self.huge_pages
        if self.open_files is not None:
            asked["open_files"] = self.open_files
        return asked


def _owners(setting: str) -> str:
    """The kinds of accelerators that have a setting, for messages."""
    kinds = [kind_named(name) for name in catalog.known_kinds()]
    return ", ".join(f"{kind.title}s" for kind in kinds if setting in kind.machine_settings)
