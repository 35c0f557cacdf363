"""What a factor does beside the tier: steps, laws, causes, and how far a tier is enough. Pure.

Its laws are in `laws`, how far a tier is enough in `horizons`. A sweep of loads is one too, with a
question of its own (`load_sweeps`)."""

from collections.abc import Sequence
from dataclasses import replace

from orchestrator import facts
from orchestrator.analysis import (
    comparability,
    comparisons,
    conclusions,
    figure_pairs,
    results,
)
from orchestrator.analysis.conclusions import (
    Bottleneck,
    Decision,
    Delta,
    VariedWorkload,
)
from orchestrator.analysis.decisions import laws
from orchestrator.analysis.decisions.horizons import horizons, is_behind
from orchestrator.analysis.decisions.load_sweeps import Loads
from orchestrator.analysis.decisions.values import Causes, Values, causes_of
from orchestrator.design.slo import format_objective


def concluded(
    campaign: results.Results,
    of_cells: Sequence[Bottleneck],
    decisions: Sequence[Decision],
) -> dict[facts.Question, tuple[VariedWorkload, ...]]:
    """What each factor of the plan does to each workload, and which loads of a sweep tiers take."""
    causes = causes_of(of_cells)
    varied = Values.of_plan(campaign, "factor").values()
    sweeps = Loads.of_plan(campaign, "load").values()
    return {
        "factor": tuple(_concluded(values, causes, decisions) for values in varied),
        "load": tuple(_concluded(loads, causes, decisions) for loads in sweeps),
    }


def _concluded(
    values: Values, causes: Causes, decisions: Sequence[Decision]
) -> VariedWorkload:
    # A load alone can be too much for a latency. Values of other factors are decided one by one.
    if isinstance(values, Loads):
        latencies = values.latencies
    else:
        latencies = ()
    tiers = values.campaign.plan.tiers
    return VariedWorkload(
        workload=values.name,
        factor=values.factor,
        values=values.words,
        numbers=values.numbers,
        workloads=values.workloads,
        tiers=tuple(_on_tier(values, tier.name, causes) for tier in tiers),
        horizons=tuple(horizons(values, causes, decisions)),
        slo=tuple(format_objective(clause) for clause in latencies),
    )


def _on_tier(values: Values, tier: str, causes: Causes) -> conclusions.TierValues:
    at_values = conclusions.TierValues(
        tier, _steps(values, tier), _causes_on(values, tier, causes)
    )
    if isinstance(values, Loads):
        return values.with_capacity(at_values)
    # Loads of a sweep saturate by design, so no power law is looked for in them.
    return replace(
        at_values,
        per_node=_per_node(values, tier),
        laws=tuple(laws.of_tier(values, tier)),
    )


def _causes_on(
    values: Values, tier: str, causes: Causes
) -> dict[str, facts.BottleneckCause]:
    """Workload → what limited the tier there."""
    on_tier: dict[str, facts.BottleneckCause] = {}
    for load in values.workloads:
        if (tier, load) in causes:
            on_tier[load] = causes[tier, load]
    return on_tier


def _per_node(values: Values, tier: str) -> dict[str, float]:
    """Workload → mean throughput of a node."""
    nodes = values.nodes(tier)
    metric, _ = values.keys.throughput
    per_node: dict[str, float] = {}
    for place, mean in values.means(tier, metric).items():
        if mean:
            per_node[values.workloads[place]] = mean / nodes[place]
    return per_node


def _steps(values: Values, tier: str) -> tuple[Delta, ...]:
    """Each value against the first: but for the factor, their runs must be alike."""
    first, *others = values.runs(tier)
    pairs: list[figure_pairs.Pair] = []
    for load, runs in zip(values.workloads[1:], others, strict=True):
        # There is nothing to compare if a side has no finished run.
        if first and runs:
            obstacle = _obstacle([*first, *runs], values.factor)
            pairs += figure_pairs.of_runs(
                load, load, (first, runs), obstacle, question=values.factor
            )
    plan = values.campaign.plan
    return comparisons.deltas(
        values.workloads[0], pairs, plan.judging.margin_pct, plan.judging.p99_margin_pct
    )


def _obstacle(runs: Sequence[results.RunData], factor: str) -> str:
    """Why the runs at two values may not be compared; or an empty text."""
    unlike = comparability.obstacle(runs, factor)
    if unlike:
        return unlike
    # While a queue grows, latency depends on how long was measured.
    if is_behind(runs):
        return "a rate that was asked for is not served"
    return ""
