"""The page: whole by itself, harmless whatever it is about, and legible."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import timedelta
from functools import cache
from itertools import combinations
from xml.etree import ElementTree as Xml

import pytest

from constructs_lib.markup import element, text
from constructs_lib.rehearsal.figures import figures_of
from constructs_lib.rehearsal.page import waiting
from constructs_lib.rehearsal.page.axes import amounts, moments, spaced
from constructs_lib.rehearsal.page.series import Timeline, column_width, in_columns, paid, used, wanted
from constructs_lib.rehearsal.record import Record
from constructs_lib.rehearsal.report import Rehearsal, Way
from constructs_lib.rehearsal.tunable import Settings
from constructs_lib.rehearsal.tune import Trial, Tuning
from tests.rehearsal.made_records import HOUR, MONDAY, cut_off, job, long_run, record, rehearsal, two_jobs
from tests.support.colours import SCHEMES, contrast, luminance, schemes

HOSTILE = "</script><script>alert(1)</script>\"'&<!--\x00\x1b[31m\ud800"
SETTINGS = Settings(window_s=900, warm_up_s=600, messages_per_instance=1, minimum=0, pool=0)


def empty() -> Record:
    return record(end_s=0.0)


def backlog() -> Record:
    """A thousand jobs for four instances that cannot be had."""
    return record(jobs=[job(n, None, None, instance=None) for n in range(1_000)], launch_failures=[(60.0, "none")] * 50)


def tuning(of: Rehearsal) -> Tuning:
    def trial(settings: Settings, cost: float, wait: float) -> Trial:
        waits = replace(of.figures.waits, p95=wait)
        return Trial(settings=settings, figures=replace(of.figures, cost_usd=cost, waits=waits))

    return Tuning(
        trials=[
            trial(SETTINGS, 120, 400),
            trial(replace(SETTINGS, window_s=300, warm_up_s=300), 90, 600),
            trial(replace(SETTINGS, window_s=600), 90.5, 590),
            trial(replace(SETTINGS, minimum=1), 160, 410),
            trial(replace(SETTINGS, pool=2), 125, 0),
        ],
        allowed=24,
        notes=["a note"],
    )


def with_everything(run: Record) -> Rehearsal:
    found = rehearsal(run, goal_s=60, source="made by hand")
    ways = {
        f"way_{n}": Way(
            title=f"a way with a rather long name, number {n}", figures=found.figures, ratio=n / 3, says="so"
        )
        for n in range(5)
    }
    return replace(found, alternatives=ways, tuning=tuning(found))


RUNS = [two_jobs, cut_off, empty, backlog, long_run]


@cache
def html(made: Callable[[], Record]) -> str:
    return with_everything(made()).as_html()


def parsed(page: str) -> Xml.Element:
    """The page is XML but for its first line, and for style and script, which HTML does not escape."""
    body = page.removeprefix("<!DOCTYPE html>\n")
    body = re.sub(r"<style>.*?</style>", "", body, flags=re.DOTALL)
    body = re.sub(r"<script>.*?</script>", "", body, flags=re.DOTALL)
    return Xml.fromstring(body)


def pictures(page: str) -> list[Xml.Element]:
    return list(parsed(page).iter("svg"))


@pytest.fixture(params=RUNS, ids=lambda each: each.__name__)
def page(request: pytest.FixtureRequest) -> str:
    return html(request.param)


# --- whole by itself -------------------------------------------------------------------------------------------------


def test_it_needs_nothing_from_elsewhere(page: str) -> None:
    root = parsed(page)

    assert not [each.tag for each in root.iter() if {"src", "href", "srcset", "action"} & set(each.attrib)]
    assert not re.findall(r"https?://|url\(|@import", page)


def test_its_policy_lets_nothing_run_but_its_own_script(page: str) -> None:
    root = parsed(page)
    (policy,) = [each.get("content", "") for each in root.iter("meta") if "http-equiv" in each.attrib]
    scripts = re.findall(r"<script>(.*?)</script>", page, flags=re.DOTALL)
    hashes = [base64.b64encode(hashlib.sha256(each.encode()).digest()).decode() for each in scripts]

    assert policy == f"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{hashes[0]}'"
    assert len(scripts) == 1


def test_it_reads_well_without_its_script(page: str) -> None:
    """All that the script does is to read the picture aloud: nothing is hidden from who has none."""
    root = parsed(page)

    assert not [each for each in root.iter() if "hidden" in each.attrib or "display:none" in each.get("style", "")]
    assert len(list(root.iter("tr"))) > 20


def test_a_month_of_work_is_less_than_600_kb() -> None:
    assert len(html(long_run).encode()) < 600_000


def test_the_same_run_is_the_same_page() -> None:
    assert with_everything(cut_off()).as_html() == with_everything(cut_off()).as_html()


# --- harmless --------------------------------------------------------------------------------------------------------


def test_names_of_anybody_are_text() -> None:
    run = cut_off()
    run.fleet = HOSTILE
    run.notes = [HOSTILE]
    run.doubts = [HOSTILE]
    run.alarms = [(60.0, HOSTILE, "ALARM")]
    run.conditions = {HOSTILE: HOSTILE}
    run.instances[0].cause = HOSTILE
    found = rehearsal(run, trace=HOSTILE, source=HOSTILE, region=HOSTILE)
    way = Way(title=HOSTILE, figures=found.figures, ratio=1.0, says=HOSTILE)
    page = replace(found, alternatives={HOSTILE: way}, tuning=replace(tuning(found), notes=[HOSTILE])).as_html()
    root = parsed(page)

    assert "<script>alert" not in page
    assert [each.get("type") for each in root.iter("script")] == ["application/json"]
    assert "</script><script>alert(1)</script>\"'&<!--[31m" in "".join(root.itertext())
    assert page.encode()


def test_attributes_cannot_be_left() -> None:
    assert element("a", title='"><b>') == '<a title="&quot;&gt;&lt;b&gt;"></a>'
    assert text("\x07\ufffe\ud800a\tb") == "a\tb"


# --- accessible ------------------------------------------------------------------------------------------------------


def test_each_picture_says_in_words_what_it_shows(page: str) -> None:
    root = parsed(page)
    ids = {each.get("id"): each for each in root.iter() if each.get("id")}

    for picture in root.iter("svg"):
        named = [ids[name] for name in picture.get("aria-labelledby", "").split()]
        assert [each.tag for each in named] == ["title", "desc"]
        assert all("".join(each.itertext()).strip() for each in named)


def test_ids_are_unique(page: str) -> None:
    ids = [each.get("id") for each in parsed(page).iter() if each.get("id")]

    assert len(ids) == len(set(ids))


def test_tables_name_their_rows_and_columns(page: str) -> None:
    for table in parsed(page).iter("table"):
        rows = list(table.iter("tr"))
        assert {each.get("scope") for each in rows[0]} == {"col"}
        assert all(row[0].get("scope") == "row" for row in rows[1:])
        assert {len(row) for row in rows} == {len(rows[0])}


@pytest.mark.parametrize("scheme", SCHEMES)
def test_texts_and_marks_stand_out(scheme: str) -> None:
    """WCAG 2.1: 4.5 for text (AA), 3 for what a picture is made of."""
    chosen = schemes(html(two_jobs))[scheme]

    for ground in ("ground", "raised"):
        for name in ("ink", "faint", "bad"):
            assert contrast(chosen[name], chosen[ground]) >= 4.5, (name, ground)
    for name in ("used", "wanted"):
        assert contrast(chosen[name], chosen["ground"]) >= 3, name
    neighbours = (("used", "paid"), ("used", "idle"), ("idle", "starting"), ("starting", "draining"))
    for one, other in neighbours:
        assert luminance(chosen[one]) != luminance(chosen[other])


# --- geometry --------------------------------------------------------------------------------------------------------


LETTER = 6.6
NUMBER = re.compile(r"-?\d+(?:\.\d+)?")


def _size(picture: Xml.Element) -> tuple[float, float]:
    _, _, width, height = (float(each) for each in picture.get("viewBox", "").split())
    return width, height


def _labels(picture: Xml.Element) -> Iterator[tuple[str, float, float, float, float]]:
    """Each text with the box that it takes up: left, right, top, bottom."""
    for each in picture.iter("text"):
        words = "".join(each.itertext())
        x, y, length = float(each.get("x", 0)), float(each.get("y", 0)), len(words) * LETTER
        left = {"end": x - length, "middle": x - length / 2}.get(each.get("text-anchor", ""), x)
        yield words, left, left + length, y - 9, y + 3


def test_nothing_is_outside_of_its_picture(page: str) -> None:
    for picture in pictures(page):
        width, height = _size(picture)
        for words, left, right, top, bottom in _labels(picture):
            assert left >= 0, words
            assert right <= width, words
            assert top >= 0, words
            assert bottom <= height, words
        for each in picture.iter():
            for name, most in (
                ("x", width),
                ("x1", width),
                ("x2", width),
                ("cx", width),
                ("y", height),
                ("cy", height),
            ):
                if name in each.attrib:
                    assert 0 <= float(each.attrib[name]) <= most
            if each.tag == "rect":
                assert float(each.attrib["x"]) + float(each.attrib["width"]) <= width
                assert float(each.attrib["y"]) + float(each.attrib["height"]) <= height
                assert float(each.attrib["width"]) > 0 or each.get("class") == "wait"


def _points(path: str) -> Iterator[tuple[float | None, float | None]]:
    """What a path of absolute M, L, H and V goes through; marks have relative steps, of a few units, behind those."""
    for command, numbers in re.findall(r"([MLHV])([^A-Za-z]*)", path):
        values = [float(each) for each in NUMBER.findall(numbers)]
        if command == "H":
            yield values[0], None
        elif command == "V":
            yield None, values[0]
        else:
            yield values[0], values[1]


def test_no_line_leaves_its_picture(page: str) -> None:
    for picture in pictures(page):
        width, height = _size(picture)
        for each in picture.iter("path"):
            for x, y in _points(each.get("d", "")):
                assert x is None or 0 <= x <= width
                assert y is None or 0 <= y <= height


def test_no_label_stands_on_another(page: str) -> None:
    for picture in pictures(page):
        for (one, *a), (other, *b) in combinations(list(_labels(picture)), 2):
            apart = a[1] <= b[0] or b[1] <= a[0] or a[3] <= b[2] or b[3] <= a[2]
            assert apart, (one, other)


def test_the_script_finds_as_many_columns_as_the_picture_has(page: str) -> None:
    (script,) = parsed(page).iter("script")
    readings = json.loads("".join(script.itertext()))

    assert 1 <= len(readings["columns"]) <= 480
    assert readings["columns"][0][0].startswith("Mon 5 Jan 00:00 to ")
    assert len(readings["columns"]) * readings["share"] >= 1


def test_what_is_on_the_frontier_is_drawn_over_what_comes_to_the_same() -> None:
    found = rehearsal(two_jobs())
    trials = tuning(found).trials
    twin = replace(trials[1], settings=replace(trials[1].settings, pool=9))
    page = replace(found, tuning=replace(tuning(found), trials=[*trials, twin])).as_html()
    dots = [
        each for each in pictures(page)[-1].iter() if each.tag in ("circle", "rect") and "dot" in each.get("class", "")
    ]
    kinds = [str(each.get("class")) for each in dots]

    assert kinds == sorted(kinds, key=["dot", "dot best", "dot now"].index)
    assert len({(each.get("cx"), each.get("cy")) for each in dots}) < len(dots)


def test_each_event_of_a_lane_is_told_once() -> None:
    titles = [
        "".join(each.itertext())
        for picture in pictures(html(long_run))[:1]
        for each in picture.iterfind(".//g/g/title")
    ]
    launches = [int(each.split()[0].replace(",", "")) for each in titles if "launch" in each]

    assert sum(launches) == len(long_run().instances)


# --- what the pictures are of ----------------------------------------------------------------------------------------


def test_capacity_and_use_are_what_was_paid_and_used() -> None:
    assert list(paid(two_jobs())) == [(0, 2), (2_000, 0)]
    assert list(used(two_jobs())) == [(300, 1), (800, 2), (900, 1), (1_000, 0)]
    assert list(wanted(two_jobs())) == [(0, 1), (600, 2), (900, 1), (1_000, 0)]


def test_tries_that_were_cut_off_are_in_use_too() -> None:
    assert list(used(cut_off())) == [(100, 1), (500, 0), (1_000, 1), (1_600, 0)]


@pytest.mark.parametrize("made", [two_jobs, cut_off, long_run], ids=lambda each: each.__name__)
def test_areas_of_the_picture_are_accelerator_hours(made: Callable[[], Record]) -> None:
    run = made()
    series = Timeline.of(run)
    hours = figures_of(run, cost_usd=None).hours
    lengths = [min(series.width_s, run.end_s - n * series.width_s) for n in range(len(series.paid))]

    def area(columns: list[float]) -> float:
        return sum(each * length for each, length in zip(columns, lengths, strict=True)) / HOUR

    assert area([each.mean for each in series.paid]) == pytest.approx(hours.paid, abs=1e-5)
    assert area([each.mean for each in series.used]) == pytest.approx(hours.busy, abs=1e-5)


def test_columns_keep_the_highest_level_and_the_average() -> None:
    columns = in_columns([(0, 4), (15, 0), (60, 1)], width_s=60, number=2, end_s=90)

    assert [(each.mean, each.peak) for each in columns] == [(1.0, 4), (1.0, 1)]


def test_a_month_is_shown_in_two_hours_and_an_hour_in_minutes() -> None:
    assert column_width(HOUR) == 60
    assert column_width(30 * 24 * HOUR) == 2 * HOUR
    assert column_width(3_000 * 24 * HOUR) == 7 * 24 * HOUR


def test_waits_are_counted_up_to_and_with_their_step() -> None:
    counted = waiting.counts([0, 1, 1.5, 60, 61, 90_000])

    assert counted[:4] == [("up to 1 s", 2), ("up to 10 s", 1), ("up to 1 min", 1), ("up to 2 min", 1)]
    assert counted[-1] == ("longer than 1 d", 1)
    assert waiting.counts([]) == []


def test_axes_are_round() -> None:
    assert amounts(7) == [0, 2, 4, 6, 8]
    assert amounts(0.9) == [0, 0.25, 0.5, 0.75, 1.0]
    assert amounts(0) == [0, 1]


def test_moments_are_those_at_which_the_clock_is_round() -> None:
    begin = MONDAY + timedelta(hours=7, minutes=10)

    assert moments(begin, 6 * HOUR, 9) == [(3_000 + n * HOUR, f"{n + 8:02}:00") for n in range(6)]
    assert [each for _, each in moments(MONDAY, 14 * 24 * HOUR, 9)][:2] == ["Mon 5 Jan", "Wed 7 Jan"]


def test_labels_without_room_are_left_out() -> None:
    labels = [(10.0, "aaaa"), (30.0, "bbbb"), (60.0, "cccc"), (99.0, "dddd")]

    assert spaced(labels, width=5, least=0, most=100) == [(10.0, "aaaa"), (60.0, "cccc")]
