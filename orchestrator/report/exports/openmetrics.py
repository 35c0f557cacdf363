"""OpenMetrics 1.0 text: figures of runs, changes with their intervals, verdicts, decisions.

Specification: https://github.com/prometheus/OpenMetrics (names end in their base unit, shares are
ratios). Every sample carries the time at which its run, or the last of all, ended. Only runs that
enter results have figures; outcomes are there of all."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, get_args

from prometheus_client.core import Metric
from prometheus_client.openmetrics.exposition import generate_latest

from orchestrator import metrics, model, units
from orchestrator.analysis import metric_values, results
from orchestrator.analysis.conclusions import Delta, Verdict, VerdictWord
from orchestrator.report.exports.run_figures import (
    MISSING,
    RunFigures,
    kinds_of_doubts,
    runs,
)


class _StandardUnit(NamedTuple):
    """How our names end → the unit of the standard."""

    ending: str
    name: str


# The longer of two endings first. IOPS and NOPM are rates by name; counts have no unit.
_UNITS = (
    _StandardUnit("_bytes_per_s", "bytes_per_second"),
    _StandardUnit("_per_s", "per_second"),
    _StandardUnit("_bytes", "bytes"),
    _StandardUnit("_s", "seconds"),
    _StandardUnit("_pct", "ratio"),
)
_NO_UNIT = _StandardUnit("", "")
# Our name → what it says, in the order in which they are written.
_TITLES = {metric.name: metric.title for metric in metrics.METRICS.values()}
_FAMILIES: Mapping[str, str] = {
    **_TITLES,
    "run_outcome": "What became of a run",
    "change_pct": "Change against the baseline, 0.1 is 10 %",
    "change_low_pct": "Lower end of the interval of the change",
    "change_high_pct": "Upper end of the interval of the change",
    "verdict": "What is concluded from the change",
    "decision": "The tier to buy; empty if none could be named",
    "doubt": "A reason to distrust every figure of a campaign",
    "run_doubt": "A reason to distrust the figures of a run",
}
_OUTCOMES: Sequence[str] = (*get_args(model.Outcome), MISSING)
_STATES: Mapping[str, Sequence[str]] = {
    "run_outcome": _OUTCOMES,
    "verdict": get_args(VerdictWord),
}
_INFOS = ("decision", "doubt", "run_doubt")  # whose labels say all
_Labels = Mapping[str, str]


class _Sample(NamedTuple):
    """`name`: ours; `value`: a figure in our unit, or a state; `time_s`: in Unix seconds."""

    name: str
    labels: _Labels
    value: float | str
    time_s: float | None


@dataclass(frozen=True)
class _Registry:
    """What the library's writer asks for."""

    families: Sequence[Metric]

    def collect(self) -> Sequence[Metric]:
        return self.families


def text(campaign: results.Results, verdict: Verdict) -> str:
    """The whole text, ending in its end mark; figures are in the order of METRICS."""
    last_s = None
    span_s = results.span_s(campaign.runs)
    if span_s is not None:
        last_s = span_s.end_s
    samples = list(_run_samples(campaign, last_s))
    samples += _verdict_samples(verdict, last_s)
    samples += _doubts_of_runs(campaign, verdict, last_s)
    # The writer asks for `collect` alone, so no registry of live metrics is needed.
    registry = _Registry(_families(samples, campaign.name))
    written: bytes = generate_latest(registry)  # type: ignore[no-untyped-call]
    return written.decode("utf-8")


def _families(samples: Sequence[_Sample], campaign: str) -> list[Metric]:
    by_name = units.gathered((sample.name, sample) for sample in samples)
    # All samples of a family stand together: the standard forbids them to be mixed.
    families: list[Metric] = []
    for name in _FAMILIES:
        if name in by_name:
            families.append(_family(name, by_name[name], campaign))
    return families


# ------------------------------------------------------------------ as the standard writes them


def _family(name: str, samples: Sequence[_Sample], campaign: str) -> Metric:
    unit = _unit(name)
    # The standard wants the name to end in the unit as it is spelt there.
    full_name = f"tierbench_{name.removesuffix(unit.ending)}"
    if unit.name:
        full_name += f"_{unit.name}"
    family = Metric(full_name, _FAMILIES[name], _kind(name), unit.name)
    for sample in samples:
        labels = {"campaign": campaign, **sample.labels}
        if name in _STATES:
            _add_states(family, name, labels, sample)
        else:
            _add_figure(family, name, labels, sample)
    return family


