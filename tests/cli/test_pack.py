"""``accel-fleet pack``."""

from __future__ import annotations

import io
import sys
from pathlib import Path

import pytest

from constructs_lib.rightsizing.packing import PackableModel, pack
from tests.cli.running import Command, is_one_teaching_line, widest

MODELS = """\
name,memory_mib,share,replicas,groups
reranker,3000,0.2,2,search
embedder, 2200 ,0.15,,search noisy
big,20000,,,
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "models.csv"
    path.write_text(MODELS)
    return path


def test_document_is_that_of_the_function(accel_fleet: Command, file: Path) -> None:
    ran = accel_fleet(f"pack {file} --type g6.xlarge --json")

    models = [
        PackableModel(name="reranker", memory_mib=3_000, share=0.2, replicas=2, groups=["search"]),
        PackableModel(name="embedder", memory_mib=2_200, share=0.15, groups=["search", "noisy"]),
        PackableModel(name="big", memory_mib=20_000),
    ]
    expected = pack(models, instance_type="g6.xlarge").document()
    assert ran.document == {"schema": "accel-fleet/pack/1", "packings": [expected], "refused": []}
    assert ran.status == 0


def test_people_see_each_accelerator(accel_fleet: Command, file: Path) -> None:
    ran = accel_fleet(f"pack {file} --type g6.xlarge")

    assert (ran.status, ran.err) == (0, "")
    assert widest(ran.out) <= 80
    assert "4 replicas on 3 accelerators of 3 x g6.xlarge (1 x L4), 2.414 USD/h" in ran.out
    assert "big, embedder" in ran.out
    assert "reranker#2" in ran.out


def test_hundreds_of_models_fit_into_80_columns(accel_fleet: Command, tmp_path: Path) -> None:
    path = tmp_path / "models.csv"
    path.write_text("name,memory_mib\n" + "".join(f"a-model-with-number-{i},{100 + i}\n" for i in range(300)))

    assert widest(accel_fleet(f"pack {path} --type g6.xlarge --effort 0.1").out) <= 80


def test_the_cheapest_of_several_types_comes_first(accel_fleet: Command, file: Path) -> None:
    ran = accel_fleet(f"pack {file} --type g6.12xlarge --type g6.xlarge --json")

    assert [each["instance_type"] for each in ran.document["packings"]] == ["g6.xlarge", "g6.12xlarge"]
    shown = accel_fleet(f"pack {file} --type g6.12xlarge --type g6.xlarge").out.splitlines()
    assert [line.split()[:2] for line in shown[:3]] == [["type", "instances"], ["g6.xlarge", "3"], ["g6.12xlarge", "1"]]


def test_a_share_of_one_accelerator_says_nothing_of_another(accel_fleet: Command, file: Path) -> None:
    ran = accel_fleet(f"pack {file} --type g6.xlarge --type g6e.xlarge")

    assert is_one_teaching_line(ran)
    assert "--type must have the same accelerators where models have a share" in ran.err


def test_a_model_that_fits_nowhere_is_named(accel_fleet: Command, file: Path) -> None:
    ran = accel_fleet(f"pack {file} --type g6f.large")

    assert (ran.status, ran.err) == (1, "")
    assert "memory_mib of 'reranker' must be at most" in " ".join(ran.out.split())
    document = accel_fleet(f"pack {file} --type g6f.large --json").document
    assert document["packings"] == []
    assert [each["instance_type"] for each in document["refused"]] == ["g6f.large"]


def test_types_that_are_too_small_are_told_beside_the_others(accel_fleet: Command, tmp_path: Path) -> None:
    path = tmp_path / "models.csv"
    path.write_text("name,memory_mib\nlarge,30000\n")

    ran = accel_fleet(f"pack {path} --type g6.xlarge --type g6e.xlarge")

    assert ran.status == 0
    assert "1 x g6e.xlarge" in ran.out
    assert "- pack: memory_mib of 'large' must be at most 22888" in ran.out


def test_models_come_from_the_standard_input(accel_fleet: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO(MODELS))

    assert accel_fleet("pack - --type g6.xlarge --json").status == 0


def test_replicas_can_be_kept_apart_by_instance(accel_fleet: Command, file: Path) -> None:
    ran = accel_fleet(f"pack {file} --type g6.12xlarge --apart instance --reserve-mib 500 --json")

    (packing,) = ran.document["packings"]
    assert (packing["instances"], packing["apart"], packing["usable_mib"]) == (3, "instance", 22_388)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "FILE must have the columns name, memory_mib"),
        ("name,memory\na,1\n", "FILE must have the columns"),
        ("name,memory_mib,gpu\na,1,2\n", "FILE must have the columns"),
        ("name,memory_mib\n", "FILE must hold at least one model"),
        ("name,memory_mib\na\n", "line 2 must have a value for each column"),
        ("name,memory_mib\na,1,2\n", "line 2 must have a value for each column"),
        ("name,memory_mib\na,1\nb,two\n", "line 3 must hold numbers, got 'b,two'"),
        ("name,memory_mib,share\na,1,1.5\n", "line 2: PackableModel a: share must be a number"),
        ("name,memory_mib\na,0\n", "line 2: PackableModel a: memory_mib must be a whole number at least 1"),
        ("name,memory_mib\na,1\na,2\n", "the models of FILE must have different names"),
        ('name,memory_mib\n"a,1\n', "must be CSV"),
        ("name,memory_mib\n\x00\udcff,1\n", "FILE must be a text that can be read"),
    ],
)
def test_a_file_that_cannot_be_used_is_told_with_its_line(
    accel_fleet: Command, tmp_path: Path, text: str, message: str
) -> None:
    path = tmp_path / "models.csv"
    path.write_bytes(text.encode("utf-8", "surrogateescape"))

    ran = accel_fleet("pack", str(path), "--type", "g6.xlarge")

    assert is_one_teaching_line(ran), ran
    assert message in ran.err


def test_without_the_solver_the_message_says_what_to_install(
    accel_fleet: Command, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "ortools.sat.python", None)

    ran = accel_fleet(f"pack {file} --type g6.xlarge")

    assert is_one_teaching_line(ran)
    assert "pip install ortools, or pip install '.[packing]' in a checkout" in ran.err
