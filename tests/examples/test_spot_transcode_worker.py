"""The transcoding worker, run in a real shell with fake tools: what becomes of a video, and of a drain."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.examples.machine import Machine, shell_complaints
from tests.support.stacks import ROOT

WORKER = "opt/transcode/worker"
# Writes what it was given to its last argument; the tests ask it for more.
_FFMPEG = """#!/bin/bash
echo "$*" >>"$ROOT/ffmpeg"
case " $* " in *" testsrc"*|*" -encoders "*) echo mpsoc_vcu_h264; exit "${PROBE_STATUS-0}" ;; esac
held >"$ROOT/held"
ls -l "/proc/$$/fd" >"$ROOT/open-files"
[ -z "$DRAINS" ] || : >"$ROOT/run/accelerated-fleet/draining"
[ -z "$SIGNALS" ] || signal_holders
[ -z "$HANGS" ] || { echo $$ >"$ROOT/pid"; exec /bin/sleep 1000; }
[ "${STATUS-0}" = 0 ] || exit "$STATUS"
while [ "$1" != -i ]; do shift; done
{ printf 'mp4 of '; cat "$2"; } >"${@: -1}"
"""


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    made = Machine(tmp_path, "spot_transcode", pauses="5 60")
    made.tool("ffmpeg", _FFMPEG)
    made.put("videos", "films/a.mov", "a film")
    made.message({"input": "films/a.mov"})
    return made


def install(machine: Machine, encoder: str = "h264_nvenc") -> None:
    machine.install(
        QUEUE_URL="https://queue",
        INPUT_BUCKET="videos",
        OUTPUT_BUCKET="transcoded",
        AWS_DEFAULT_REGION="eu-central-1",
        ENCODER=encoder,
        SLOTS="1",
    )


def runs(process: int) -> bool:
    """Whether a process still does something; one that nobody has waited for yet does not."""
    try:
        stat = Path(f"/proc/{process}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return False
    return stat.rpartition(")")[2].split()[0] != "Z"


def test_a_video_is_transcoded_under_a_mark_and_its_message_deleted(machine: Machine) -> None:
    install(machine)

    machine.work(WORKER)

    assert machine.objects("transcoded") == {"films/a.mp4": "mp4 of a film"}
    assert "--receipt-handle receipt" in machine.said("deleted")
    assert len(machine.said("held").splitlines()) == 1
    assert machine.said("held-at-the-end") == machine.said("held")
    assert machine.marks() == []
    assert list((machine.root / "tmp").iterdir()) == []


def test_a_job_may_name_its_output(machine: Machine) -> None:
    install(machine)
    machine.message({"input": "films/a.mov", "output": "b.mp4"})

    machine.work(WORKER)

    assert machine.objects("transcoded").keys() == {"b.mp4"}


@pytest.mark.parametrize("body", ["no JSON", "{}", '{"input": "not/there.mov"}'])
def test_a_job_that_cannot_be_done_keeps_its_message(machine: Machine, body: str) -> None:
    install(machine)
    machine.message(body)

    machine.work(WORKER)

    assert machine.said("deleted") == machine.said("visibility") == ""
    assert machine.objects("transcoded") == {}
    assert machine.marks() == []


def test_a_failed_encoding_uploads_nothing_and_the_encoder_is_tried_again(machine: Machine) -> None:
    install(machine)

    machine.work(WORKER, STATUS="1")

    assert machine.objects("transcoded") == {}
    assert machine.said("deleted") == ""
    assert ["testsrc" in line for line in machine.said("ffmpeg").splitlines()] == [True, False, True]


def test_a_machine_that_cannot_encode_takes_no_job(machine: Machine) -> None:
    install(machine)

    machine.work(WORKER, PROBE_STATUS="1")

    assert machine.said("received") == ""


def test_without_a_place_for_marks_the_work_is_done_all_the_same(machine: Machine) -> None:
    install(machine)
    (machine.root / "run/accelerated-fleet/busy").rmdir()

    machine.work(WORKER)

    assert machine.said("deleted")


def test_case_65_no_job_is_taken_by_an_instance_that_drains(machine: Machine) -> None:
    install(machine)
    machine.drain()

    machine.work(WORKER)

    assert machine.said("received") == ""


def test_case_12_a_message_that_came_with_the_drain_goes_back(machine: Machine) -> None:
    install(machine)

    machine.work(WORKER, DRAINS_WITH_MESSAGE="yes")

    assert "--receipt-handle receipt --visibility-timeout 0" in machine.said("visibility")
    assert "-hwaccel" not in machine.said("ffmpeg")


def test_a_short_job_is_finished_while_the_instance_drains(machine: Machine) -> None:
    install(machine)

    machine.work(WORKER, DRAINS="yes", SIGNALS="yes")

    assert machine.said("deleted")
    assert machine.objects("transcoded") == {"films/a.mp4": "mp4 of a film"}


def test_a_long_job_is_ended_and_its_message_given_back_at_once(machine: Machine) -> None:
    machine.constant("GRACE", "60", "0")
    install(machine)

    machine.work(WORKER, DRAINS="yes", HANGS="yes")

    assert machine.said("visibility").splitlines() == [
        "sqs change-message-visibility --queue-url https://queue --receipt-handle receipt --visibility-timeout 0"
    ]
    assert machine.said("held-at-the-end")
    assert machine.said("deleted") == ""
    assert machine.objects("transcoded") == {}
    assert machine.marks() == []
    assert not runs(int(machine.said("pid")))


def test_the_drains_signal_reaches_no_ffmpeg(machine: Machine) -> None:
    """It would end at it, and write the end of a file that looks whole."""
    install(machine)

    machine.work(WORKER)

    assert "accelerated-fleet/busy" not in machine.said("open-files")


def test_a_job_that_hangs_is_ended_and_tried_again_elsewhere(machine: Machine) -> None:
    machine.constant("LIMIT", "10800", "0")
    install(machine)

    machine.work(WORKER, HANGS="yes")

    assert machine.said("deleted") == machine.said("visibility") == ""
    assert machine.marks() == []


def test_nvenc_decodes_and_encodes_on_the_gpu(machine: Machine) -> None:
    install(machine)

    machine.work(WORKER)

    call = machine.said("ffmpeg").splitlines()[1]
    assert "-hwaccel cuda -hwaccel_output_format cuda -i" in call
    assert "-c:v h264_nvenc" in call
    assert call.endswith("/to")


def test_vt1_uses_both_devices_of_a_card(machine: Machine) -> None:
    install(machine, "mpsoc_vcu_h264")
    setup = machine.root / "opt/xilinx/xcdr/setup.sh"
    setup.parent.mkdir(parents=True)
    setup.write_text("")

    machine.run("opt/transcode/encode", "3", str(machine.root / "s3/videos/films/a.mov"), str(machine.root / "out"))

    assert "-xlnx_hwdev 1 -c:v mpsoc_vcu_h264 -i" in machine.said("ffmpeg")
    assert machine.run("opt/transcode/can-encode").returncode == 0
    assert (machine.root / "out").read_text() == "mp4 of a film"


def test_ffmpeg_is_installed_where_the_image_has_none(machine: Machine) -> None:
    (machine.root / "bin/ffmpeg").unlink()
    # As apt-get would: the first attempt meets a mirror that does not answer.
    machine.tool("apt-get", '#!/bin/bash\necho "$*" >>"$ROOT/apt"\n[ "$(wc -l <"$ROOT/apt")" -gt 1 ]\n')
    machine.tool("command", "#!/bin/bash\nexit 1\n")

    install(machine)

    assert machine.said("apt").splitlines()[0] == "update -q"
    assert machine.said("apt").splitlines()[-1].endswith("install -y -q --no-install-recommends ffmpeg")


def test_scratch_is_the_instance_store_where_the_image_has_mounted_it(machine: Machine) -> None:
    (machine.root / "opt/dlami/nvme").mkdir(parents=True)

    install(machine)

    unit = (machine.root / "etc/systemd/system/transcode-worker.service").read_text()
    assert f"Environment=TMPDIR={machine.root}/opt/dlami/nvme" in unit
    assert "enable --now transcode-worker" in machine.said("systemctl")


def test_shell_takes_what_is_installed(machine: Machine) -> None:
    install(machine)

    programs = machine.installed()

    assert [path.name for path in programs] == ["can-encode", "encode", "worker"]
    installer = ROOT / "examples/spot_transcode/worker.sh"
    assert [shell_complaints(path) for path in (installer, *programs)] == ["", "", "", ""]
