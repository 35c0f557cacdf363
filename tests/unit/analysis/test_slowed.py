"""The figures of a slow disk, and what is judged by them, from transactions of known times."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from orchestrator.analysis import figure_pairs
from orchestrator.analysis.figures import slowed, transactions
from orchestrator.facts import GeneratorFacts
from orchestrator.load_generators.dry import DryGenerator
from orchestrator.metrics import measured
from orchestrator.model import Workload
from orchestrator.parts import Result
from orchestrator.run.clients import several_clients
from tests.fakes import transaction_table
from tests.plans import a_workload

KEPT = {"parts": [{"slow_s": 120.0, "back_s": 140.0}]}
WINDOW_S = (100.0, 170.0)


def ended_at(rate_at: Callable[[float], float], latency_s: float) -> pd.DataFrame:
    """So many transactions a second end in each second of the window, evenly spread."""
    starts: list[float] = []
    for second in range(100, 170):
        count = int(rate_at(second))
        starts += [second + (n + 0.5) / count - latency_s for n in range(count)]
    table = pd.DataFrame({"start_s": starts, "latency_s": latency_s, "queue_s": 0.0})
    table["type"] = pd.Categorical(["insert"] * len(table))
    return table.assign(outcome=transactions.COMMITTED, retries=0, sqlstate="")


def tenth_meanwhile(back_by_s: float) -> Callable[[float], float]:
    """100/s, 10/s while the disk is slow, and 40/s until the load is as before."""

    def rate_at(second: float) -> float:
        if second < 120:
            return 100
        if second < 140:
            return 10
        return 40 if second < back_by_s else 100

    return rate_at


def figures(table: pd.DataFrame, kept: dict[str, Any] = KEPT) -> dict[Any, float]:
    before = Result(
        (measured("throughput_per_s", 1.0),), None, (table,), GeneratorFacts()
    )
    result = slowed.added(before, kept, WINDOW_S, pooled=False)
    return {(m.metric, m.scope): m.value for m in result.measurements}


def test_the_load_before_meanwhile_and_after_and_what_was_left_of_it() -> None:
    values = figures(ended_at(tenth_meanwhile(140), 0.004))
    assert values["throughput_per_s", "all"] == 1.0, "what was there stays"
    rates = [values["throughput_per_s", scope] for scope in slowed._SCOPES]
    assert rates == [100.0, 10.0, 100.0]
    assert values["slow_share_pct", "all"] == 10.0
    assert values["recovery_s", "all"] == 1.0, "no shorter time is told"


@pytest.mark.parametrize(
    ("back_by_s", "recovery_s"), [(141, 1.0), (145, 4.3), (150, 9.3), (165, 24.3)]
)
def test_recovery_ends_where_five_good_seconds_begin(
    back_by_s: float, recovery_s: float
) -> None:
    """Of these 0.8 s may still be at 40 %: together they have 90 %."""
    values = figures(ended_at(tenth_meanwhile(back_by_s), 0.004))
    assert values["recovery_s", "all"] == recovery_s


def test_what_does_not_recover_within_the_window_has_no_figure() -> None:
    assert ("recovery_s", "all") not in figures(ended_at(tenth_meanwhile(170), 0.004))
    kept = {"parts": [{"slow_s": 120.0, "back_s": 167.0}]}
    steady = ended_at(lambda _: 100, 0.004)
    assert ("recovery_s", "all") not in figures(steady, kept), "five seconds are needed"


def test_several_disks_are_one_time_from_the_first_to_the_last() -> None:
    kept = {
        "parts": [
            {"slow_s": 120.0, "back_s": 130.0},
            {"slow_s": 130.1, "back_s": 140.0},
        ]
    }
    values = figures(ended_at(tenth_meanwhile(140), 0.004), kept)
    assert values["slow_share_pct", "all"] == 10.0


@pytest.mark.parametrize(("back_s", "has_figures"), [(121.0, True), (120.99, False)])
def test_a_part_of_a_second_has_no_rate_and_one_of_a_whole_second_has(
    back_s: float, has_figures: bool
) -> None:
    kept = {"parts": [{"slow_s": 120.0, "back_s": back_s}]}
    values = figures(ended_at(lambda _: 100, 0.004), kept)
    assert (("throughput_per_s", slowed.MEANWHILE) in values) is has_figures


def stalled(due_s: float) -> float:
    """What is under way between 120 and 140 s ends at 140 s; all else takes 0.5 s."""
    if 119.5 < due_s < 140:
        return 140.001 - due_s
    return 0.5


@pytest.mark.parametrize("at_a_rate_per_s", [None, 10.0], ids=["closed loop", "rate"])
def test_what_a_stall_held_up_is_slow_meanwhile_and_not_before_or_after(
    at_a_rate_per_s: float | None,
) -> None:
    """Nothing ends in a stall: what it held up ended after it, and some of it began before."""
    table = due_at(lambda _: 10, stalled)
    facts = GeneratorFacts(arrival_rate_per_s=at_a_rate_per_s)
    result = slowed.added(
        Result((), None, (table,), facts), KEPT, WINDOW_S, pooled=False
    )
    values = {(m.metric, m.scope): m.value for m in result.measurements}
    assert values["latency_max_s", slowed.BEFORE] == pytest.approx(0.5)
    assert values["latency_max_s", slowed.AFTER] == pytest.approx(0.5)
    assert values["latency_avg_s", slowed.MEANWHILE] == pytest.approx(10.2, abs=0.3)
    assert values["latency_max_s", slowed.MEANWHILE] > 20
    assert values["throughput_per_s", slowed.MEANWHILE] == 0


@pytest.mark.parametrize(("rate_per_s", "recovers"), [(90, True), (89, False)])
def test_nine_tenths_of_the_load_before_are_a_recovery(
    rate_per_s: int, recovers: bool
) -> None:
    table = ended_at(lambda second: 100 if second < 120 else rate_per_s, 0.004)
    assert (("recovery_s", "all") in figures(table)) is recovers


def test_a_disk_that_is_slow_from_the_begin_has_nothing_before() -> None:
    kept = {"parts": [{"slow_s": 100.0, "back_s": 140.0}]}
    values = figures(ended_at(lambda _: 100, 0.004), kept)
    assert not {"slow_share_pct", "recovery_s"} & {metric for metric, _ in values}


def test_each_transaction_is_of_one_part_though_it_ends_with_another() -> None:
    """One ends as the disk gets slow, and one begins as it is as before."""
    rows = [(110.0, 10.0, "insert", 0), (140.0, 3.0, "insert", 0)]
    rows += [(101.0, 1.0, "insert", 0), (125.0, 2.0, "insert", 0)]
    values = figures(transaction_table(rows))
    longest_s = [values["latency_max_s", scope] for scope in slowed._SCOPES]
    assert longest_s == [1.0, 10.0, 3.0]


def test_nothing_is_left_of_nothing() -> None:
    late = ended_at(lambda second: 0 if second < 120 else 100, 0.004)
    values = figures(late)
    assert not {"slow_share_pct", "recovery_s"} & {metric for metric, _ in values}


class Left(DryGenerator):
    """Has left what `tenth_meanwhile` made."""

    def read(
        self, workload: Workload, out: Path, start_s: float, end_s: float
    ) -> Result:
        table = ended_at(tenth_meanwhile(140), 0.004)
        return Result((), None, (table,), GeneratorFacts())


def test_they_are_read_again_from_the_raw_files(tmp_path: Path) -> None:
    reading = Left(), a_workload(), tmp_path, *WINDOW_S
    assert several_clients.read(*reading).measurements == ()
    (tmp_path / slowed.FILE).write_text(json.dumps(KEPT))
    again = several_clients.read(*reading).measurements
    assert {m.metric: m.value for m in again}["slow_share_pct"] == 10.0


def test_tiers_are_compared_in_what_was_left_and_in_the_time_to_recover() -> None:
    def runs(back_by_s: float) -> list[Any]:
        table = ended_at(tenth_meanwhile(back_by_s), 0.004)
        before = Result((), None, (table,), GeneratorFacts())
        result = slowed.added(before, KEPT, WINDOW_S, pooled=False)
        by_key = {(m.metric, m.scope): m for m in result.measurements}
        share = by_key["slow_share_pct", "all"]
        other = {**by_key, share_key: replace(share, value=share.value + 0.1)}
        return [by_key, other, by_key]

    share_key = ("slow_share_pct", "all")
    pairs = list(figure_pairs.pairs("premium", "insert", (runs(140), runs(150)), ""))
    changes = {pair.key: pair.ratio.change_pct for pair in pairs}
    assert changes["recovery_s", "all"] == pytest.approx(830)
    assert changes[share_key] == pytest.approx(0, abs=0.5)
    assert changes["throughput_per_s", slowed.MEANWHILE] == pytest.approx(0, abs=0.5)


@pytest.mark.parametrize(
    ("right", "told_apart"),
    [((1.0, 1.0), False), ((2.0, 1.9), False), ((2.1, 3), True)],
)
def test_times_to_recover_that_are_no_more_than_a_second_apart_are_not_told_apart(
    right: tuple[float, ...], told_apart: bool
) -> None:
    """The rule leaves that much open: neither "same" nor "twice as long" is known of them."""

    def side(values: tuple[float, ...]) -> list[Any]:
        return [{("recovery_s", "all"): measured("recovery_s", v)} for v in values]

    sides = (side((1.0, 1.0)), side(right))
    (pair,) = figure_pairs.pairs("premium", "insert", sides, "")
    assert (pair.obstacle == "") == told_apart
    if not told_apart:
        assert "within 1 s of each other" in pair.obstacle


def at_a_rate(table: pd.DataFrame, never_began: int = 0) -> dict[Any, float]:
    """The figures of transactions that were due at 10/s: a row's start is when it was due."""
    facts = GeneratorFacts(arrival_rate_per_s=10.0, unstarted=float(never_began))
    result = slowed.added(
        Result((), None, (table,), facts), KEPT, WINDOW_S, pooled=False
    )
    return {(m.metric, m.scope): m.value for m in result.measurements}


