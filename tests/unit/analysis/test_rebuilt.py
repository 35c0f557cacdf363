"""A lost node's figures, and what is judged by them, from transactions whose times are known."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest

from orchestrator.analysis import comparisons, figure_pairs
from orchestrator.analysis.figures import rebuilt, transactions
from orchestrator.analysis.statistics import stats
from orchestrator.facts import GeneratorFacts
from orchestrator.load_generators.dry import DryGenerator
from orchestrator.metrics import measured
from orchestrator.model import Measurement, Workload
from orchestrator.parts import Result
from orchestrator.run.clients import several_clients
from tests.plans import a_workload

TIMES = {"lost_s": 110.0, "back_s": 130.0, "written_bytes": 4e9}
WINDOW_S = (100.0, 160.0)


def ten_a_second(slow_s: float = 0.2, until_s: float = 160.0) -> pd.DataFrame:
    """Each takes 10 ms, and `slow_s` if it begins while the node is away."""
    starts = [100 + n / 10 for n in range(int((until_s - 100) * 10))]
    latency_s = [slow_s if 110 <= start_s < 130 else 0.010 for start_s in starts]
    table = pd.DataFrame({"start_s": starts, "latency_s": latency_s, "queue_s": 0.0})
    table["type"] = pd.Categorical(["insert"] * len(table))
    return table.assign(outcome=transactions.COMMITTED, retries=0, sqlstate="")


def figures(
    table: pd.DataFrame, times: dict[str, float], rate: float | None = None
) -> Result:
    facts = GeneratorFacts(arrival_rate_per_s=rate)
    before = Result((measured("throughput_per_s", 1.0),), None, (table,), facts)
    return rebuilt.added(before, times, WINDOW_S, pooled=False)


def by_key(result: Result) -> dict[tuple[str, str], float]:
    return {(m.metric, m.scope): m.value for m in result.measurements}


def test_the_time_the_bytes_and_the_load_in_each_part_of_the_window() -> None:
    values = by_key(figures(ten_a_second(), TIMES))
    assert values["throughput_per_s", "all"] == 1.0, "what was there stays"
    assert (values["rebuild_s", "all"], values["rebuild_bytes_per_s", "all"]) == (
        20.0,
        2e8,
    )
    for scope, latency_s in (
        ("before_loss", 0.01),
        ("rebuild", 0.2),
        ("after_rebuild", 0.01),
    ):
        assert values["throughput_per_s", scope] == pytest.approx(10, rel=0.03), scope
        assert values["latency_p50_s", scope] == pytest.approx(latency_s), scope


@pytest.mark.parametrize("rate", [None, 10.0], ids=["closed loop", "rate"])
def test_a_stall_is_of_the_part_in_which_work_was_under_way(rate: float | None) -> None:
    """Those that began while the node was away, and ended after it was back."""
    values = by_key(figures(ten_a_second(25.0), TIMES, rate))
    assert values["latency_avg_s", "rebuild"] == 25.0
    assert values["latency_max_s", "after_rebuild"] == pytest.approx(0.010)


def test_what_is_not_known_or_hardly_lasted_has_no_figure() -> None:
    values = by_key(
        figures(ten_a_second(), {**TIMES, "back_s": 159.5, "written_bytes": 0.0})
    )
    assert values["rebuild_s", "all"] == 49.5
    assert not [key for key in values if "bytes" in key[0] or key[1] == "after_rebuild"]


class Left(DryGenerator):
    """Has left what `ten_a_second` made."""

    def read(
        self, workload: Workload, out: Path, start_s: float, end_s: float
    ) -> Result:
        return Result((), None, (ten_a_second(),), GeneratorFacts())


def test_they_are_read_again_from_the_raw_files(tmp_path: Path) -> None:
    reading = Left(), a_workload(), tmp_path, *WINDOW_S
    assert several_clients.read(*reading).measurements == ()
    (tmp_path / rebuilt.FILE).write_text(str(TIMES).replace("'", '"'))
    assert by_key(several_clients.read(*reading))["rebuild_s", "all"] == 20.0


def test_tiers_are_compared_in_the_time_and_in_what_users_noticed_meanwhile() -> None:
    def runs(slower: float) -> list[dict[tuple[str, str], Measurement]]:
        times = {**TIMES, "back_s": 110 + 20 * slower}
        own = [figures(ten_a_second(0.2 * slower), {**times, "back_s": times["back_s"] + n})
               for n in range(3)]  # fmt: skip
        return [{(m.metric, m.scope): m for m in of.measurements} for of in own]

    of_both = (runs(1.0), runs(2.0))
    pairs = list(figure_pairs.pairs("premium", "rebuild", of_both, ""))
    changes = {pair.key: pair.ratio.change_pct for pair in pairs}
    assert changes["rebuild_s", "all"] == pytest.approx(95, abs=6)
    with_intervals: list[figure_pairs.Pair] = []
    for pair in pairs:
        ratio = stats.ratio_of_means(pair.left, pair.right, pair.confidence)
        with_intervals.append(replace(pair, ratio=ratio))
    judged = comparisons.deltas("premium", with_intervals, 5.0, 5.0)
    verdicts = {(delta.metric, delta.scope): delta.verdict for delta in judged}
    assert verdicts["rebuild_s", "all"] == "worse", judged
    assert changes["throughput_per_s", "rebuild"] == pytest.approx(0, abs=3)
    p99 = [replace(m, scope="all") for m in figures(ten_a_second(), TIMES).measurements]
    assert ("latency_p99_s", "rebuild") not in changes, (
        f"too few transactions: {len(p99)}"
    )
