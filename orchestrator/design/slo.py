"""Service level objectives as a person writes them: `new_order p99 < 50 ms, nopm > 25000`.

Clauses are separated by commas. A clause is: a workload's name where it is of one of several,
a transaction type where there are types, a metric, `<` or `>`, and a quantity with its unit. A
latency and the share of failed transactions (`failures < 0.1 %`) have an upper limit, a rate a
lower one.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from orchestrator import errors, metrics
from orchestrator.design.tpcc_data import is_tpcc_derived
from orchestrator.keys import refusals
from orchestrator.model import Objective, Workload
from orchestrator.texts.prose import listed
from orchestrator.units import OtherFormError, parse_seconds

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
# A metric that has two words is shown by the longer one.
_SHOWN = {metric: word for word, metric in WORDS.items() if word != "avg"}
_METRICS = {**WORDS, **{metric: metric for metric in WORDS.values()}}
_CLAUSE = re.compile(
    r"\s*(?P<words>[^<>=]+?)\s*(?P<sign><=|>=|<|>)\s*(?P<quantity>[^<>=]+?)\s*$"
)
_RATE = re.compile(r"([0-9][0-9_]*(?:\.[0-9]+)?)\s*(/s|/min)?$")
_PERCENT = re.compile(r"([0-9]+(?:\.[0-9]+)?)\s*%$")
_EXAMPLE = "such as `new_order p99 < 50 ms` or `nopm > 25000`"


def parse(text: str, where: errors.KeyPlace | str) -> tuple[Objective, ...]:
    """The clauses of `text`. UsageError with every mistake, each with its clause."""
    objectives: dict[_Limited, Objective] = {}
    mistakes: list[errors.Mistake] = []
    for clause in text.split(","):
        try:
            objective = _parsed(clause)
            if _limited(objective) in objectives:
                raise ValueError("this metric has a limit already")
            objectives[_limited(objective)] = objective
        except ValueError as error:
            what = f"{clause.strip()!r}: {error}"
            mistakes.append(errors.Mistake.at(where, what))
    refusals.raise_all(mistakes)
    return tuple(objectives.values())


# Metric and scope: what an objective limits, and a workload has one limit of.
_Limited = tuple[str, str]


def _limited(objective: Objective) -> _Limited:
    return objective.metric, objective.scope


def _parsed(clause: str) -> Objective:
    match = _CLAUSE.match(clause)
    if match is None or not match["words"].split():
        raise ValueError(f"expected a metric, `<` or `>`, and a quantity, {_EXAMPLE}")
    words = match["words"].split()
    scope = "all"
    if words[0] in TYPES:
        scope = words.pop(0)
    # `p99 latency` says no more than `p99`.
    if len(words) > 1 and words[-1] == "latency":
        words.pop()
    metric = _metric(" ".join(words))
    unit = metrics.METRICS[metric].unit
    # Latencies alone are kept for each transaction type.
    if scope != "all" and unit != "s":
        raise ValueError(f"{metric} is not measured of one transaction type")
    _check_sign(metric, match["sign"])
    limit = _limit(metric, unit, match["quantity"])
    if limit <= 0:
        raise ValueError("the limit must be above zero")
    return Objective(metric, scope, limit)


def _metric(words: str) -> str:
    metric = _METRICS.get(words)
    if metric is None:
        types = f"transaction types: {', '.join(TYPES)}"
        # A workload's name is gone by now, so another word before a metric stands for none.
        first, _, rest = words.partition(" ")
        if rest.split(" ")[-1] in _METRICS:
            raise ValueError(
                f"{first!r} is no workload here and no transaction type; "
                f"{refusals.did_you_mean(first, TYPES)}{types}"
            )
        listed = f"metrics: {', '.join(WORDS)}; {types}"
        raise ValueError(refusals.unknown("metric", words, WORDS, listed))
    return metric


def _check_sign(metric: str, sign: str) -> None:
    """ValueError where a latency or a share has a lower limit, or a rate an upper one."""
    limited = metrics.METRICS[metric]
    right = ">"
    if limited.less_is_better:
        right = "<"
    # `<=` is taken for `<`, and `>=` for `>`.
    if sign.startswith(right):
        return
    kind = "a rate"
    if limited.unit == "s":
        kind = "a latency"
    elif limited.unit == "%":
        kind = "a share"
    raise ValueError(f"{kind} is limited with `{right}`")


def _limit(metric: str, unit: str, text: str) -> float:
    if unit == "s":
        return parse_seconds(text)
    if unit == "%":
        match = _PERCENT.match(text)
        # No share of failures is above 100 %, so such a limit would limit nothing.
        if match is None or float(match[1]) > 100:
            raise OtherFormError("expected a percentage, such as 0.1 %", text)
        return float(match[1])
    match = _RATE.match(text)
    per = "/s"
    if metric == "nopm":
        per = "/min"
    # NOPM counts minutes and other rates seconds: the wrong unit is off by 60 times.
    if match is None or match[2] not in (None, per):
        raise OtherFormError(f"expected a number of {per}, such as 25000", text)
    return float(match[1].replace("_", ""))


def format_objective(objective: Objective) -> str:
    """`new_order p99 < 50 ms`, as it may be given again."""
    return f"{limited_in_words(objective)} {_limit_in_words(objective)}"


def limited_in_words(objective: Objective) -> str:
    """What the clause limits: `new_order p99`."""
    metric = _SHOWN[objective.metric]
    if objective.scope == "all":
        return metric
    return f"{objective.scope} {metric}"


def clause_of_type(objective: Objective) -> str:
    """`p99 < 50 ms`, where the type of transactions is known."""
    return format_objective(replace(objective, scope="all"))


def _limit_in_words(objective: Objective) -> str:
    metric = metrics.METRICS[objective.metric]
    limit = objective.limit
    if metric.unit == "%":
        return f"< {limit:.9g} %"
    if not metric.less_is_better:
        unit = ""
        if metric.unit == "1/s":
            unit = "/s"
        return f"> {limit:.12g}{unit}"
    # Latencies below a second are in milliseconds, as people write them.
    if limit < 1:
        return f"< {limit * 1e3:.9g} ms"
    return f"< {limit:.9g} s"


def applied(
    workloads: Sequence[Workload], text: str | None, where: errors.KeyPlace | str
) -> tuple[Workload, ...]:
    """Workloads with the SLO of `text` instead of their own; None leaves them as they are.

    Each workload gets the clauses that fit it. A clause that begins with a workload's name replaces
    other clauses on the same metric. UsageError for a clause that fits no workload.
    """
    if text is None:
        return tuple(workloads)
    texts = _texts_by_workload(text, [load.name for load in workloads])
    clauses: dict[str, tuple[Objective, ...]] = {}
    for name, named_texts in texts.items():
        clauses[name] = parse(",".join(named_texts), where)
    refusals.raise_all(
        [errors.Mistake.at(where, what) for what in _unfit(clauses, workloads)]
    )
    return tuple(replace(load, slo=_slo_of(load, clauses)) for load in workloads)


def _texts_by_workload(text: str, names: Sequence[str]) -> dict[str, list[str]]:
    """Workload → its clauses, without its name; empty: those of all workloads."""
    texts: dict[str, list[str]] = {}
    for clause in text.split(","):
        first, _, rest = clause.strip().partition(" ")
        if first in names:
            texts.setdefault(first, []).append(rest)
        else:
            texts.setdefault("", []).append(clause)
    return texts


def _unfit(
    clauses: Mapping[str, Sequence[Objective]], workloads: Sequence[Workload]
) -> Iterator[str]:
    """Clauses that none of the workloads meant has the metric of."""
    names = [load.name for load in workloads]
    for name, objectives in clauses.items():
        meant = [load for load in workloads if name in ("", load.name)]
        for clause in objectives:
            if not any(fits(clause, load) for load in meant):
                whose = name or listed(names)
                yield f"`{format_objective(clause)}` is not measured of {whose}"


def _slo_of(
    workload: Workload, clauses: Mapping[str, Sequence[Objective]]
) -> tuple[Objective, ...]:
    """Clauses that begin with its name replace those of all workloads."""
    named = clauses.get(workload.name, ())
    replaced = {_limited(clause) for clause in named}
    objectives: list[Objective] = []
    for clause in clauses.get("", ()):
        if fits(clause, workload) and _limited(clause) not in replaced:
            objectives.append(clause)
    return (*objectives, *named)


def text_of(workloads: Sequence[Workload]) -> str:
    """The text that gives each workload the SLO it has; empty if none has any."""
    # A dict, because a set would not keep the order in which clauses were given.
    clauses: dict[Objective, None] = {}
    for load in workloads:
        clauses |= dict.fromkeys(load.slo)
    texts: list[str] = []
    for clause in clauses:
        shown = format_objective(clause)
        having = [load.name for load in workloads if clause in load.slo]
        fitting = sum(fits(clause, load) for load in workloads)
        # All that can have it do, so it needs no workload's name.
        if len(having) == fitting:
            texts.append(shown)
        else:
            texts += [f"{name} {shown}" for name in having]
    return ", ".join(texts)


def fits(objective: Objective, workload: Workload) -> bool:
    """Whether a workload has that metric: only TPC-C-derived ones have types and NOPM."""
    # A disk that is measured alone has no transactions, and so no metric of them.
    if workload.database == "none":
        return False
    typed = objective.metric == "nopm" or objective.scope != "all"
    return not typed or is_tpcc_derived(workload.dataset)
