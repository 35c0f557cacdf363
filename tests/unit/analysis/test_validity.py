"""Which doubts exclude a run, and that an excluded run changes nothing."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from orchestrator.analysis import results, verdicts
from orchestrator.analysis.doubts import by_effect, validity
from orchestrator.analysis.results import Results
from orchestrator.doubt_effects import DOUBT_EFFECTS
from orchestrator.model import Doubt, Record
from orchestrator.report.report_index import ReportIndex
from tests.campaigns import build_campaign, build_gate
from tests.documented import table_below

EXCLUDING = tuple(
    kind for kind, effect in DOUBT_EFFECTS.items() if effect == "excludes"
)
WILD = 4  # the run of ultra whose figures are far off


def noted(kind: str) -> Callable[[Record], Record]:
    doubt = Doubt(kind, "what was seen", "repeat it", WILD)
    return lambda record: replace(record, doubts=(doubt,))


def with_facts(**facts: object) -> Callable[[Record], Record]:
    return lambda record: replace(record, facts={**record.facts, **facts})


BROKEN: dict[str, Callable[[Record], Record]] = {
    "clock set": noted("clock set"),
    "leftovers": noted("leftovers"),
    "gate not passed": lambda record: replace(
        record, gate=build_gate(record.profile.tier, measured_iops=5_000.0)
    ),
    "limits changed": with_facts(
        limit_changes=[{"time_s": 1.0, "disk": "d", "set": {}}]
    ),
    "totals differ": with_facts(
        generator={"sysbench_transactions": 90_000, "recorded_transactions": 100_000}
    ),
    "doubts not readable": with_facts(
        extensions={"mariadb": {"distribution": "tierbench-mariadb", "version": "3.1"}}
    ),
}


def campaign_with(change: Callable[[Record], Record], *numbers: int) -> Results:
    """Two tiers by five repetitions; odd runs are premium's. Run 4 is far from ultra's others."""
    return build_campaign(
        profiles=["premium", "ultra"],
        workloads=["point-select"],
        repetitions=5,
        values={
            ("premium", "point-select"): [1500, 1512, 1488, 1505, 1496],
            ("ultra", "point-select"): [1600, 300, 1613, 1588, 1606],
        },
        frames=False,
        change=lambda r: change(r) if r.run.number in numbers else r,
    )


def without(campaign: Results, number: int) -> Results:
    runs = tuple(data for data in campaign.runs if data.record.run.number != number)
    return replace(campaign, runs=runs)


def changed_by_hand(*changes: dict[str, object]) -> str:
    """What is said of a run whose limits were changed; its window begins at 100 s."""
    campaign = campaign_with(with_facts(limit_changes=list(changes)), 1)
    (record,) = [run.record for run in campaign.runs if run.record.run.number == 1]
    window = record.phase("measure")
    assert window is not None
    window = replace(window, start_s=100.0)
    (doubt,) = validity.excluding(replace(record, phases=(window,)))
    return doubt.text


def test_what_a_person_changed_is_told_with_its_time() -> None:
    slow = {"time_s": 112.0, "disk": "cafe-disk-node-3", "set": {"iops": 100.0}}
    assert changed_by_hand(slow) == (
        "a person set node-3 to iops=100 12 s after the window began: its figures are not the "
        "tier's"
    )
    warm_up = {**slow, "time_s": 95.0, "set": {"iops": 5.0, "stall_s": 2.0}}
    text = "node-3 to iops=5 and stall_s=2 5 s before the window began"
    assert text in changed_by_hand(warm_up)


@pytest.mark.parametrize(
    ("time_s", "words"),
    [
        (99.5, "500 ms before the window began"),
        (100.0, "0 ms after the window began"),
        (100.5, "500 ms after the window began"),
    ],
)
def test_a_change_is_told_before_or_after_the_begin(time_s: float, words: str) -> None:
    change = {"time_s": time_s, "disk": "cafe-disk-node-3", "set": {"iops": 100.0}}
    assert f"to iops=100 {words}" in changed_by_hand(change)


def test_one_command_for_all_disks_is_told_once_and_many_are_counted() -> None:
    def set_at(time_s: float, iops: float, node: int) -> dict[str, object]:
        disk = f"cafe-disk-node-{node}"
        return {"time_s": time_s, "disk": disk, "set": {"iops": iops}}

    changes = [set_at(110.0 + node / 10, 50.0, node) for node in (1, 2, 3)]
    changes += [set_at(120.0, 80.0, 1), set_at(130.0, 90.0, 1), set_at(140.0, 80.0, 1)]
    text = changed_by_hand(*changes)
    assert text.startswith(
        "a person set node-1, node-2 and node-3 to iops=50 10.1 s after the window began, "
        "node-1 to iops=80 20 s after the window began and 2 more changes"
    )


@pytest.mark.parametrize(
    ("later_s", "words"),
    [
        (4.9, "node-1 and node-2 to iops=50"),
        (5.0, "node-1 to iops=50 10 s after the window began and node-2"),
    ],
)
def test_what_is_set_within_five_seconds_is_of_one_command(
    later_s: float, words: str
) -> None:
    changes: list[dict[str, object]] = []
    for number, time_s in ((1, 110.0), (2, 110.0 + later_s)):
        disk = f"cafe-disk-node-{number}"
        changes.append({"time_s": time_s, "disk": disk, "set": {"iops": 50.0}})
    assert words in changed_by_hand(*changes)


def test_a_change_that_was_undone_is_not_told_as_a_persons() -> None:
    """The disk of another node could not be set, so this one has again what it had."""
    first = {"time_s": 112.0, "disk": "cafe-disk-node-1", "set": {"iops": 100.0}}
    back = {"time_s": 113.0, "disk": "cafe-disk-node-1", "undone": {"iops": 500.0}}
    assert "and node-1 back to iops=500 13 s after the window began" in changed_by_hand(
        first, back
    )


def test_a_change_whose_line_was_cut_is_told_too() -> None:
    cut: dict[str, object] = {"cut": '{"time_s": 1'}
    text = changed_by_hand(cut)
    assert "a person set limits in a line of its record that was cut" in text
    whole: dict[str, object] = {
        "time_s": 112.0,
        "disk": "cafe-disk-node-3",
        "set": {"iops": 100.0},
    }
    for changes in ((cut, whole), (whole, cut)):
        text = changed_by_hand(*changes)
        assert "that was cut" in text and "node-3 to iops=100" in text


def test_of_a_change_without_limits_its_disk_and_time_are_told() -> None:
    """ "No record is left" was said of one that stands there with both."""
    text = changed_by_hand({"time_s": 112.0, "disk": "cafe-disk-node-3", "set": {}})
    assert text.startswith(
        "a person set node-3 to limits that are not recorded 12 s after the window began"
    )


def test_every_excluding_doubt_is_tried_here_and_documented() -> None:
    assert tuple(BROKEN) == EXCLUDING
    rows = table_below("METHOD.md", "Which runs count", "a run is left out by")
    assert tuple(row[0].strip("`") for row in rows) == EXCLUDING


@pytest.mark.parametrize("kind", BROKEN)
def test_a_campaign_with_an_excluded_run_is_judged_as_without_it(kind: str) -> None:
    campaign = campaign_with(BROKEN[kind], WILD)
    found, expected = verdicts.judge(campaign), verdicts.judge(without(campaign, WILD))
    assert found.deltas == expected.deltas and found.deltas[0].n_contender == 4
    assert found.cells == expected.cells
    assert found.decisions == expected.decisions
    (excluded,) = found.excluded
    assert (excluded.run, excluded.profile) == (WILD, "ultra")
    assert excluded.reasons[0].startswith(f"{kind}: ")
    assert kind in {doubt.kind for doubt in found.doubts if doubt.run == WILD}


def test_a_doubt_that_nothing_here_knows_excludes_its_run() -> None:
    """It may come from another version or an extension; what it says must not be passed over."""
    campaign = campaign_with(noted("disk was on fire"), WILD)
    judged = verdicts.judge(campaign)
    assert judged.cells == verdicts.judge(without(campaign, WILD)).cells
    (excluded,) = judged.excluded
    assert excluded.reasons == ("disk was on fire: what was seen",)


def test_a_doubt_that_nothing_here_knows_does_what_it_says() -> None:
    doubt = Doubt("disk was warm", "what was seen", "cool it", WILD, "limits")
    campaign = campaign_with(lambda record: replace(record, doubts=(doubt,)), WILD)
    judged = verdicts.judge(campaign)
    assert not judged.excluded and doubt in judged.doubts
    assert "disk was warm (1 run)" in by_effect.limiting(judged.doubts)


@pytest.mark.parametrize(
    ("doubted", "are_most"), [({1}, False), ({1, 2}, False), ({1, 2, 3}, True)]
)
def test_most_runs_are_more_than_half_of_them(
    doubted: set[int], are_most: bool
) -> None:
    assert by_effect.are_most({*doubted, 9}, {1, 2, 3, 4}) is are_most


def test_a_figure_far_off_excludes_nothing() -> None:
    campaign = campaign_with(lambda record: record, WILD)
    assert not campaign.excluded
    assert len(results.finished(campaign, "ultra", "point-select")) == 5


def test_doubts_that_follow_the_size_of_a_figure_exclude_nothing() -> None:
    noisy = {
        "client busy",
        "host saturated",
        "overload",
        "failures",
        "unsteady throughput",
    }
    assert not noisy & set(EXCLUDING)
    assert not {"Little's law", "think time's ceiling", "few transactions"} & set(
        EXCLUDING
    )


def test_a_cell_whose_runs_are_all_excluded_is_missing_with_the_reason() -> None:
    campaign = campaign_with(noted("clock set"), 2, 4, 6, 8, 10)
    found = verdicts.judge(campaign)
    assert found.deltas == ()
    (missing,) = found.missing
    assert missing.startswith("ultra × point-select: no finished run that counts")
    assert "run 2 was excluded: clock set: what was seen" in missing


def test_excluded_runs_are_shown_and_counted() -> None:
    campaign = campaign_with(noted("clock set"), WILD)
    index = ReportIndex(campaign, verdicts.judge(campaign))
    sureness = index.answer.sureness
    assert sureness.word != "conclusive"
    assert (
        "1 of 10 planned runs left no figures that count: 1 was excluded as invalid."
        in sureness.text
    )
    assert index.losses(campaign.plan.runs) == (
        "Run 4 (ultra × point-select) was excluded: clock set: what was seen.",
    )


def test_no_figure_decides_what_is_excluded() -> None:
    """The measurements may be gone, and the rule says the same."""
    for kind, change in BROKEN.items():
        record = campaign_with(change, WILD).runs[WILD - 1].record
        bare = replace(record, measurements=())
        assert [d.kind for d in validity.excluding(bare)] == [kind]
