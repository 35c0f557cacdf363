"""The Go benchmark format, for benchstat: a line for each run and scope, with all its metrics.

Format: https://golang.org/design/14313-benchmark-format, with lines `Unit` for which way is good
(https://pkg.go.dev/golang.org/x/perf/benchfmt). `benchstat -col /profile FILE` compares tiers.
Only runs that enter results are written, because the format has no word for others, and no single
nodes. The first lines are what must agree: benchstat compares nothing across unlike ones.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from orchestrator.analysis import results
from orchestrator.analysis.conclusions import Verdict
from orchestrator.analysis.results import Results
from orchestrator.metrics import METRICS
from orchestrator.planning.published_study import EACH_NODE
from orchestrator.report.exports.run_figures import RunFigures, runs

# Endings of our names → those by which benchstat knows a unit and scales it.
_ENDINGS = (
    ("_bytes_per_s", "-B/s"),
    ("_per_s", "/s"),
    ("_bytes", "-B"),
    ("_s", "-sec"),
    ("_pct", "-%"),
)


def text(campaign: Results, verdict: Verdict) -> str:
    """Names as benchstat takes them: `BenchmarkInsert/profile=ultra/scope=all`. The baseline's runs
    come first, because it compares with what it has seen first."""
    used = [one for one in runs(campaign) if not one.excluded]
    used.sort(key=lambda one: one.run.profile != verdict.baseline)
    lines = [*_configuration(campaign), *_directions(used)]
    for one in used:
        lines += _lines(one)
    return "".join(f"{line}\n" for line in lines)


def _configuration(campaign: Results) -> Iterator[str]:
    plan = campaign.plan
    cluster = plan.profiles[0].cluster
    versions = (results.database(data.record).version for data in campaign.runs)
    version = next((version for version in versions if version), cluster.version)
    yield f"database: {cluster.database} {version or ''}".strip()
    yield f"disks: {', '.join(sorted({profile.tier.kind for profile in plan.profiles}))}"
    yield f"nodes: {cluster.nodes}"
    yield f"scale: {plan.scale}"


def _directions(used: list[RunFigures]) -> Iterator[str]:
    metrics = {m.metric for one in used for m in one.figures}
    for name, metric in METRICS.items():
        if name in metrics and metric.direction != "none":
            yield f"Unit {_unit(name)} better={metric.direction}"


def _lines(one: RunFigures) -> Iterator[str]:
    assert one.data is not None
    nodes = {node.name for node in one.data.record.nodes} | {EACH_NODE}
    by_scope: dict[str, list[str]] = {}
    for m in results.sound(one.figures).values():
        if m.scope not in nodes:
            by_scope.setdefault(m.scope, []).append(f"{m.value!r} {_unit(m.metric)}")
    workload, profile = one.run.workload, _word(one.run.profile)
    name = f"Benchmark{_word(workload[:1].upper() + workload[1:])}/profile={profile}"
    for scope, pairs in by_scope.items():
        # The scope stands last: a name that ended in `-2` would be read as run on two processors.
        yield f"{name}/scope={_word(scope)} 1 {' '.join(pairs)}"


def _unit(metric: str) -> str:
    """`latency_p99_s` → `latency-p99-sec`; each metric has one of its own."""
    for ending, unit in _ENDINGS:
        if metric.endswith(ending):
            return metric.removesuffix(ending).replace("_", "-") + unit
    return metric.replace("_", "-")


def _word(name: str) -> str:
    """Without what ends a part of a name."""
    return re.sub(r"[\s/]+", "_", name)
