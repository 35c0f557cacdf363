"""Plan and records → cells, deltas and the whole Verdict. Pure: made again at any time."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from orchestrator.analysis import (
    comparability,
    comparisons,
    conclusions,
    figure_pairs,
    metric_values,
    overload,
    results,
)
from orchestrator.analysis.answers.campaign import campaign_answer
from orchestrator.analysis.conclusions import (
    Bottleneck,
    CellSummary,
    Change,
    Decision,
    Delta,
    ExcludedRun,
)
from orchestrator.analysis.decisions import decision, factors
from orchestrator.analysis.doubts import kinds, limit_checks, noise_floor_checks
from orchestrator.analysis.statistics import looks, stats
from orchestrator.analysis.telemetry.causes import bottlenecks
from orchestrator.analysis.telemetry.use import (
    conservation,
    telemetry_metrics,
)
from orchestrator.design import varied_workloads
from orchestrator.metrics import METRICS
from orchestrator.model import RESULTS_FORMAT, Measurement


def judge(campaign: results.Results) -> conclusions.Verdict:
    """The verdict on a campaign, from plan and records alone."""
    limits = bottlenecks.bottlenecks(campaign)
    changes = deltas(campaign)
    floor = noise_floor(campaign)
    doubts = (*kinds.find(campaign), *limit_checks.this_machine(campaign, limits))
    # Decisions rest on what limited each tier and on doubts, but on no delta. Those have another
    # rule, for tiers beside one baseline.
    decisions, cluster = decision.decide_all(campaign, limits, doubts)
    varied = factors.concluded(campaign, limits, decisions)
    verdict = conclusions.Verdict(
        schema_version=RESULTS_FORMAT,
        baseline=campaign.plan.baseline,
        cells=cells(campaign),
        deltas=changes,
        bottlenecks=tuple(held_against(limit, decisions) for limit in limits),
        decisions=decisions,
        doubts=(*doubts, *noise_floor_checks.noise_floor(changes, floor)),
        missing=missing(campaign),
        sweeps=varied["load"],
        noise_floor=floor,
        excluded=excluded(campaign),
        cluster=cluster,
        varied=varied["factor"],
    )
    return replace(verdict, answer=campaign_answer(campaign, verdict))


def held_against(bottleneck: Bottleneck, decisions: Sequence[Decision]) -> Bottleneck:
    """The bottleneck, without the claim that a faster disk gives nothing where it is proven to give
    more."""
    if not bottleneck.faster_disk:
        return bottleneck
    # A cause is a correlation in one cell; a comparison with another tier is proof.
    for change in _worst_changes(bottleneck, decisions):
        is_rate = METRICS[change.metric].direction == "higher"
        if is_rate and change.ci_high_pct is not None and change.ci_high_pct < 0:
            raises = f"A faster disk would raise throughput: against {change.against}"
            return replace(bottleneck, faster_disk=f"{raises} {change.words}.")
    return bottleneck


def _worst_changes(
    bottleneck: Bottleneck, decisions: Sequence[Decision]
) -> Iterator[Change]:
    """The worst changes of the bottleneck's tier against the others under its workload."""
    for of_workload in decisions:
        if of_workload.workload != bottleneck.workload:
            continue
        for offer in of_workload.offers:
            if offer.tier == bottleneck.profile:
                yield from offer.worst


def cells(campaign: results.Results) -> tuple[CellSummary, ...]:
    """Every metric of every cell over its finished runs, in the order of plan and METRICS."""
    cpus = results.machine_cpus(campaign)
    summaries: list[CellSummary] = []
    for cell in results.cells(campaign):
        runs = [metric_values.sound(_figures(run, cpus)) for run in cell.finished]
        metrics = _cell(runs, cell.profile.name, cell.workload.name)
        summaries += sorted(metrics, key=_place)
    return tuple(summaries)


_PLACES = {name: place for place, name in enumerate(METRICS)}


def _place(summary: CellSummary) -> int:
    """The place of the summary's metric among METRICS. Other metrics stand behind these."""
    return _PLACES.get(summary.metric, len(_PLACES))


