"""Plan and records → cells, deltas and the whole Verdict. Pure: made again at any time."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from orchestrator.analysis import (
    comparability,
    comparisons,
    conclusions,
    overload,
    results,
)
from orchestrator.analysis.answers.campaign import campaign_answer
from orchestrator.analysis.conclusions import (
    Bottleneck,
    CellSummary,
    Decision,
    Delta,
    ExcludedRun,
)
from orchestrator.analysis.decisions import decision, factors
from orchestrator.analysis.doubts import campaign_checks, kinds
from orchestrator.analysis.statistics import looks, stats
from orchestrator.analysis.telemetry import bottlenecks, conservation, resources
from orchestrator.analysis.telemetry.phrases import NO_FASTER_DISK
from orchestrator.metrics import METRICS
from orchestrator.model import RESULTS_FORMAT, Measurement
from orchestrator.planning import factors as planned


def judge(campaign: results.Results) -> conclusions.Verdict:
    """The verdict on a campaign, from plan and records alone."""
    of_cells = bottlenecks.bottlenecks(campaign)
    changes = deltas(campaign)
    floor = noise_floor(campaign)
    doubts = kinds.find(campaign)
    decisions, cluster = decision.decide_all(campaign, of_cells, doubts)
    varied = factors.concluded(campaign, of_cells, decisions)
    verdict = conclusions.Verdict(
        schema_version=RESULTS_FORMAT,
        baseline=campaign.plan.baseline,
        cells=cells(campaign),
        deltas=changes,
        bottlenecks=tuple(
            held_against(bottleneck, decisions) for bottleneck in of_cells
        ),
        decisions=decisions,
        doubts=(*doubts, *campaign_checks.noise_floor(changes, floor)),
        missing=missing(campaign),
        sweeps=varied["load"],
        noise_floor=floor,
        excluded=excluded(campaign),
        cluster=cluster,
        varied=varied["factor"],
    )
    return replace(verdict, answer=campaign_answer(campaign, verdict))


def held_against(bottleneck: Bottleneck, decisions: Sequence[Decision]) -> Bottleneck:
    """Without the claim that a faster disk gives nothing, where one is proven to give more."""
    own = [of for of in decisions if of.workload == bottleneck.workload]
    offers = [
        offer for of in own for offer in of.offers if offer.tier == bottleneck.profile
    ]
    for change in (change for offer in offers for change in offer.worst):
        rate = METRICS[change.metric].direction == "higher"
        if rate and change.ci_high_pct is not None and change.ci_high_pct < 0:
            shown = f"A faster disk does too: against {change.against} {change.words}."
            return replace(
                bottleneck, text=bottleneck.text.replace(NO_FASTER_DISK, shown)
            )
    return bottleneck


def cells(campaign: results.Results) -> tuple[CellSummary, ...]:
    """Every metric of every cell over its finished runs, in the order of plan and METRICS."""
    cpus = results.machine_cpus(campaign)
    order = {name: index for index, name in enumerate(METRICS)}
    summaries: list[CellSummary] = []
    for cell in results.cells(campaign):
        runs = [results.sound(_figures(run, cpus)) for run in cell.finished]
        metrics = _cell(runs, cell.profile.name, cell.workload.name)
        summaries += sorted(
            metrics, key=lambda summary: order.get(summary.metric, len(order))
        )
    return tuple(summaries)


def _figures(run: results.RunData, cpus: float | None) -> tuple[Measurement, ...]:
    """Those of its record, and telemetry, computed anew from the samples."""
    sampled = resources.telemetry_of(run, cpus)
    return (*run.record.measurements, *sampled, *conservation.figures(run))


def _cell(
    runs: Sequence[results.Measured], profile: str, workload: str
) -> Iterator[CellSummary]:
    for key in dict.fromkeys(key for run in runs for key in run):
        measured = [run[key] for run in runs if key in run]
        values = tuple(m.value for m in measured)
        yield CellSummary(
            profile=profile,
            workload=workload,
            metric=key[0],
            scope=key[1],
            unit=measured[0].unit,
            direction=measured[0].direction,
            values=values,
            **vars(stats.summarise(values)),
        )


def missing(campaign: results.Results) -> tuple[str, ...]:
    """Planned cells without any finished run that counts, each with what became of its runs."""
    return tuple(
        f"{cell.title}: {cell.without_figures} "
        f"({'; '.join(f'run {run.number} {campaign.lost(run)}' for run in cell.planned)})"
        for cell in results.cells(campaign)
        if cell.missing
    )


def excluded(campaign: results.Results) -> tuple[ExcludedRun, ...]:
    """The finished runs that enter nothing, by the validity rule."""
    every = ((run, campaign.excluded.get(run.number, ())) for run in campaign.plan.runs)
    return tuple(
        ExcludedRun(
            r.number,
            r.profile,
            r.workload,
            tuple(f"{d.kind}: {d.text}" for d in doubts),
        )
        for r, doubts in every
        if doubts
    )


def deltas(campaign: results.Results) -> tuple[Delta, ...]:
    """Each contender against the baseline. Cells without figures have no delta, never a zero."""
    return _compared(campaign, [profile.name for profile in campaign.plan.tiers])


def noise_floor(campaign: results.Results) -> tuple[Delta, ...]:
    """The twin against the baseline, which is the same tier: a family of comparisons by itself, so
    that it changes no other verdict. Empty without a twin."""
    return _compared(campaign, [campaign.plan.twin] if campaign.plan.twin else [])


def _compared(campaign: results.Results, names: Sequence[str]) -> tuple[Delta, ...]:
    """Those of the profiles `names` that are not the baseline, against it, where no stage lacks."""
    plan = campaign.plan
    pairs = list[comparisons.Pair]()
    for workload in (load for load in plan.workloads if not planned.lacks(load)):
        baseline = results.finished(campaign, plan.baseline, workload.name)
        share = looks.share(plan, workload.name)
        for name in names:
            contender = results.finished(campaign, name, workload.name)
            if name == plan.baseline or not baseline or not contender:
                continue
            sides = (baseline, contender)
            obstacle = comparability.obstacle([*baseline, *contender])
            load = overload.between(plan.baseline, baseline, name, contender)
            for pair in comparisons.of_runs(
                name, workload.name, sides, obstacle, share
            ):
                decides = None
                if pair.metric.direction == "lower":
                    decides = load
                pairs.append(replace(pair, overload=decides))
    return comparisons.deltas(
        plan.baseline, pairs, plan.margin_pct, plan.p99_margin_pct
    )
