"""Which lines of the kernel log tell of a fault of a kind, and which do not."""

from __future__ import annotations

import re

import pytest

from constructs_lib.node.readers import reader_of
from tests.node.readers.recorded import KINDS

_FAULTS = [
    ("nvidia", "NVRM: Xid (PCI:0000:10:1c): 63, pid=1896, Row Remapper: New row marked for remapping"),
    ("nvidia", "NVRM: Xid (PCI:0000:00:1e.0): 79, pid='<unknown>', name=<unknown>, GPU has fallen off the bus."),
    ("nvidia", "NVRM: GPU 0000:00:1e.0: GPU has fallen off the bus."),
    ("nvidia", "NVRM: GPU 0000:00:1e.0: RmInitAdapter failed! (0x24:0x72:1589)"),
    ("nvidia", "nvidia-nvswitch3: SXid (PCI:0000:c1:00.0): 12028, Non-fatal, Link 32 egress non-posted PRIV error"),
    (
        "neuron",
        "NEURON_HW_ERR=SRAM_UNCORRECTABLE_ERROR instance-id=i-0592464 nd-id=0 nc-id=0 action=TERMINATE_INSTANCE",
    ),
    ("neuron", "kernel: NEURON_HW_ERR=DMA_ERROR affecting neuron devices"),
    ("neuron", "NEURON_HW_ERR=HANG_ON_COLLECTIVES nd-id=3"),
    ("gaudi", "habanalabs hl0: Device heartbeat failed!"),
    ("gaudi", "accel accel3: Device heartbeat failed! PCI link is broken"),
    ("gaudi", "habanalabs 0000:90:1d.0: Going to hard-reset device"),
    ("gaudi", "habanalabs hl2: Failed to reset! Device is NOT usable"),
    ("gaudi", "habanalabs hl1: ECC error detected. address: 0x1. Syndrom: 0x2. block id 3"),
    ("gaudi", "habanalabs hl1: RAZWI event caused by illegal write of TPC0"),
    ("qualcomm", "qaic 0000:01:00.0: RAS event."),
    ("qualcomm", "qaic 0000:01:00.0: Fatal error received from device. Attempting to recover"),
    ("fpga", "fpga-local-cmd: slot 0: afi-power-violation"),
    ("fpga", "xdma:xdma_xfer_submit: xfer 0x00000000a1b2c3d4,4096, timed out, ep 0x1000."),
    ("fpga", "xdma:engine_service_shutdown: engine 0-H2C0-MM, error 0x80000"),
    ("media", "xclmgmt 0000:65:00.0: firewall.m.7340033: check_firewall: AXI Firewall 1 tripped, status: 0x80004"),
    ("media", "xocl 0000:00:1e.0: Firewall tripped, health check paused. Please reset card"),
    ("media", "xocl 0000:00:1e.0: Card requires pci hot reset"),
    ("amd", "[drm:amdgpu_job_timedout [amdgpu]] *ERROR* ring gfx timeout, signaled seq=73, emitted seq=75"),
    ("amd", "amdgpu 0000:03:00.0: amdgpu: ring gfx_0.0.0 timeout, signaled seq=7073226, emitted seq=7073228"),
    ("amd", "amdgpu 0000:00:1e.0: amdgpu: GPU reset begin!"),
    ("amd", "amdgpu 0000:00:1e.0: amdgpu: GPU reset(1) failed with error -110"),
    ("amd", "[drm] amdgpu: VRAM is lost due to GPU reset!"),
    ("amd", "amdgpu 0000:00:1e.0: amdgpu: uncorrectable hardware error detected in UMC block"),
]

_HARMLESS = [
    ("nvidia", "NVRM: loading NVIDIA UNIX Open Kernel Module for x86_64  580.126.09  Release Build"),
    ("nvidia", "nvidia 0000:00:1e.0: enabling device (0000 -> 0002)"),
    ("nvidia", "nvidia-nvswitch3: using MSI"),
    ("neuron", "neuron:npid_attach: pid 2199 attached"),
    ("neuron", "neuron: loading out-of-tree module taints kernel."),
    ("gaudi", "habanalabs hl0: Loading secured firmware to device, may take some time..."),
    ("gaudi", "habanalabs hl0: Found GAUDI device with 32GB DRAM"),
    ("gaudi", "habanalabs hl0: Successfully added device 0000:90:1d.0 to habanalabs driver"),
    ("qualcomm", "qaic 0000:01:00.0: enabling device (0000 -> 0002)"),
    ("qualcomm", "[drm] Initialized qaic 0.0.0 for 0000:01:00.0 on minor 0"),
    ("fpga", "xdma:xdma_mod_init: Xilinx XDMA Reference Driver xdma v2020.2.0"),
    ("fpga", "xdma:probe_one: 0000:00:1d.0 xdma0, pdev 0x1, xdev 0x2, usr 16, ch 4,4."),
    ("media", "xocl 0000:00:1e.0: mailbox.u.8388608: mailbox_probe: successfully initialized"),
    ("media", "xocl 0000:00:1e.0: firewall.u: firewall_probe: initialized"),
    ("amd", "[drm] amdgpu kernel modesetting enabled."),
    ("amd", "amdgpu 0000:00:1e.0: amdgpu: SMU is initialized successfully!"),
    ("amd", "[drm] ring test on 0 succeeded in 1 usecs"),
]


def _tells_of_a_fault(kind: str, line: str) -> bool:
    return any(re.search(pattern, line) for pattern in reader_of(kind).FAULT_LINES)


@pytest.mark.parametrize(("kind", "line"), _FAULTS)
def test_a_fault_is_told_to_its_kind_and_to_no_other(kind: str, line: str) -> None:
    assert [other for other in KINDS if _tells_of_a_fault(other, line)] == [kind]


@pytest.mark.parametrize(("kind", "line"), _HARMLESS)
def test_a_harmless_line_is_not_told(kind: str, line: str) -> None:
    assert not _tells_of_a_fault(kind, line)


@pytest.mark.parametrize("kind", KINDS)
def test_each_expression_finds_one_of_the_faults(kind: str) -> None:
    lines = [line for other, line in _FAULTS if other == kind]

    for pattern in reader_of(kind).FAULT_LINES:
        assert any(re.search(pattern, line) for line in lines), pattern
