"""OpenMetrics 1.0 text: figures of runs, changes with their intervals, verdicts, decisions.

Specification: https://github.com/prometheus/OpenMetrics (names end in their base unit, shares are
ratios). Every sample carries the time at which its run, or the last of all, ended. Only runs that
enter results have figures; outcomes are there of all.
"""

from collections.abc import Iterable, Iterator
from types import SimpleNamespace
from typing import get_args

from prometheus_client.core import Metric
from prometheus_client.openmetrics.exposition import generate_latest

from orchestrator.analysis import results
from orchestrator.analysis.conclusions import Verdict, VerdictWord
from orchestrator.analysis.results import Results
from orchestrator.metrics import METRICS
from orchestrator.model import Outcome
from orchestrator.report.exports.run_figures import MISSING, RunFigures, runs

_PREFIX = "tierbench_"
# Endings of our names → unit of the standard, and how many of ours are one of it. IOPS and NOPM are
# rates by name, and counts have no unit.
_UNITS = (
    ("_bytes_per_s", "bytes_per_second", 1),
    ("_per_s", "per_second", 1),
    ("_bytes", "bytes", 1),
    ("_s", "seconds", 1),
    ("_pct", "ratio", 100),
)
_OF_DELTA = ("baseline", "workload", "metric", "scope")
_OUTCOMES = (*get_args(Outcome), MISSING)


def text(campaign: Results, verdict: Verdict) -> str:
    """The whole text, ending in its end mark; figures are in the order of METRICS."""
    every = tuple(runs(campaign))
    last_s = max((s for run in every if (s := run.ended_s) is not None), default=None)
    families = (
        *_figures(campaign, every),
        _outcomes(campaign, every, last_s),
        *_changes(campaign, verdict, last_s),
        *_infos(campaign, verdict, last_s),
    )
    known = [family for family in families if family.samples]
    registry = SimpleNamespace(collect=lambda: known)  # what the library's writer asks for
    written: bytes = generate_latest(registry)  # type: ignore[no-untyped-call]
    return written.decode("utf-8")


def _family(name: str, documentation: str) -> tuple[Metric, int]:
    """A gauge of a metric of ours, and by what its values are divided."""
    for ending, unit, divisor in _UNITS:
        if name.endswith(ending):
            renamed = f"{_PREFIX}{name.removesuffix(ending)}_{unit}"
            return Metric(renamed, documentation, "gauge", unit), divisor
    return Metric(f"{_PREFIX}{name}", documentation, "gauge"), 1


def _of_run(campaign: Results, run: RunFigures) -> dict[str, str]:
    return {
        "campaign": campaign.name,
        "profile": run.run.profile,
        "workload": run.run.workload,
        "run": str(run.run.number),
        "repetition": str(run.run.repetition),
    }


def _figures(campaign: Results, every: tuple[RunFigures, ...]) -> Iterator[Metric]:
    used = [(run, results.sound(run.figures).values()) for run in every if not run.excluded]
    for metric in METRICS.values():
        family, divisor = _family(metric.name, metric.title)
        for run, figures in used:
            for m in figures:
                if m.metric == metric.name:
                    labels = {**_of_run(campaign, run), "scope": m.scope}
                    family.add_sample(family.name, labels, m.value / divisor, run.ended_s)
        yield family


def _outcomes(campaign: Results, every: tuple[RunFigures, ...], last_s: float | None) -> Metric:
    family = Metric(f"{_PREFIX}run_outcome", "What became of a run", "stateset")
    for run in every:
        ended_s = run.ended_s or last_s
        _add_states(family, _of_run(campaign, run), _OUTCOMES, run.outcome, ended_s)
    return family


def _add_states(
    family: Metric, labels: dict[str, str], states: Iterable[str], now: str, time_s: float | None
) -> None:
    for state in states:
        value = float(state == now)
        family.add_sample(family.name, {**labels, family.name: state}, value, time_s)


def _changes(campaign: Results, verdict: Verdict, last_s: float | None) -> Iterator[Metric]:
    """The change, both ends of its interval where it has one, and the verdict."""
    change, divisor = _family("change_pct", "Change against the baseline, 0.1 is 10 %")
    low, _ = _family("change_low_pct", "Lower end of the interval of the change")
    high, _ = _family("change_high_pct", "Upper end of the interval of the change")
    word = Metric(f"{_PREFIX}verdict", "What is concluded from the change", "stateset")
    for delta in verdict.deltas:
        labels = {name: getattr(delta, name) for name in _OF_DELTA}
        labels |= {"campaign": campaign.name, "profile": delta.contender}
        for family, value in (
            (change, None if delta.overloaded else delta.change_pct),
            (low, delta.ci_low_pct),
            (high, delta.ci_high_pct),
        ):
            if value is not None:
                family.add_sample(family.name, labels, value / divisor, last_s)
        _add_states(word, labels, get_args(VerdictWord), delta.verdict, last_s)
    yield from (change, low, high, word)


def _infos(campaign: Results, verdict: Verdict, last_s: float | None) -> Iterator[Metric]:
    tiers = [{"workload": d.workload, "tier": d.tier or ""} for d in verdict.decisions]
    kinds = dict.fromkeys(doubt.kind for doubt in verdict.doubts if doubt.run is None)
    for name, text, every in (
        ("decision", "The tier to buy; empty if none could be named", tiers),
        ("doubt", "A reason to distrust every figure of a campaign", [{"kind": k} for k in kinds]),
    ):
        family = Metric(f"{_PREFIX}{name}", text, "info")
        for labels in every:
            labels = {"campaign": campaign.name, **labels}
            family.add_sample(f"{family.name}_info", labels, 1.0, last_s)
        yield family
