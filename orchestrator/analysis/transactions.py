"""A table of single transactions → the figures and intervals of a window. Pure.

Every load generator that keeps each transaction is read into the same table, so its figures are
defined once, here (docs/METHOD.md):

table: start_s (Unix; when it was started, or was due in an open loop or with think time),
    latency_s (to its end, retries and queueing included), queue_s, type (category), outcome
    (0 committed, 1 rolled back on purpose, 2 failed), retries, sqlstate ("" if none).

A transaction belongs to the window in which it *ended*. Throughput and latency count what
committed or was rolled back on purpose; failed ones are counted apart and never as throughput.
New-Orders (NOPM) are counted from commits alone.

Percentiles of all TPC-C-derived types together leave Delivery out: it is the 4 % whose transactions
do tenfold work, so the p99 of all would be little but Delivery's upper quartile. In the
specification it is answered before it is done.

`pooled`: terminals with think time share connections. Then `queue_s` is a terminal's wait for a
free one: it is a measurement of its own, and latency is without it.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pandas as pd

from orchestrator.analysis import stats
from orchestrator.metrics import INTERVAL_COLUMNS, PERCENTILES, measured
from orchestrator.model import Measurement

COMMITTED, ROLLED_BACK, FAILED = 0, 1, 2
NEW_ORDER, DELIVERY = "new_order", "delivery"


def measurements(
    table: pd.DataFrame,
    start_s: float,
    end_s: float,
    statements: int | None,
    pooled: bool = False,
) -> tuple[Measurement, ...]:
    """All figures of [start_s, end_s), for all types together and, if several, for each."""
    inside = window(table, start_s, end_s)
    duration_s = end_s - start_s
    waits: list[Measurement] = []
    if pooled:
        waits = list(_of_waits(inside))
        inside = inside.assign(latency_s=inside["latency_s"] - inside["queue_s"])
    figures = list(_of_scope(inside, duration_s, "all"))
    average_s = next((m.value for m in figures if m.metric == "latency_avg_s"), None)
    if statements and average_s is not None:
        figures.append(measured("statement_latency_avg_s", average_s / statements))
    types = list(inside["type"].cat.categories)
    if len(types) > 1:
        for name in types:
            figures.extend(_of_scope(inside[inside["type"] == name], duration_s, name))
    if NEW_ORDER in types:
        orders = inside[(inside["type"] == NEW_ORDER) & (inside["outcome"] == COMMITTED)]
        figures.append(measured("nopm", len(orders) / duration_s * 60))
    return (*figures, *waits)


def window(table: pd.DataFrame, start_s: float, end_s: float) -> pd.DataFrame:
    """The transactions that ended in [start_s, end_s)."""
    ended_s = table["start_s"] + table["latency_s"]
    return table[(ended_s >= start_s) & (ended_s < end_s)]


def _of_scope(part: pd.DataFrame, duration_s: float, scope: str) -> Iterator[Measurement]:
    served = part[part["outcome"] != FAILED]
    yield measured("transactions", len(served), scope)
    yield measured("throughput_per_s", len(served) / duration_s, scope)
    yield measured("rollbacks", int((part["outcome"] == ROLLED_BACK).sum()), scope)
    yield measured("failures", int((part["outcome"] == FAILED).sum()), scope)
    yield measured("retries", int(part["retries"].sum()), scope)
    if served.empty:
        return
    yield measured("latency_avg_s", float(served["latency_s"].mean()), scope)
    yield measured("latency_max_s", float(served["latency_s"].max()), scope)
    if scope == "all":
        served = served[_in_percentiles(served["type"])]
    latency_s = served["latency_s"].to_numpy()
    for metric, percent in PERCENTILES.items():
        if len(latency_s) >= stats.percentile_min_count(percent):
            yield measured(metric, stats.percentile(latency_s, percent), scope)


def ranked_latencies(
    table: pd.DataFrame, start_s: float, end_s: float, scope: str = "all", pooled: bool = False
) -> np.ndarray:
    """The latencies, in s, that the percentiles of a scope are computed from; in no order."""
    inside = window(table, start_s, end_s)
    served = inside[inside["outcome"] != FAILED]
    kept = _in_percentiles(served["type"]) if scope == "all" else served["type"] == scope
    rows = served[kept]
    # A generator that does not know what was spent waiting leaves no number.
    waited_s = np.nan_to_num(rows["queue_s"].to_numpy(dtype=float)) if pooled else 0.0
    latencies_s: np.ndarray = rows["latency_s"].to_numpy(dtype=float) - waited_s
    return latencies_s


def _in_percentiles(types: pd.Series) -> np.ndarray:
    """Which transactions the percentiles of all types together are of."""
    if NEW_ORDER not in types.cat.categories:
        return np.full(len(types), True)
    return (types != DELIVERY).to_numpy()


def _of_waits(inside: pd.DataFrame) -> Iterator[Measurement]:
    """How long terminals waited for a connection, transactions of all types together."""
    wait_s = inside["queue_s"].to_numpy()
    if len(wait_s):
        yield measured("connection_wait_avg_s", float(wait_s.mean()))
    if len(wait_s) >= stats.percentile_min_count(99.0):
        yield measured("connection_wait_p99_s", stats.percentile(wait_s, 99.0))


def intervals(
    table: pd.DataFrame, phases: dict[str, tuple[float, float]], pooled: bool = False
) -> pd.DataFrame:
    """One row per whole second of each phase, with INTERVAL_COLUMNS; `time_s` is its begin (Unix).

    A second without transactions has throughput 0. Percentiles as of all types together.
    """
    rows: list[dict[str, object]] = []
    ended_s = (table["start_s"] + table["latency_s"]).to_numpy()
    order = np.argsort(ended_s, kind="stable")
    waited_s = table["queue_s"].to_numpy() if pooled else 0.0
    ended_s, latency_s = ended_s[order], (table["latency_s"].to_numpy() - waited_s)[order]
    failed = (table["outcome"].to_numpy() == FAILED)[order]
    ranked = _in_percentiles(table["type"])[order]
    for phase, (start_s, end_s) in phases.items():
        edges = np.arange(start_s, end_s + 1e-6, 1.0)
        cuts = np.searchsorted(ended_s, edges)
        for begin_s, low, high in zip(edges[:-1], cuts[:-1], cuts[1:], strict=True):
            good = ~failed[low:high]
            served_s, ranked_s = (
                latency_s[low:high][which] for which in (good, good & ranked[low:high])
            )
            errors = int(failed[low:high].sum())
            rows.append(_interval(begin_s, phase, served_s, ranked_s, errors))
    return pd.DataFrame(rows, columns=list(INTERVAL_COLUMNS))


def _interval(
    begin_s: float, phase: str, latency_s: np.ndarray, ranked_s: np.ndarray, errors: int
) -> dict[str, object]:
    row: dict[str, object] = {
        "time_s": round(float(begin_s), 6),
        "phase": phase,
        "throughput_per_s": len(latency_s),
        "errors": errors,
    }
    if len(latency_s):
        row["latency_avg_s"] = float(latency_s.mean())
    if len(ranked_s):
        p50, p95, p99 = np.percentile(ranked_s, (50, 95, 99), method="inverted_cdf")
        row |= {
            "latency_p50_s": float(p50),
            "latency_p95_s": float(p95),
            "latency_p99_s": float(p99),
        }
    return row
