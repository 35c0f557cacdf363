"""What is concluded of what was varied, in sentences. Pure."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

from orchestrator import units
from orchestrator.analysis.answers import figure_words, sweeps
from orchestrator.analysis.answers.asked import Asked
from orchestrator.analysis.conclusions import Delta, Law, TierValues, VariedWorkload
from orchestrator.analysis.telemetry.causes.cause import cause_in_words
from orchestrator.design import factors, varied_workloads

# Exponents nearer to zero change a figure by 12 % where the value is ten times.
_SLIGHT = 0.05
# An interval of exponents wider than this holds too much to be called by one whole number.
_WIDEST_NAMED = 4 * _SLIGHT


def factor_in_words(varied: VariedWorkload) -> str:
    """`replication factor`."""
    return varied.factor.replace("_", " ")


def sentences(varied: VariedWorkload, asked: Asked) -> Iterator[str]:
    """What is said of a sweep, of a factor, or of stages that were taken away.

    For each tier of a sweep: the load that it takes. Of a factor: each figure that follows it, or
    each change if no figure can be said to; then each change of what limits a tier. For each stage:
    whether it was the limit.
    """
    for tier in varied.tiers:
        if varied.factor == factors.WITHOUT:
            yield from _about_stages(varied, tier, asked)
        else:
            yield from _about_values(varied, tier, asked)


# ------------------------------------------------------------------ values of a factor


def _about_values(
    varied: VariedWorkload, tier: TierValues, asked: Asked
) -> Iterator[str]:
    is_sweep = varied in asked.verdict.sweeps
    if is_sweep:
        yield sweeps.load_taken(varied, tier)
    for law in tier.laws:
        figure = figure_words.METRICS[law.metric]
        if law.per_node:
            figure = f"{figure} per node"
        law_text = _law_in_words(varied, law)
        yield f"{tier.tier}: {figure} {law_text}"
    # Single changes are told only where no law sums them up. A sweep tells its load instead.
    if not tier.laws and not is_sweep:
        yield from _about_changes(varied, tier)
    yield from _about_causes(varied, tier)


def _about_changes(varied: VariedWorkload, tier: TierValues) -> Iterator[str]:
    for step in tier.steps:
        value = varied.values[varied.workloads.index(step.contender)]
        metric = figure_words.METRICS[step.metric]
        change = units.format_change(step.change_pct)
        yield f"{tier.tier}: {metric} at {value} {change}, {step.verdict}"


def _about_causes(varied: VariedWorkload, tier: TierValues) -> Iterator[str]:
    """Sentences on causes that differ from those of the value before, if both are known."""
    for place, (value, next_value) in enumerate(pairwise(varied.values)):
        cause = cause_at(tier, varied.workloads[place])
        next_cause = cause_at(tier, varied.workloads[place + 1])
        if cause and next_cause and cause != next_cause:
            change = f"from {cause} at {value} to {next_cause} at {next_value}"
            yield f"{tier.tier}: what limits it changes {change}"


def cause_at(tier: TierValues, workload: str) -> str:
    """What limited a tier at one value; empty if that is not known."""
    cause = tier.causes.get(workload)
    if cause is None:
        return ""
    return cause_in_words(cause)


def _law_in_words(varied: VariedWorkload, law: Law) -> str:
    factor = factor_in_words(varied)
    # One power over a knee would be wrong on both sides of it.
    if law.knee is not None:
        before = varied.values[law.knee]
        behind = varied.values[law.knee + 1]
        return (
            f"does not follow a single power of {factor}: it bends between {before} and "
            f"{behind}"
        )
    if law.bends:
        return (
            f"does not follow a single power of {factor}: it bends gently, without a knee; "
            f"on the whole it goes as {_power_in_words(law, factor)}"
        )
    follows = _how_it_follows(law, factor)
    text = f"{follows} as {_power_in_words(law, factor)}{_name_of_law(law)}"
    # Any two values lie on a line.
    if law.values == 2:
        return f"{text}; two values do not prove a law"
    return text


def _power_in_words(law: Law, factor: str) -> str:
    interval = f"{law.low:.2f} to {law.high:.2f}"
    return f"{factor}^{law.exponent:.2f} ({interval})"


def _how_it_follows(law: Law, factor: str) -> str:
    if law.low >= -_SLIGHT and law.high <= _SLIGHT:
        return f"hardly depends on {factor}:"
    if law.low > 0:
        return "grows"
    if law.high < 0:
        return "falls"
    return "is not proven to change:"


def _name_of_law(law: Law) -> str:
    """If its interval is narrow and holds the exponent of a law that has a name."""
    if law.high - law.low >= _WIDEST_NAMED:
        return ""
    if law.low <= 1 <= law.high:
        return ": linear"
    if law.low <= -1 <= law.high:
        return ": inverse"
    return ""


# ------------------------------------------------------------------ stages taken away

_STAGES = {"disk": "disk", "network": "network", "commit": "sync of commits"}


def _about_stages(
    varied: VariedWorkload, tier: TierValues, asked: Asked
) -> Iterator[str]:
    """Whether each stage that was taken away was the limit, or took time."""
    full, *without_a_stage = varied.workloads
    for workload in without_a_stage:
        step = _telling_step(tier, workload, full, asked)
        if step is not None:
            stage = _STAGES[
                varied_workloads.stage_left_out(asked.campaign.plan.workload(workload))
            ]
            yield _without_stage(tier, step, stage, full, asked)


def _without_stage(
    tier: TierValues, step: Delta, stage: str, full: str, asked: Asked
) -> str:
    change = _change_in_words(tier, step, full, asked)
    is_rate = step.metric == asked.figures.throughput_metric(full)
    judgement = _judgement(step, stage, is_rate) + _cause_with_all(tier, full)
    without = f"{tier.tier}: with the {stage} out of the path"
    return f"{without} {change}: {judgement}"


def _telling_step(
    tier: TierValues, workload: str, full: str, asked: Asked
) -> Delta | None:
    """The change of the rate, or that of the latency if it alone is better; None without both."""
    rate = _step(tier, workload, asked.figures.throughput_metric(full), "all")
    latency = _step(tier, workload, "latency_avg_s", asked.figures.latency_scope(full))
    steps = [step for step in (rate, latency) if step is not None]
    for step in steps:
        if step.verdict == "better":
            return step
    if steps:
        return steps[0]
    return None


def _step(tier: TierValues, workload: str, metric: str, scope: str) -> Delta | None:
    wanted = (workload, metric, scope)
    for step in tier.steps:
        if (step.contender, step.metric, step.scope) == wanted:
            return step
    return None


def _change_in_words(tier: TierValues, step: Delta, full: str, asked: Asked) -> str:
    """`8,000 instead of 4,000 transactions/s (+100 %, +90 to +110 %)`."""
    without = _figure(tier, step.contender, step.metric, asked)
    with_all = _figure(tier, full, step.metric, asked)
    change = units.format_change(step.change_pct)
    interval = figure_words.interval(step)
    if interval:
        change = f"{change}, {interval}"
    metric = figure_words.METRICS[step.metric]
    return f"{without} instead of {with_all} {metric} ({change})"


def _figure(tier: TierValues, workload: str, metric: str, asked: Asked) -> str:
    cell = asked.figures.cell(tier.tier, workload, metric)
    if cell is None:
        return "not measured"
    return figure_words.value(cell)


def _judgement(step: Delta, stage: str, is_rate: bool) -> str:
    if step.verdict == "inconclusive":
        return f"no difference is proven, so whether the {stage} was the limit is open"
    # Same or worse without the stage: taking it away has freed nothing.
    if step.verdict != "better":
        return f"the {stage} was not the limit"
    # Only a proven change of the rate says that. The average latency alone may be better where a
    # rate is served anyway.
    if is_rate:
        return f"the {stage} was the limit"
    return f"the {stage} took the time that was saved"


def _cause_with_all(tier: TierValues, full: str) -> str:
    """What was named where no stage was taken away."""
    cause = cause_at(tier, full)
    # A cause that was not found speaks neither for the stage nor against it.
    if not cause or cause == "unattributed":
        return ""
    return f"; with all stages {cause} was named"


# ------------------------------------------------------------------ all that was varied


@dataclass(frozen=True)
class FactorFinding:
    """What was found of one workload that was varied. `subject`: the workload, and the factor;
    `claim`: without a full stop."""

    subject: str
    claim: str


def findings(asked: Asked) -> Iterator[FactorFinding]:
    """How far each tier is enough, or else what was found of each: the loads that it takes, or the
    laws where one tier alone was measured. What one tier took of a sweep is an answer already."""
    workloads = list(asked.verdict.varied)
    if asked.contenders:
        workloads = [*asked.verdict.sweeps, *asked.verdict.varied]
    for varied in workloads:
        lines = varied.horizons or tuple(sentences(varied, asked))
        if lines:
            subject = f"{varied.workload}, {factor_in_words(varied)}"
            yield FactorFinding(subject, asked.headline("; ".join(lines)))
