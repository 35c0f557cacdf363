"""Doubts about a load: the database did not keep up with its pace, or what it left behind could not
be checked. Pure."""

from __future__ import annotations

from orchestrator.analysis import results
from orchestrator.analysis.doubts.validity import Reasons
from orchestrator.analysis.loads import overload as at_rate
from orchestrator.analysis.results import RunData
from orchestrator.analysis.telemetry import resources
from orchestrator.model import Record
from orchestrator.units import format_number, format_seconds

WAITED = 0.05  # of the latency that this wait is not in


def overload(run: RunData, _: resources.Values) -> Reasons:
    """If work came in faster than it was done, latency is the length of a queue that grows."""
    if resources.paced(run.record):
        record = run.record
        behind = [*_unstarted(record), *_unserved(record)] or [*_queued(record)]
        yield from behind or _waited(record)


def _unstarted(record: Record) -> Reasons:
    """What the built-in generator counted as due by the end of the run and not begun."""
    found = at_rate.not_begun(record)
    if found is None:
        return
    owed, due = found
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


def _unserved(record: Record) -> Reasons:
    """What BenchBase did not serve; it counts nothing else."""
    found = at_rate.not_served(record)
    if found is None:
        return
    served, rate = found
    yield (
        f"{format_number(served * rate)}/s of the {format_number(rate)}/s asked for were served "
        f"({100 * served:.1f} %): the database did not keep up, and what waited for a terminal or "
        "was dropped is not in its latency",
        _advice(record),
    )


def _queued(record: Record) -> Reasons:
    """What the queue grew by in the window, although all of it was begun before the end."""
    found = at_rate.grew(record)
    if found is not None:
        offered, served = map(format_number, found)
        yield (
            f"{offered}/s fell due in the window and {served}/s ended in it: the queue grew, so "
            "latency depends on how long was measured",
            _advice(record),
        )


def _waited(record: Record) -> Reasons:
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


def not_checked(run: RunData, _: resources.Values) -> Reasons:
    checked = run.record.facts.get("checked") or {}
    unknown = [each for each in checked.get("consistency", ()) if each.get("problem")]
    if unknown:
        problems = "; ".join(dict.fromkeys(each["problem"] for each in unknown))
        yield (
            f"{', '.join(each['name'] for each in unknown)} could not be evaluated after the run: "
            f"{problems}",
            "the measurement stays; whether the data were still consistent is not known",
        )
