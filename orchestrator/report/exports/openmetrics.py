"""OpenMetrics 1.0 text: figures of runs, changes with their intervals, verdicts, decisions.

Specification: https://github.com/prometheus/OpenMetrics (names end in their base unit, shares are
ratios). Every sample carries the time at which its run, or the last of all, ended. Only runs that
enter results have figures; outcomes are there of all."""

from collections.abc import Iterator, Sequence
from types import SimpleNamespace
from typing import Any, get_args

from prometheus_client.core import Metric
from prometheus_client.openmetrics.exposition import generate_latest

from orchestrator import metrics, model, units
from orchestrator.analysis import results
from orchestrator.analysis.conclusions import Verdict, VerdictWord
from orchestrator.report.exports.run_figures import MISSING, RunFigures, runs
from orchestrator.report.prose import words

_UNITS = words("openmetrics.units")
_OWN = words("openmetrics.families")
# Our name → what it says, in the order in which they are written.
_FAMILIES = {
    **{metric.name: metric.title for metric in metrics.METRICS.values()},
    **_OWN,
}
_STATES = {
    "run_outcome": (*get_args(model.Outcome), MISSING),
    "verdict": get_args(VerdictWord),
}
_INFOS = ("decision", "doubt")  # whose labels say all
_OF_DELTA = ("baseline", "workload", "metric", "scope")
# Our name, labels, a value or a state, and Unix seconds.
_Sample = tuple[str, dict[str, str], Any, float | None]


def text(campaign: results.Results, verdict: Verdict) -> str:
    """The whole text, ending in its end mark; figures are in the order of METRICS."""
    span_s = results.span_s(campaign.runs)
    last_s = None
    if span_s:
        last_s = span_s[1]
    samples = (*_of_runs(runs(campaign), last_s), *_of_verdict(verdict, last_s))
    known = units.gathered((sample[0], sample) for sample in samples)
    every = [
        _family(name, known[name], campaign.name) for name in _FAMILIES if name in known
    ]
    registry = SimpleNamespace(
        collect=lambda: every
    )  # what the library's writer asks for
    written: bytes = generate_latest(registry)  # type: ignore[no-untyped-call]
    return written.decode("utf-8")


def _family(name: str, samples: Sequence[_Sample], campaign: str) -> Metric:
    if name in _STATES:
        kind = "stateset"
    else:
        kind = "gauge"
        if name in _INFOS:
            kind = "info"
    ending, unit = next((of for of in _UNITS.items() if name.endswith(of[0])), ("", ""))
    # of what is in %
    divisor = 1
    if unit == "ratio":
        divisor = 100
    full = "_".join(filter(None, ("tierbench", name.removesuffix(ending), unit)))
    family = Metric(full, _FAMILIES[name], kind, unit)
    for _, labels, value, time_s in samples:
        own = {"campaign": campaign, **labels}
        for state in _STATES.get(name, ()):
            family.add_sample(full, {**own, full: state}, float(state == value), time_s)
        if kind != "stateset":
            family.add_sample(
                full + "_info" * (kind == "info"), own, value / divisor, time_s
            )
    return family


def _of_runs(every: Iterator[RunFigures], last_s: float | None) -> Iterator[_Sample]:
    for of_run in every:
        run = of_run.run
        ended_s = of_run.span_s and of_run.span_s[1]
        labels = {
            "profile": run.profile,
            "workload": run.workload,
            "run": str(run.number),
        }
        labels["repetition"] = str(run.repetition)
        yield "run_outcome", labels, of_run.outcome, ended_s or last_s
        for m in () if of_run.excluded else results.sound(of_run.figures).values():
            yield m.metric, {**labels, "scope": m.scope}, m.value, ended_s


def _of_verdict(verdict: Verdict, last_s: float | None) -> Iterator[_Sample]:
    """Changes with both ends of their interval where they have one, words, tiers and doubts."""
    for delta in verdict.deltas:
        labels = {name: getattr(delta, name) for name in _OF_DELTA}
        labels["profile"] = delta.contender
        change_pct = None
        if not delta.overloaded:
            change_pct = delta.change_pct
        values = {"": change_pct, "_low": delta.ci_low_pct, "_high": delta.ci_high_pct}
        for which, value in values.items():
            if value is not None:
                yield f"change{which}_pct", labels, value, last_s
        yield "verdict", labels, delta.verdict, last_s
    for decision in verdict.decisions:
        named = {"workload": decision.workload, "tier": decision.tier or ""}
        yield "decision", named, 1.0, last_s
    for kind in dict.fromkeys(
        doubt.kind for doubt in verdict.doubts if doubt.run is None
    ):
        yield "doubt", {"kind": kind}, 1.0, last_s
