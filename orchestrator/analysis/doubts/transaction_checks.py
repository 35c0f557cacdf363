"""Doubts about the transactions of a run: that they failed, were few, or do not add up. Pure."""

import math

from orchestrator.analysis import metric_values, results
from orchestrator.analysis.doubts.effects import forbids_a_conclusion, is_only_told
from orchestrator.analysis.doubts.validity import Doubts
from orchestrator.analysis.results import RunData
from orchestrator.analysis.statistics import stats
from orchestrator.analysis.telemetry.use import conservation
from orchestrator.analysis.telemetry.use.all_nodes import Totals
from orchestrator.model import Doubt, Record
from orchestrator.units import format_change, format_number

FAILURES_PCT = 1.0  # share of those tried; from there on no tier is enough either
RETRIES_PCT = 5.0  # share of those done
LITTLE_PCT = 5.0  # share of the threads, besides what a window's ends put off


def transactions(run: RunData, _: Totals) -> Doubts:
    """Doubts about transactions: many failed or were retried, or there were few."""
    done = metric_values.value_of(run.record, "transactions")
    failed = metric_values.value_of(run.record, "failures")
    retried = metric_values.value_of(run.record, "retries")
    failed_pct = metric_values.failed_pct(run.record)
    if failed_pct is not None and failed_pct >= FAILURES_PCT:
        yield _failures(failed or 0.0, done or 0.0)
    if retried and 100 * retried >= RETRIES_PCT * (done or 0.0):
        yield _retries(retried, done or 0.0)
    # Ten transactions must lie beyond a percentile (docs/METHOD.md).
    needed = stats.percentile_min_count(99)
    if done is not None and done < needed:
        yield _few_transactions(done, needed)


def little(run: RunData, _: Totals) -> Doubts:
    """Against Little's law: as many transactions are in flight as there are threads."""
    in_flight = conservation.in_flight(run)
    if in_flight is None:
        return
    threads = run.record.workload.threads
    off_pct = 100 * (in_flight / threads - 1)
    if abs(off_pct) > LITTLE_PCT + _edges_pct(run.record):
        yield _against_littles_law(in_flight, threads, off_pct)


def _edges_pct(record: Record) -> float:
    """How far the ends of a window put Little's law off."""
    # Every thread is somewhere in a transaction at each end, at most in the longest.
    longest_s = metric_values.value_of(record, "latency_max_s") or 0.0
    # Errors of independent threads add up by their squares.
    both_ends = math.sqrt(2 / record.workload.threads)
    return 100 * longest_s * both_ends / results.measured_s(record)


# ------------------------------------------------------------------ in words


_SEE_ERRORS = (
    "see `errors` among the run's facts; what failed is not counted as throughput"
)


def _failures(count: float, transactions: float) -> Doubt:
    return forbids_a_conclusion(
        "failures",
        f"{format_number(count)} failures beside {format_number(transactions)} transactions",
        advice=_SEE_ERRORS,
    )


def _retries(count: float, transactions: float) -> Doubt:
    return is_only_told(
        "retries",
        f"{format_number(count)} retries beside {format_number(transactions)} transactions",
        advice=_SEE_ERRORS,
    )


def _few_transactions(transactions: float, needed: int) -> Doubt:
    return is_only_told(
        "few transactions",
        f"{format_number(transactions)} transactions are too few for a 99th percentile "
        f"({needed:,} needed)",
        advice="measure for longer",
    )


def _against_littles_law(in_flight: float, threads: int, off_pct: float) -> Doubt:
    return is_only_told(
        "Little's law",
        f"throughput × latency = {in_flight:.1f} transactions in flight, with {threads} "
        f"threads ({format_change(off_pct)})",
        advice="threads were idle or stuck, or a figure is wrong: see the run's raw output",
    )