def due_at(
    rate_at: Callable[[float], int], latency_at: Callable[[float], float]
) -> pd.DataFrame:
    """So many fall due in each second of the window, and are served after `latency_at`."""
    table = ended_at(rate_at, 0.0)
    table["latency_s"] = [latency_at(due_s) for due_s in table["start_s"]]
    return table


def queued(due_s: float) -> float:
    """Nothing that falls due while the disk is slow ends before 150 s."""
    if 120 <= due_s < 150:
        return 150.0 - due_s + 0.01
    return 0.004


def test_at_a_rate_what_was_kept_is_of_what_fell_due_meanwhile() -> None:
    """By chance only half as many fall due, and all of them are served."""

    def fewer_meanwhile(second: float) -> int:
        return 5 if 120 <= second < 140 else 10

    values = at_a_rate(due_at(fewer_meanwhile, lambda _: 0.004))
    assert values["slow_share_pct", "all"] == 100.0


def test_at_a_rate_what_only_waited_is_not_kept() -> None:
    values = at_a_rate(due_at(lambda _: 10, queued))
    assert values["slow_share_pct", "all"] == 0.0


def test_at_a_rate_the_load_recovers_when_what_falls_due_is_as_fast_as_before() -> None:
    """The queue drains at 150 s in one moment, when throughput is far above that of before."""
    values = at_a_rate(due_at(lambda _: 10, queued))
    # The disk is as before at 140 s, and of the five seconds from 149.5 s on 90 % are fast.
    assert values["recovery_s", "all"] == 9.6


