"""The section of the report on a slow disk: there where a disk was slow, and nowhere else."""

from __future__ import annotations

from dataclasses import dataclass, replace

import pytest

from orchestrator import report
from orchestrator.analysis import verdicts
from orchestrator.analysis.figures import slowed
from orchestrator.analysis.results import Results
from orchestrator.metrics import measured
from orchestrator.model import Record
from orchestrator.report.blocks import Charts
from orchestrator.report.report_index import ReportIndex
from orchestrator.report.sections import (
    caveats,
    deltas,
    measured as measured_section,
    over_time,
    summary,
    tier_picture,
)
from orchestrator.tier.slow_disk import SlowDisk
from tests.campaigns import build_campaign

pytestmark = pytest.mark.draws

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
        measured("throughput_per_s", 1000.0, slowed.BEFORE),
        measured("throughput_per_s", 10 * share_pct + apart, slowed.MEANWHILE),
    )
    return replace(
        record,
        workload=replace(record.workload, slow=SLOW),
        measurements=(*record.measurements, *figures),
    )


def slowed_in_plan(campaign: Results) -> Results:
    loads = [replace(load, slow=SLOW) for load in campaign.plan.workloads]
    return replace(campaign, plan=replace(campaign.plan, workloads=tuple(loads)))


def parts(change: bool) -> dict[str, str]:
    """Title of each part of the comparison -> what is in it."""
    campaign = build_campaign(
        profiles=["premium", "ultra"],
        workloads=["insert"],
        repetitions=5,
        frames=False,
        change=with_figures if change else None,
    )
    if change:
        campaign = slowed_in_plan(campaign)
    index = ReportIndex(campaign, verdicts.judge(campaign))
    return {part.title: repr(part.blocks) for part in deltas.section(index).parts}


def test_tiers_are_compared_in_what_a_slow_disk_costs() -> None:
    table = parts(change=True)["A slow disk"]
    assert (
        "In each window of insert: node-3 at 10 % of its IOPS and bytes/s for 20 s."
        in table
    )
    for words in (
        "transactions/s meanwhile",
        "throughput kept meanwhile, %",
        "time to recover",
        "better",
    ):
        assert words in table, words


def test_the_first_screen_says_which_disk_was_slow() -> None:
    """Else its figures would be taken for those of usual days."""
    campaign = slowed_in_plan(
        build_campaign(workloads=["insert"], frames=False, change=with_figures)
    )
    index = ReportIndex(campaign, verdicts.judge(campaign))
    stamps = {stamp.label: stamp.text for stamp in caveats.stamps(index)}
    words = "In each window of insert: node-3 at 10 % of its IOPS and bytes/s for 20 s."
    assert stamps["A slow disk"].startswith(words)
    assert next(iter(stamps)) == "A slow disk"
    usual = build_campaign(workloads=["insert"], frames=False)
    index = ReportIndex(usual, verdicts.judge(usual))
    assert "A slow disk" not in {stamp.label for stamp in caveats.stamps(index)}


def test_what_limits_a_tier_is_not_asked_while_a_disk_is_slow() -> None:
    campaign = slowed_in_plan(
        build_campaign(profiles=["premium"], workloads=["insert"], change=with_figures)
    )
    answer = ReportIndex(campaign, verdicts.judge(campaign)).answer
    text = repr(answer)
    assert "What limited it was not asked, as a disk was made slow." in text
    assert "What limited it is not known" not in text


def alike_but_for_the_slow_disk(record: Record) -> Record:
    """premium is five times as slow as ultra while a disk is slow, and as fast else."""
    meanwhile_s = 0.05
    if record.run.profile == "premium":
        meanwhile_s = 0.25
    noise = (0.998, 1.0, 1.002)[record.run.repetition % 3]
    figures = (
        measured("throughput_per_s", 600.0 * noise),
        measured("transactions", 500_000.0),
        measured("latency_avg_s", 0.04 / noise),
        measured("latency_avg_s", meanwhile_s * noise, slowed.MEANWHILE),
    )
    load = replace(record.workload, slow=SLOW)
    return replace(record, workload=load, measurements=figures)


def test_what_a_tier_is_bought_for_is_what_the_page_tells_and_draws() -> None:
    """Not that it is as fast: that holds for the whole window, which decided nothing."""
    campaign = slowed_in_plan(
        build_campaign(
            profiles=["premium", "ultra"],
            workloads=["insert"],
            repetitions=5,
            frames=False,
            change=alike_but_for_the_slow_disk,
        )
    )
    verdict = verdicts.judge(campaign)
    index = ReportIndex(campaign, verdict)
    words = "average latency while a disk is slow"
    why = index.answer.brief.why
    assert (
        "insert with a slow disk ultra is 5 times as fast by average latency as" in why
    )
    text = report.for_the_ticket(campaign, verdict)
    assert f"ultra was 5.00 times as fast as premium in {words}" in text
    picture = tier_picture.picture(index, "insert")
    assert picture is not None and picture.title.startswith(f"{words}, ms")


@dataclass(frozen=True)
class Sections:
    """What is measured, and the changes against the baseline."""

    measured: str
    changes: str


