"""Doubts that several gates of one campaign give."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from orchestrator.analysis.doubts import kinds
from orchestrator.analysis.results import Results
from orchestrator.facts import GateWord
from orchestrator.model import Doubt
from orchestrator.tier import Gate, GateCheck
from tests.campaigns import START_S, build_campaign, with_tier

KINDS = ("gate drift", "gate failed afterwards", "no gate afterwards")


def gate(
    time_s: float, iops: float, word: GateWord = "ok", latency_s: float = 0.001
) -> Gate:
    checks = (
        GateCheck(
            "IOPS, 4 KiB random read", "1/s", 5_000, iops, 5.0, word, "iops_read"
        ),
        GateCheck(
            "median latency", "s", None, latency_s, None, "not declared", "latency_read"
        ),
        GateCheck("fdatasync", "s", None, time_s, None, "not declared", "fdatasync"),
    )
    named = tuple(replace(check, disk="node-1 (/mnt/b)") for check in checks)
    return Gate(
        "ultra", START_S + time_s, named, {"disks": {"/mnt/b": {"device": "sdb"}}}
    )


def gated_campaign(*gates: Gate, **facts: Any) -> Results:
    """Three runs on ultra, of 70 s each, 130 s from begin to begin."""
    made = build_campaign(
        profiles=["ultra"],
        workloads=["insert"],
        frames=False,
        change=lambda record: replace(record, facts={**record.facts, **facts}),
    )
    real = with_tier(made, enforcement="mounted")
    return replace(real, gates=gates)


def found(made: Results) -> list[Doubt]:
    return [doubt for doubt in kinds.find(made) if doubt.kind in KINDS]


@pytest.mark.parametrize(
    ("gates", "drifts"),
    [
        ([gate(-20, 5_000), gate(400, 4_900)], 0),
        ([gate(-20, 5_000), gate(400, 4_700)], 1),
        ([gate(-20, 5_000), gate(400, 5_250)], 0),  # what a gate allows, and just more
        ([gate(-20, 5_000), gate(400, 5_251)], 1),
        ([gate(-20, 0), gate(400, 5_000)], 0),  # no change in % of nothing
        ([gate(-20, 5_000), gate(150, 4_500), gate(400, 5_000)], 1),  # the furthest two
        ([gate(-20, 500), gate(400, 3_500, "bursting")], 0),  # credit is not the disk
        (
            [gate(-20, 2_000, "slow"), gate(90, 5_000), gate(400, 5_000)],
            0,
        ),  # taken again
        ([gate(-20, 5_000), gate(400, 5_000, latency_s=0.0011)], 0),
        ([gate(-20, 5_000), gate(400, 5_000, latency_s=0.0013)], 1),
        # What the processor's waking makes of a latency: 100 µs, and no more.
        ([gate(-20, 5_000, latency_s=1e-4), gate(400, 5_000, latency_s=2e-4)], 0),
        ([gate(-20, 5_000, latency_s=1e-4), gate(400, 5_000, latency_s=2.1e-4)], 1),
    ],
)
def test_drift_beyond_what_a_gate_allows(gates: Sequence[Gate], drifts: int) -> None:
    assert [doubt.kind for doubt in found(gated_campaign(*gates))] == [
        "gate drift"
    ] * drifts


def test_drift_is_seen_where_a_later_gate_has_other_titles() -> None:
    """A campaign may be resumed with a release that names disks and checks otherwise."""
    titles = ("node-1 (/mnt/b)", "node-1's disk /mnt/b")
    gates: list[Gate] = []
    for title, taken in zip(titles, (gate(-20, 5_000), gate(400, 4_700)), strict=True):
        checks = [
            replace(
                check, disk=title, disk_key="/mnt/b", limit=f"{check.limit} of {title}"
            )
            for check in taken.checks
        ]
        gates.append(replace(taken, checks=tuple(checks)))
    assert [doubt.kind for doubt in found(gated_campaign(*gates))] == ["gate drift"]


def test_drift_names_disk_quantity_figures_and_times() -> None:
    (doubt,) = found(gated_campaign(gate(-20, 5_000), gate(400, 4_500)))
    assert doubt.text.startswith(
        "the disk of node-1 (/mnt/b) changed while it was used: IOPS, 4 KiB random read: "
        "5,000/s at 20"
    )
    assert "4,500/s at" in doubt.text and doubt.text.endswith("(−10.0 %)")


def test_runs_between_a_gate_that_passed_and_one_that_did_not() -> None:
    gates = (
        gate(-20, 5_000),
        gate(120, 5_000),
        gate(250, 5_000),
        gate(400, 4_000, "slow"),
    )
    doubts = [
        doubt
        for doubt in found(gated_campaign(*gates))
        if doubt.kind == "gate failed afterwards"
    ]
    assert [doubt.run for doubt in doubts] == [3]
    assert "IOPS, 4 KiB random read slow" in doubts[0].text


@pytest.mark.parametrize(
    ("before_s", "after_s", "doubted"),
    [
        # The window of the second run is from 140 to 200 s.
        (139, 201, [2]),
        (140, 200, [2]),
        (141, 201, []),
        (139, 199, []),
    ],
)
def test_a_run_is_between_two_gates_with_all_of_its_window(
    before_s: float, after_s: float, doubted: list[int]
) -> None:
    gates = (gate(before_s, 5_000), gate(after_s, 4_000, "slow"))
    runs: list[int | None] = []
    for doubt in found(gated_campaign(*gates)):
        if doubt.kind == "gate failed afterwards":
            runs.append(doubt.run)
    assert runs == doubted


def test_a_gate_says_nothing_of_runs_on_another_tier() -> None:
    """Both tiers take turns, and only one has a check that failed afterwards."""
    made = build_campaign(
        profiles=["premium", "ultra"],
        workloads=["insert"],
        repetitions=2,
        frames=False,
    )
    gates = (gate(-20, 5_000), gate(600, 4_000, "slow"))
    real = replace(with_tier(made, enforcement="mounted"), gates=gates)
    runs = [doubt.run for doubt in found(real) if doubt.run is not None]
    assert runs == [2, 4]


def test_a_gate_that_measured_nothing_is_asked_for_no_other_one() -> None:
    nothing = replace(gate(-20, 5_000), checks=())
    assert found(gated_campaign(nothing)) == []


@pytest.mark.parametrize(("taken_s", "doubted"), [(329, True), (330, False)])
def test_a_gate_as_the_last_window_ends_is_after_it(
    taken_s: float, doubted: bool
) -> None:
    kinds_found = [doubt.kind for doubt in found(gated_campaign(gate(taken_s, 5_000)))]
    assert kinds_found == ["no gate afterwards"] * doubted


@pytest.mark.parametrize("taken_s", [-20, 100, 230])
def test_a_disk_that_was_not_checked_after_its_last_run(taken_s: float) -> None:
    """After the first run, and after the second, is not after the last."""
    gates = (gate(-20, 5_000), gate(taken_s, 5_000))
    (doubt,) = found(gated_campaign(*gates))
    assert doubt.kind == "no gate afterwards"
    assert found(gated_campaign(*gates, gate(400, 5_000))) == []


def test_only_a_real_disk_of_a_newer_campaign_is_asked_for_a_check_afterwards() -> None:
    assert found(gated_campaign()) == [], "an older campaign kept no gates"
    emulated = with_tier(gated_campaign(gate(-20, 5_000)), enforcement="emulated")
    assert found(emulated) == []
