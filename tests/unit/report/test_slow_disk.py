"""The section of the report on a slow disk: there where a disk was slow, and nowhere else."""

from __future__ import annotations

from dataclasses import replace

from orchestrator.analysis import verdicts
from orchestrator.analysis.figures import slowed
from orchestrator.metrics import measured
from orchestrator.model import Record
from orchestrator.report.report_index import ReportIndex
from orchestrator.report.sections import deltas
from orchestrator.tier.slow_disk import SlowDisk
from tests.campaigns import build_campaign

SLOW = (SlowDisk("node-3", "share", 10.0, 20.0),)


def with_figures(record: Record) -> Record:
    """A faster tier keeps more of its load, and is back sooner."""
    is_faster = record.run.profile == "ultra"
    share_pct = 18.0
    recovery_s = 6.0
    if is_faster:
        share_pct = 40.0
        recovery_s = 3.0
    apart = 0.1 * record.run.repetition
    figures = (
        measured("slow_share_pct", share_pct + apart),
        measured("recovery_s", recovery_s + apart),
        measured("throughput_per_s", 10 * share_pct + apart, slowed.MEANWHILE),
    )
    return replace(
        record,
        workload=replace(record.workload, slow=SLOW),
        measurements=(*record.measurements, *figures),
    )


def parts(change: bool) -> dict[str, str]:
    """Title of each part of the comparison -> what is in it."""
    campaign = build_campaign(
        profiles=["premium", "ultra"],
        workloads=["insert"],
        repetitions=5,
        frames=False,
        change=with_figures if change else None,
    )
    index = ReportIndex(campaign, verdicts.judge(campaign))
    return {part.title: repr(part.blocks) for part in deltas.section(index).parts}


def test_tiers_are_compared_in_what_a_slow_disk_costs() -> None:
    table = parts(change=True)["A slow disk"]
    for words in (
        "transactions/s meanwhile",
        "throughput kept meanwhile, %",
        "time to recover",
        "better",
    ):
        assert words in table, words


def test_without_one_there_is_no_such_section() -> None:
    assert "A slow disk" not in parts(change=False)
