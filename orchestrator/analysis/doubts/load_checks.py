"""The doubt about a load that sets its own pace: the database did not keep up with it. Pure."""

from __future__ import annotations

import math
from collections.abc import Iterator

from orchestrator.analysis import resources, results
from orchestrator.analysis.results import RunData
from orchestrator.model import Record
from orchestrator.units import format_number, format_seconds

BEHIND = 0.01  # of what was asked for: less is the queue of a moment
WAITED = 0.05  # of the latency that this wait is not in
CHANCE = 3.0  # standard deviations of the number of random arrivals in the window
_PER_THREAD = 2  # transactions that a thread may owe when the run ends, without being behind


def overload(run: RunData, _: resources.Values) -> Iterator[tuple[str, str]]:
    """If work came in faster than it was done, latency is the length of a queue that grows."""
    if resources.paced(run.record):
        behind = [*_unstarted(run.record), *_unserved(run.record)]
        yield from behind or _waited(run.record)


def _unstarted(record: Record) -> Iterator[tuple[str, str]]:
    """What the built-in generator counted as due by the end of the run and not begun."""
    facts = results.generator(record)
    owed, begun = facts.unstarted, facts.recorded_transactions
    if not owed or begun is None:
        return
    due = owed + begun
    if owed < BEHIND * due or owed <= _PER_THREAD * record.workload.threads:
        return
    yield (
        f"{format_number(owed)} of {format_number(due)} transactions that were due had not begun "
        f"when the run ended ({100 * owed / due:.1f} %): the database did not keep up, so "
        f"{_grown(record)}, and depends on how long was measured",
        _advice(record),
    )


def _grown(record: Record) -> str:
    if record.workload.thinks:
        return "the terminals' wait for a connection, which is not in latency, grew"
    return "latency is mostly the wait in a queue that grew"


def _unserved(record: Record) -> Iterator[tuple[str, str]]:
    """What BenchBase did not serve; it counts nothing else."""
    facts = results.generator(record)
    served, rate = facts.served_of_asked, facts.arrival_rate_per_s
    if served is None or not rate:
        return
    arrivals = rate * record.workload.measure_s
    if 1 - served <= max(BEHIND, CHANCE / math.sqrt(arrivals)):
        return
    yield (
        f"{format_number(served * rate)}/s of the {format_number(rate)}/s asked for were served "
        f"({100 * served:.1f} %): the database did not keep up, and what waited for a terminal or "
        "was dropped is not in its latency",
        _advice(record),
    )


def _waited(record: Record) -> Iterator[tuple[str, str]]:
    """By the built-in generator's terminals: their wait for a connection is not in latency, so it
    must be small for latency to tell what users would see."""
    wait_s = results.value_of(record, "connection_wait_avg_s")
    latency_s = results.value_of(record, "latency_avg_s")
    if wait_s is None or not latency_s or wait_s < WAITED * latency_s:
        return
    yield (
        f"terminals waited {format_seconds(wait_s)} for a connection on average, beside an average "
        f"latency of {format_seconds(latency_s)} that does not hold it: there were at times too "
        "few connections for the pace asked for",
        _advice(record),
    )


def _advice(record: Record) -> str:
    if record.workload.thinks:
        return "give the terminals more threads to share, or load fewer warehouses"
    served = results.value_of(record, "throughput_per_s")
    at = f" below the {format_number(served)}/s that were served" if served else ""
    return f"ask for an `arrival_rate`{at}, the same on every tier, or compare throughput instead"
