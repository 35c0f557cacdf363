"""One tier under two names: what it says, and that it changes nothing else."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest

from orchestrator.analysis import verdicts
from orchestrator.analysis.conclusions import Delta, Verdict
from orchestrator.analysis.doubts import noise_floor_checks
from orchestrator.analysis.results import Results
from orchestrator.report.blocks import Table
from orchestrator.report.report_index import ReportIndex
from orchestrator.report.sections import deltas, summary
from tests.campaigns import build_campaign, build_profile

PREMIUM, ULTRA = [1500, 1512, 1488, 1505], [1600, 1613, 1588, 1606]
TWIN = "premium-again"


def measured_twice(again: Sequence[float], ultra: Sequence[float] = ULTRA) -> Results:
    """Point select on premium, on premium once more, and on ultra, with these throughputs."""
    campaign = build_campaign(
        profiles=["premium", "premium-v2", "ultra"],
        workloads=["point-select"],
        repetitions=len(PREMIUM),
        values={
            ("premium", "point-select"): PREMIUM,
            ("premium-v2", "point-select"): again,
            ("ultra", "point-select"): ultra,
        },
        frames=False,
    )
    twin = replace(build_profile("premium"), name=TWIN)

    def renamed(name: str) -> str:
        return TWIN if name == "premium-v2" else name

    plan = replace(
        campaign.plan,
        twin=TWIN,
        profiles=tuple(
            twin if p.name == "premium-v2" else p for p in campaign.plan.profiles
        ),
        runs=tuple(
            replace(run, profile=renamed(run.profile)) for run in campaign.plan.runs
        ),
    )
    runs = tuple(
        replace(
            data,
            record=replace(
                data.record,
                run=replace(data.record.run, profile=renamed(data.record.run.profile)),
                profile=plan.profile(renamed(data.record.run.profile)),
            ),
        )
        for data in campaign.runs
    )
    return replace(campaign, plan=plan, runs=runs)


def without_twin(campaign: Results) -> Results:
    plan = campaign.plan
    kept = tuple(run for run in plan.runs if run.profile != TWIN)
    plan = replace(plan, twin=None, profiles=plan.tiers, runs=kept)
    runs = tuple(data for data in campaign.runs if data.record.run.profile != TWIN)
    return replace(campaign, plan=plan, runs=runs)


def kinds(verdict: Verdict) -> set[str]:
    return {doubt.kind for doubt in verdict.doubts}


def test_equal_tiers_that_measure_alike_give_a_floor_and_no_doubt() -> None:
    verdict = verdicts.judge(measured_twice([1506, 1490, 1511, 1499]))
    (floor,) = [d for d in verdict.noise_floor if d.metric == "throughput_per_s"]
    assert (floor.baseline, floor.contender, floor.verdict) == ("premium", TWIN, "same")
    assert floor.ci_low_pct is not None and floor.ci_low_pct < 0 < (
        floor.ci_high_pct or 0
    )
    assert not kinds(verdict) & {"equal tiers told apart", "below the noise floor"}


def test_equal_tiers_told_apart_are_a_doubt_about_the_campaign() -> None:
    verdict = verdicts.judge(measured_twice([1700, 1712, 1688, 1706]))
    found = [
        doubt for doubt in verdict.doubts if doubt.kind == "equal tiers told apart"
    ]
    assert found and all(doubt.run is None for doubt in found)
    assert (
        "premium-again against premium, point-select, throughput_per_s +13.3 %"
        in found[0].text
    )
    within = next(
        doubt for doubt in verdict.doubts if doubt.kind == "below the noise floor"
    )
    assert "ultra against premium" in within.text
    assert (
        verdict.deltas[0].verdict == "better"
    )  # as without the twin: it is doubted, not changed


def test_a_difference_above_the_floor_is_not_doubted() -> None:
    verdict = verdicts.judge(measured_twice([1530, 1512, 1520, 1510]))
    assert verdict.deltas[0].verdict == "better"
    assert "below the noise floor" not in kinds(verdict)


def test_the_noise_of_one_figure_says_nothing_of_another() -> None:
    verdict = verdicts.judge(measured_twice([1700, 1712, 1688, 1706]))
    (floor,) = [d for d in verdict.noise_floor if d.metric == "throughput_per_s"]
    rate = next(d for d in verdict.deltas if d.metric == "throughput_per_s")

    def is_below(delta: Delta) -> bool:
        doubts = noise_floor_checks.noise_floor([delta], [floor])
        return "below the noise floor" in {doubt.kind for doubt in doubts}

    assert is_below(rate)
    assert not is_below(replace(rate, metric="latency_avg_s"))
    assert not is_below(replace(rate, workload="insert"))
    assert not is_below(replace(rate, scope="new_order"))


@pytest.mark.parametrize(
    ("change_pct", "is_below"),
    [
        (20.0, True),
        (20.1, False),
        (-16.6, True),  # 1 ÷ 1.2 is 0.833
        (-16.7, False),
        (-100.0, False),
    ],
)
def test_a_fall_is_as_large_as_the_rise_that_it_takes_to_make_up_for_it(
    change_pct: float, is_below: bool
) -> None:
    verdict = verdicts.judge(measured_twice([1700, 1712, 1688, 1706]))
    rate = next(d for d in verdict.deltas if d.metric == "throughput_per_s")
    floor = replace(rate, change_pct=20.0)
    delta = replace(rate, change_pct=change_pct)
    doubts = noise_floor_checks.noise_floor([delta], [floor])
    assert ("below the noise floor" in {doubt.kind for doubt in doubts}) is is_below


def test_the_twin_changes_no_verdict_and_no_decision() -> None:
    for again in (
        [1506, 1490, 1511, 1499],
        [2900, 2950, 3100, 3000],
        [150, 151, 149, 150],
    ):
        campaign = measured_twice(again)
        one, other = verdicts.judge(campaign), verdicts.judge(without_twin(campaign))
        assert one.deltas == other.deltas and one.deltas
        assert one.decisions == other.decisions
        assert TWIN not in {
            offer.tier for made in one.decisions for offer in made.offers
        }


def test_the_floor_stands_beside_the_changes() -> None:
    campaign = measured_twice([1506, 1490, 1511, 1499])
    index = ReportIndex(campaign, verdicts.judge(campaign))
    assert index.contenders == ("ultra",)
    assert summary.title(index) == "Which disk tier: premium or ultra?"
    table = summary.verdict_table(index)
    assert [row[0].text for row in table.rows[1:]] == ["premium", "ultra", TWIN]
    assert table.rows[-1][0].detail == "noise floor, n = 4"
    assert table.rows[-1][1].word == "same"
    assert any(
        "the difference between two equal tiers" in remark for remark in table.remarks
    )
    changes = deltas.section(index).parts[1].blocks[0]
    assert isinstance(changes, Table) and TWIN in {row[0].text for row in changes.rows}
