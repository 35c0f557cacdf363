"""The tables of a run are read once for its verdict and report, and no table of samples stays."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import replace

import pandas as pd
import pytest

from orchestrator.analysis.results import Results
from orchestrator.analysis.telemetry.counters.sample_tables import Samples
from orchestrator.analysis.verdicts import judge
from orchestrator.cli.measure import concluding
from tests.campaign_tables import sampled_in
from tests.campaigns import build_campaign

CAMPAIGN = build_campaign(
    profiles=["premium", "ultra"], workloads=["insert", "tpcc"], repetitions=2
)


@pytest.fixture(scope="module")
def reported(tmp_path_factory: pytest.TempPathFactory) -> tuple[Results, Counter[str]]:
    """A campaign after its verdict and report, and how often each table of a run was read."""
    times = Counter[str]()

    def counted(
        name: str, read: Callable[[], Iterable[pd.DataFrame]]
    ) -> Callable[[], Iterable[pd.DataFrame]]:
        def reading() -> Iterable[pd.DataFrame]:
            times[name] += 1
            return read()

        return reading

    runs = tuple(
        replace(
            run,
            sampled=Samples(
                counted(f"samples of {run.record.run.slug}", run.sampled.parts)
            ),
            transactions=counted(
                f"transactions of {run.record.run.slug}", run.transactions
            ),  # type: ignore[arg-type]
        )
        for run in CAMPAIGN.runs
    )
    campaign = replace(CAMPAIGN, runs=runs)
    concluding.write_report(
        campaign, judge(campaign), tmp_path_factory.mktemp("report")
    )
    return campaign, times


def test_each_table_is_read_once(reported: tuple[Results, Counter[str]]) -> None:
    campaign, times = reported
    assert len(times) == 2 * len(campaign.runs) and set(times.values()) == {1}


def test_a_row_a_second_and_node_stays_of_all_counters(
    reported: tuple[Results, Counter[str]],
) -> None:
    runs = reported[0].runs
    assert runs
    for run in runs:
        seconds = sum(phase.duration_s for phase in run.record.phases)
        database = sum(node.role == "database" for node in run.record.nodes)
        assert (
            len(run.telemetry.by_second)
            <= (seconds + 1) * database
            < len(sampled_in(run)) / 8
        )