def _unit(name: str) -> _StandardUnit:
    for unit in _UNITS:
        if name.endswith(unit.ending):
            return unit
    return _NO_UNIT


def _kind(name: str) -> str:
    if name in _STATES:
        return "stateset"
    if name in _INFOS:
        return "info"
    return "gauge"


def _add_states(family: Metric, name: str, labels: _Labels, sample: _Sample) -> None:
    """A sample for each state that there can be: 1 for the one that it is."""
    # The standard's StateSet: the label of a state has the name of its metric.
    for state in _STATES[name]:
        with_state = {**labels, family.name: state}
        is_it = float(state == sample.value)
        family.add_sample(family.name, with_state, is_it, sample.time_s)


def _add_figure(family: Metric, name: str, labels: _Labels, sample: _Sample) -> None:
    value = float(sample.value)
    if family.unit == "ratio":
        value /= 100  # ours are in percent
    full_name = family.name
    # The standard asks for this ending, and for the value 1.
    if name in _INFOS:
        full_name += "_info"
    family.add_sample(full_name, dict(labels), value, sample.time_s)


# ------------------------------------------------------------------ what there is


def _run_samples(campaign: results.Results, last_s: float | None) -> Iterator[_Sample]:
    for figures in runs(campaign):
        ended_s = None
        if figures.span_s is not None:
            ended_s = figures.span_s.end_s
        labels = _labels_of_run(figures)
        # A run that did not begin has no time of its own.
        yield _Sample("run_outcome", labels, figures.outcome, ended_s or last_s)
        # A figure that does not count would stand among the others without a sign of it.
        if figures.excluded:
            continue
        for figure in metric_values.sound(figures.figures).values():
            with_scope = {**labels, "scope": figure.scope}
            yield _Sample(figure.metric, with_scope, figure.value, ended_s)


def _doubts_of_runs(
    campaign: results.Results, verdict: Verdict, last_s: float | None
) -> Iterator[_Sample]:
    for figures in runs(campaign):
        for kind in kinds_of_doubts(verdict, figures.run):
            labels = {**_labels_of_run(figures), "kind": kind}
            yield _Sample("run_doubt", labels, 1.0, last_s)


def _labels_of_run(figures: RunFigures) -> _Labels:
    run = figures.run
    return {
        "profile": run.profile,
        "workload": run.workload,
        "run": str(run.number),
        "repetition": str(run.repetition),
    }


def _verdict_samples(verdict: Verdict, last_s: float | None) -> Iterator[_Sample]:
    """Changes with both ends of their interval where they have one, and words."""
    for delta in verdict.deltas:
        labels = _labels_of_delta(delta)
        for name, value in _changes(delta).items():
            # There is no interval without repetitions, and no end of it.
            if value is not None:
                yield _Sample(name, labels, value, last_s)
        yield _Sample("verdict", labels, delta.verdict, last_s)
    yield from _whole_samples(verdict, last_s)


def _whole_samples(verdict: Verdict, last_s: float | None) -> Iterator[_Sample]:
    """Tiers to buy, and doubts."""
    for decision in verdict.decisions:
        # An empty tier is kept: that no tier could be named is an answer as well.
        labels = {"workload": decision.workload, "tier": decision.tier or ""}
        yield _Sample("decision", labels, 1.0, last_s)
    # A doubt about one run is no reason to distrust every figure.
    kinds: dict[str, None] = {}
    for doubt in verdict.doubts:
        if doubt.run is None:
            kinds[doubt.kind] = None
    for kind in kinds:
        yield _Sample("doubt", {"kind": kind}, 1.0, last_s)


def _labels_of_delta(delta: Delta) -> _Labels:
    return {
        "baseline": delta.baseline,
        "workload": delta.workload,
        "metric": delta.metric,
        "scope": delta.scope,
        "profile": delta.contender,
    }


def _changes(delta: Delta) -> Mapping[str, float | None]:
    """Our name → percent. A tier that served too little is not compared."""
    change_pct = None
    if not delta.overloaded:
        change_pct = delta.change_pct
    return {
        "change_pct": change_pct,
        "change_low_pct": delta.ci_low_pct,
        "change_high_pct": delta.ci_high_pct,
    }