def test_at_a_rate_a_queue_that_grew_before_has_nothing_to_recover_to() -> None:
    """Half of what falls due is served from the begin on: each waits longer than the last."""
    table = due_at(lambda _: 10, lambda due_s: due_s - 100.0 + 0.1)
    values = at_a_rate(table)
    assert ("recovery_s", "all") not in values
    assert ("slow_share_pct", "all") in values


def test_at_a_rate_what_stays_slow_does_not_recover() -> None:
    slow_to_the_end = due_at(lambda _: 10, lambda due_s: 0.004 if due_s < 120 else 2.0)
    assert ("recovery_s", "all") not in at_a_rate(slow_to_the_end)


def test_at_a_rate_what_never_began_is_not_as_fast_as_before() -> None:
    """From 150 s on nothing begins: it is in no record, and still waits when the load ends."""
    table = due_at(lambda _: 10, lambda due_s: 2.0 if due_s >= 120 else 0.004)
    begun = table[table["start_s"] < 150]
    never_began = len(table) - len(begun)
    assert ("recovery_s", "all") not in at_a_rate(begun, never_began)


def test_at_a_rate_what_never_began_was_the_last_that_fell_due() -> None:
    """All is as fast as before from 140 s on, and from 160 s on nothing begins."""
    table = due_at(lambda _: 10, lambda _: 0.004)
    begun = table[table["start_s"] < 160]
    values = at_a_rate(begun, never_began=len(table) - len(begun))
    assert values["recovery_s", "all"] == 1.0


def test_at_a_rate_a_queue_that_reaches_back_is_of_what_fell_due_meanwhile() -> None:
    """Half of what fell due meanwhile was served, and nothing later began."""
    table = due_at(lambda _: 10, lambda _: 0.004)
    begun = table[table["start_s"] < 130]
    values = at_a_rate(begun, never_began=len(table) - len(begun))
    assert values["slow_share_pct", "all"] == pytest.approx(50)
