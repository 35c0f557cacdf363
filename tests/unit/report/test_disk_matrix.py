"""The report of a disk matrix that was not measured to its end.

Method: a campaign's folder with fio's output of some of its points, as a killed program leaves it.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from orchestrator.analysis.answers.campaign import campaign_answer
from orchestrator.analysis.verdicts import judge
from orchestrator.cli.measure import concluding
from orchestrator.design import slo
from orchestrator.model import Profile
from orchestrator.report.document import arrange
from orchestrator.system import store, unfinished_runs
from orchestrator.tier import Price
from tests.campaigns import build_workload
from tests.disk_matrices import begun, keep_whole

LISTED = Price(20.07, "USD", "westus2", "2026-01-01", "price list")


def report_of(folder: Path) -> str:
    concluding.conclude(folder)
    return (folder / "report.md").read_text()


def test_the_points_that_an_unfinished_run_has_are_shown(tmp_path: Path) -> None:
    folder = begun(tmp_path, 2)
    text = report_of(folder)
    (tier,) = {one.profile for one in store.load(folder).plan.runs[:1]}
    assert f"No run of {tier} was measured to its end: 2 of 3 cells so far." in text
    assert "| random I/O, 50 % reads | 4 KiB | 8 × 1 |" in text.replace("\u00a0", " ")
    assert "Ceilings found" not in text


def test_beside_a_tier_that_was_measured_they_are_no_ceiling(tmp_path: Path) -> None:
    folder = begun(tmp_path, 2)
    plan = store.load(folder).plan
    run = plan.runs[1]
    keep_whole(folder, run)
    text = report_of(folder)
    assert "### Ceilings found" in text and f"### Every cell of {run.profile}" in text
    assert f"### Cells of {plan.runs[0].profile} so far" in text
    table = text.split("### Ceilings found")[1].split("###")[0]
    (row,) = [
        line
        for line in table.splitlines()
        if line.startswith(f"| {plan.runs[0].profile} ")
    ]
    assert "missing" in row


def test_the_first_screen_says_what_each_disk_gives(tmp_path: Path) -> None:
    folder = begun(tmp_path, 0)
    for run in store.load(folder).plan.runs:
        keep_whole(folder, run)
    concluding.conclude(folder)
    campaign = store.load(folder)
    (card,) = arrange(campaign, judge(campaign)).answers
    (line,) = card.lines
    assert card.headline == "", "no disk is named, and none was asked for"
    assert card.picture is not None and card.picture.live is not None
    dots = card.picture.live["datasets"]["tiers"]
    assert [dot["tier"] for dot in dots] == ["premium", "ultra"]
    assert "premium gives at least " in line and " IOPS" in line


def test_the_answer_says_what_each_disk_carries_at_what_price(tmp_path: Path) -> None:
    """Nothing there says which disk is enough for a database, so none is named to buy."""
    folder = begun(tmp_path, 0)
    plan = store.load(folder).plan
    for run in plan.runs:
        keep_whole(folder, run)
    concluding.conclude(folder)
    campaign = store.load(folder)
    priced: list[Profile] = []
    for profile in plan.profiles:
        price = replace(LISTED, verified=profile.name == "premium")
        tier = replace(profile.tier, price=price)
        priced.append(replace(profile, tier=tier))
    campaign = replace(campaign, plan=replace(campaign.plan, profiles=tuple(priced)))
    brief = arrange(campaign, judge(campaign)).brief
    for name in ("premium", "ultra"):
        assert f"{name} carries at least " in brief.what
        assert " on " + name in brief.why
    for disk in (
        "premium (Disk premium, 100 IOPS, 10 MB/s)",
        "ultra (Disk ultra, 100 IOPS, 10 MB/s)",
    ):
        assert f"{disk} costs " in brief.price
    assert brief.what.count("for 20.07 USD a month") == 2
    assert len(brief.what) <= 110, "a telephone has four lines for it"
    assert brief.price.count("costs 20.07 USD a month a disk") == 2
    assert brief.price.count("a disk (list price, not verified)") == 1
    assert " 10 MB/s) costs 20.07 USD a month a disk (list price" in brief.price
    assert "per 1,000 IOPS" in brief.price
    assert "open" not in brief.how_sure and brief.how_sure == (
        "Measured once by fio. Short window in both runs."
    )
    assert brief.not_tested.startswith("A database on them")
    assert "`tierbench compare --profiles premium,ultra`" in brief.next_step


def test_beside_the_load_of_a_database_the_answer_is_about_that(tmp_path: Path) -> None:
    """A tier to buy is asked for then, and what a disk alone carries names none."""
    folder = begun(tmp_path, 0)
    for run in store.load(folder).plan.runs:
        keep_whole(folder, run)
    alone = store.load(folder)
    (matrix,) = alone.plan.workloads
    with_limit = replace(matrix, slo=slo.parse("p99 < 50 ms", "--slo"))
    kinds = [campaign_answer(alone, judge(alone)).kind]
    for workloads in ((matrix, build_workload("insert")), (with_limit,)):
        campaign = replace(alone, plan=replace(alone.plan, workloads=workloads))
        kinds.append(campaign_answer(campaign, judge(campaign)).kind)
    assert kinds == ["disks alone", "comparison", "comparison"]


@pytest.mark.parametrize("changed_limits", [False, True])
def test_nothing_is_shown_of_points_that_are_none(
    tmp_path: Path, changed_limits: bool
) -> None:
    folder = begun(tmp_path, 2 if changed_limits else 0)
    if changed_limits:
        (run,) = (folder / "runs").iterdir()
        unfinished_runs.keep_limit_change(run, {"disk": "node-1"})
    assert "No run of this workload left figures." in report_of(folder)