def recovered_in(repetitions: int) -> Sections:
    """premium recovers in so many of its five repetitions, ultra in all."""

    def as_recovered(record: Record) -> Record:
        run = record.run
        figured = with_figures(record)
        if run.profile == "ultra" or run.repetition <= repetitions:
            return figured
        kept = [m for m in figured.measurements if m.metric != "recovery_s"]
        return replace(figured, measurements=tuple(kept))

    campaign = build_campaign(
        profiles=["ultra", "premium"],
        workloads=["insert"],
        repetitions=5,
        frames=False,
        change=as_recovered,
    )
    index = ReportIndex(campaign, verdicts.judge(campaign))
    return Sections(repr(measured_section.section(index)), repr(deltas.section(index)))


def test_a_mean_of_those_that_recovered_says_how_many_did() -> None:
    assert "2 of 5 runs" in recovered_in(repetitions=2).measured
    assert "5 runs" not in recovered_in(repetitions=5).measured


def test_where_none_recovered_that_stands_in_place_of_a_time() -> None:
    sections = recovered_in(repetitions=0)
    assert "text='not recovered'" in sections.measured
    assert "text='not recovered'" in sections.changes


def slow_under_insert(record: Record) -> Record:
    """Figures of a slow disk, of one of two workloads."""
    if record.workload.name != "insert":
        return record
    return alike_but_for_the_slow_disk(record)


@pytest.mark.parametrize("first", ["insert", "point-select"])
def test_a_workload_without_a_slow_disk_may_stand_beside_one_with(first: str) -> None:
    """The page of such a campaign ended with a KeyError, or had no column of the slow disk."""
    others = {"insert", "point-select"} - {first}
    campaign = build_campaign(
        profiles=["premium", "ultra"],
        workloads=[first, *others],
        frames=False,
        change=slow_under_insert,
    )
    index = ReportIndex(campaign, verdicts.judge(campaign))
    table = summary.verdict_table(index)
    titles = [column.title for column in table.columns]
    assert "Average latency, a disk slow" in titles
    cells: dict[str, list[str]] = {"insert": [], "point-select": []}
    workload = ""
    for row in table.rows:
        # A row of one cell is a workload's heading.
        if len(row) == 1:
            workload, _, _ = row[0].text.partition(":")
        else:
            cells[workload].append(row[-1].text)
    assert cells["point-select"] == ["not measured", "not measured"]
    assert "not measured" not in cells["insert"]


def test_a_workload_without_a_slow_disk_is_not_said_not_to_have_recovered() -> None:
    def with_figures_of_insert(record: Record) -> Record:
        if record.workload.name != "insert":
            return record
        return with_figures(record)

    campaign = build_campaign(
        profiles=["premium", "ultra"],
        workloads=["insert", "point-select"],
        frames=False,
        change=with_figures_of_insert,
    )
    index = ReportIndex(campaign, verdicts.judge(campaign))
    compared = repr(deltas.section(index))
    assert "time to recover" in compared
    assert "not recovered" not in compared


def test_a_window_that_ended_too_soon_does_not_say_that_nothing_recovered() -> None:
    """The note on the run says that a recovery could not be seen; its figures said otherwise."""

    def ended_too_soon(record: Record) -> Record:
        figured = with_figures(record)
        kept = [m for m in figured.measurements if m.metric != "recovery_s"]
        late = replace(SLOW[0], after_s=37.0)
        load = replace(figured.workload, slow=(late,))
        return replace(figured, workload=load, measurements=tuple(kept))

    campaign = build_campaign(
        profiles=["ultra", "premium"],
        workloads=["insert"],
        frames=False,
        change=ended_too_soon,
    )
    index = ReportIndex(campaign, verdicts.judge(campaign))
    changes = repr(deltas.section(index))
    assert "window too short" in changes
    assert "not recovered" not in changes


def test_the_ticket_says_which_disk_was_slow() -> None:
    campaign = slowed_in_plan(
        build_campaign(workloads=["insert"], frames=False, change=with_figures)
    )
    text = report.for_the_ticket(campaign, verdicts.judge(campaign))
    words = "windows of 60 s, node-3 at 10 % of its IOPS and bytes/s for 20 s"
    assert words in text.replace("\\", "")


def test_lines_over_time_have_the_slow_time_shaded() -> None:
    campaign = slowed_in_plan(
        build_campaign(
            profiles=["premium"], workloads=["insert"], repetitions=1, measure_s=60.0
        )
    )
    (part,) = over_time.section(ReportIndex(campaign, verdicts.judge(campaign))).parts
    lines = part.blocks[0]
    assert isinstance(lines, Charts)
    assert "Shaded too: the time in which a disk was slow." in lines.caption
    # 20 s in the middle of 60 s.
    assert lines.rows[0].live is not None
    (warm_up, slow) = lines.rows[0].live["datasets"]["shaded"]
    assert (slow["from"], slow["to"], slow["text"]) == (20.0, 40.0, "slow disk")
    assert warm_up["text"] == "warm-up"
    assert ">slow disk<" in lines.rows[0].svg


def test_without_one_there_is_no_such_section() -> None:
    assert "A slow disk" not in parts(change=False)
