"""Service level objectives as a person writes them: `new_order p99 < 50 ms, nopm > 25000`.

Clauses are separated by commas. One is: a workload's name where it is of one of several, a
transaction type where there are types, a metric, `<` or `>`, and a quantity with its unit. A
latency and the share of failed transactions (`failures < 0.1 %`) have an upper limit, a rate a
lower one."""

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace

from orchestrator import errors, metrics
from orchestrator.keys.strict_yaml import raise_all
from orchestrator.model import Objective, Workload
from orchestrator.units import listed, parse_seconds

TYPES = ("new_order", "payment", "order_status", "delivery", "stock_level")
# Words for metrics in an objective → metrics.
WORDS: Mapping[str, str] = {
    "average": "latency_avg_s",
    "avg": "latency_avg_s",
    "p50": "latency_p50_s",
    "p90": "latency_p90_s",
    "p95": "latency_p95_s",
    "p99": "latency_p99_s",
    "p99.9": "latency_p999_s",
    "throughput": "throughput_per_s",
    "nopm": "nopm",
    "failures": "failed_pct",
}
_SHOWN = {metric: word for word, metric in WORDS.items() if word != "avg"}
_METRICS = {**WORDS, **{metric: metric for metric in WORDS.values()}}
_CLAUSE = re.compile(
    r"\s*(?P<words>[^<>=]+?)\s*(?P<sign><=|>=|<|>)\s*(?P<quantity>[^<>=]+?)\s*$"
)
_RATE = re.compile(r"([0-9][0-9_]*(?:\.[0-9]+)?)\s*(/s|/min)?$")
_PERCENT = re.compile(r"([0-9]+(?:\.[0-9]+)?)\s*%$")
_EXAMPLE = "such as `new_order p99 < 50 ms` or `nopm > 25000`"


def parse(text: str, where: str) -> tuple[Objective, ...]:
    """The clauses of `text`. UsageError with every mistake, each with its clause."""
    objectives: list[Objective] = []
    mistakes: list[errors.Mistake] = []
    for clause in text.split(","):
        try:
            objective = _parsed(clause)
            if any(
                (o.metric, o.scope) == (objective.metric, objective.scope)
                for o in objectives
            ):
                raise ValueError("this metric has a limit already")
            objectives.append(objective)
        except ValueError as error:
            mistakes.append(errors.Mistake(where, f"{clause.strip()!r}: {error}"))
    raise_all(mistakes)
    return tuple(objectives)


def _parsed(clause: str) -> Objective:
    match = _CLAUSE.match(clause)
    if match:
        words = match["words"].split()
    else:
        words = []
    if match is None or not words:
        raise ValueError(f"expected a metric, `<` or `>`, and a quantity, {_EXAMPLE}")
    scope = "all"
    if words[0] in TYPES:
        scope = words.pop(0)
    if len(words) > 1 and words[-1] == "latency":
        words.pop()
    metric = _METRICS.get(" ".join(words))
    if metric is None:
        known = f"metrics: {', '.join(WORDS)}; transaction types: {', '.join(TYPES)}"
        raise ValueError(f"unknown metric {' '.join(words)!r}; {known}")
    unit = metrics.METRICS[metric].unit
    lower = metrics.METRICS[metric].direction == "lower"
    if scope != "all" and unit != "s":
        raise ValueError(f"{metric} is not measured of one transaction type")
    if lower != match["sign"].startswith("<"):
        kind = {"s": "a latency", "%": "a share"}.get(unit, "a rate")
        raise ValueError(f"{kind} is limited with `{'<' if lower else '>'}`")
    limit = _limit(metric, unit, match["quantity"])
    if limit <= 0:
        raise ValueError("the limit must be above zero")
    return Objective(metric, scope, limit)


def _limit(metric: str, unit: str, text: str) -> float:
    if unit == "s":
        return parse_seconds(text)
    if unit == "%":
        match = _PERCENT.match(text)
        if match is None or float(match[1]) > 100:
            raise ValueError(f"expected a percentage, such as 0.1 %, got {text!r}")
        return float(match[1])
    match = _RATE.match(text)
    per = "/s"
    if metric == "nopm":
        per = "/min"
    if match is None or match[2] not in (None, per):
        raise ValueError(f"expected a number of {per}, such as 25000, got {text!r}")
    return float(match[1].replace("_", ""))


def format_objective(objective: Objective) -> str:
    """`new_order p99 < 50 ms`, as it may be given again."""
    metric = metrics.METRICS[objective.metric]
    if objective.scope == "all":
        scope = ""
    else:
        scope = f"{objective.scope} "
    if metric.unit == "%":
        limit = f"< {objective.limit:.9g} %"
    elif metric.direction == "lower":
        short = objective.limit < 1
        limit = (
            f"< {objective.limit * (1e3 if short else 1):.9g} {'ms' if short else 's'}"
        )
    else:
        limit = f"> {objective.limit:.12g}{'/s' if metric.unit == '1/s' else ''}"
    return f"{scope}{_SHOWN[objective.metric]} {limit}"


def applied(
    workloads: Sequence[Workload], text: str | None, where: str
) -> tuple[Workload, ...]:
    """Workloads with the SLO of `text` instead of their own, each with the clauses that fit it and
    those that begin with its name, which replace others of their metric. None leaves them as they
    are. UsageError for a clause that fits no workload."""
    if text is None:
        return tuple(workloads)
    names = [load.name for load in workloads]
    clauses = defaultdict[str, list[str]](list)
    for clause in text.split(","):
        first, _, rest = clause.strip().partition(" ")
        clauses[first if first in names else ""].append(
            rest if first in names else clause
        )
    read = {name: parse(",".join(texts), where) for name, texts in clauses.items()}
    unfit = [
        f"`{format_objective(clause)}` is not measured of {name or listed(names)}"
        for name, objectives in read.items()
        for clause in objectives
        if not any(fits(clause, load) for load in workloads if name in ("", load.name))
    ]
    raise_all([errors.Mistake(where, what) for what in unfit])
    return tuple(
        replace(w, slo=_of(w, read.get("", ()), read.get(w.name, ())))
        for w in workloads
    )


def _of(
    workload: Workload, of_all: Sequence[Objective], own: Sequence[Objective]
) -> tuple[Objective, ...]:
    replaced = {(clause.metric, clause.scope) for clause in own}
    others = [
        c for c in of_all if fits(c, workload) and (c.metric, c.scope) not in replaced
    ]
    return *others, *own


def text_of(workloads: Sequence[Workload]) -> str:
    """The text that gives each workload the SLO it has; empty if none has any."""
    clauses = dict.fromkeys(clause for load in workloads for clause in load.slo)
    texts = []
    for clause in clauses:
        having = [load.name for load in workloads if clause in load.slo]
        alike = len(having) == sum(fits(clause, load) for load in workloads)
        texts += [
            f"{name}{format_objective(clause)}"
            for name in ([""] if alike else [f"{n} " for n in having])
        ]
    return ", ".join(texts)


def fits(objective: Objective, workload: Workload) -> bool:
    """Whether a workload has that metric: only TPC-C-derived ones have types and NOPM."""
    if workload.database == "none":
        return False
    typed = objective.metric == "nopm" or objective.scope != "all"
    return not typed or workload.dataset.family == "tpcc"