def _figures(run: results.RunData, cpus: float | None) -> tuple[Measurement, ...]:
    """The figures of the run's record, and those of telemetry, computed anew from the samples."""
    sampled = telemetry_metrics.telemetry_of(run, cpus)
    return (*run.record.measurements, *sampled, *conservation.figures(run))


def _cell(
    runs: Sequence[metric_values.Measured], profile: str, workload: str
) -> Iterator[CellSummary]:
    by_key: dict[metric_values.Key, list[Measurement]] = {}
    for run in runs:
        for key, measurement in run.items():
            by_key.setdefault(key, []).append(measurement)
    for (metric, scope), measured in by_key.items():
        values = tuple(measurement.value for measurement in measured)
        summary = stats.summarise(values)
        yield CellSummary(
            profile=profile,
            workload=workload,
            metric=metric,
            scope=scope,
            unit=measured[0].unit,
            direction=measured[0].direction,
            n=summary.n,
            mean=summary.mean,
            median=summary.median,
            ci_low=summary.ci_low,
            ci_high=summary.ci_high,
            values=values,
        )


def missing(campaign: results.Results) -> tuple[str, ...]:
    """Planned cells without any finished run that counts, each with what became of its runs."""
    texts: list[str] = []
    for cell in results.cells(campaign):
        if not cell.missing:
            continue
        fates: list[str] = []
        for run in cell.planned:
            loss = campaign.loss(run)
            if loss is not None:
                fates.append(f"run {run.number} {loss.predicate()}")
        texts.append(f"{cell.title}: {cell.without_figures} ({'; '.join(fates)})")
    return tuple(texts)


def excluded(campaign: results.Results) -> tuple[ExcludedRun, ...]:
    """The finished runs that enter nothing, by the validity rule."""
    runs: list[ExcludedRun] = []
    for run in campaign.plan.runs:
        doubts = campaign.excluded.get(run.number, ())
        if doubts:
            reasons = tuple(f"{doubt.kind}: {doubt.text}" for doubt in doubts)
            runs.append(ExcludedRun(run.number, run.profile, run.workload, reasons))
    return tuple(runs)


def deltas(campaign: results.Results) -> tuple[Delta, ...]:
    """Each contender against the baseline. Cells without figures have no delta, never a zero."""
    return _compared(campaign, [profile.name for profile in campaign.plan.tiers])


def noise_floor(campaign: results.Results) -> tuple[Delta, ...]:
    """The twin against the baseline, which is the same tier. Empty without a twin."""
    twin = campaign.plan.twin
    # The twin is a family of comparisons by itself, so that it changes no other verdict.
    if twin:
        return _compared(campaign, [twin])
    return ()


def _compared(campaign: results.Results, names: Sequence[str]) -> tuple[Delta, ...]:
    """The profiles `names` compared with the baseline, except stages that were taken away."""
    plan = campaign.plan
    pairs: list[figure_pairs.Pair] = []
    for workload in plan.workloads:
        # Runs without a stage (`--without`) tell what it costs, and nothing of tiers.
        if varied_workloads.stage_left_out(workload):
            continue
        for name in names:
            if name != plan.baseline:
                pairs += _pairs(campaign, workload.name, name)
    return comparisons.deltas(
        plan.baseline, pairs, plan.judging.margin_pct, plan.judging.p99_margin_pct
    )


def _pairs(
    campaign: results.Results, workload: str, contender: str
) -> Iterator[figure_pairs.Pair]:
    """All comparisons with the baseline under one workload; none where a side has no figures."""
    baseline = campaign.plan.baseline
    left = results.finished(campaign, baseline, workload)
    right = results.finished(campaign, contender, workload)
    share = looks.share(campaign.plan, workload)
    obstacle = comparability.obstacle([*left, *right])
    load = overload.between(baseline, left, contender, right)
    sides = (left, right)
    for pair in figure_pairs.of_runs(contender, workload, sides, obstacle, share):
        # Latency depends on how long was measured while a queue grows; throughput does not.
        if pair.metric.less_is_better:
            yield replace(pair, overload=load)
        else:
            yield pair
