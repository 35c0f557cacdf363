"""Doubts about a load that sets its own pace. Pure.

Such a load asks for transactions at a rate, by `arrival_rate` or by the think time of terminals.
A database that does not keep up lets work queue. Latency then holds the wait in a queue that
grows for as long as the run goes on, and says little about the disk.
"""

from dataclasses import dataclass

from orchestrator.analysis import metric_values, overload
from orchestrator.analysis.doubts.effects import is_only_told
from orchestrator.analysis.doubts.validity import Doubts
from orchestrator.analysis.results import RunData
from orchestrator.analysis.telemetry.causes import outside_causes
from orchestrator.analysis.telemetry.use import load_and_sessions
from orchestrator.analysis.telemetry.use.all_nodes import Totals
from orchestrator.model import Doubt, Record
from orchestrator.units import format_number, format_seconds

# A wait for a connection is told from this share of the average latency on.
WAIT_SHARE = 0.05


@dataclass(frozen=True)
class _Pace:
    """What set the pace of a load that the database did not keep up with.

    `served_per_s`: the throughput that was reached, if it was measured; None of a load that
    thinks, which asks for no rate. `slow_disk`: it was kept until a disk was slow.
    """

    thinks: bool
    served_per_s: float | None
    slow_disk: bool

    @property
    def circumstance(self) -> str:
        """What goes behind "keep up" in a sentence; mostly nothing."""
        if self.slow_disk:
            return " with a slow disk"
        return ""

    @property
    def advice(self) -> str:
        # With all disks as declared it kept up.
        if self.slow_disk:
            return (
                "measure for longer after the slow disk, or compare throughput instead"
            )
        if self.thinks:
            return "give the terminals more threads to share, or load fewer warehouses"
        below = ""
        if self.served_per_s:
            served = format_number(self.served_per_s)
            below = f" below the {served} transactions/s that were served"
        return (
            f"ask for an `arrival_rate`{below}, the same on every tier, or compare "
            "throughput instead"
        )


def _pace(record: Record) -> _Pace:
    load = record.workload
    served_per_s = None
    if not load.thinks:
        served_per_s = metric_values.value_of(record, "throughput_per_s")
    return _Pace(
        load.thinks, served_per_s, slow_disk=overload.only_with_slow_disk(record)
    )


def overloaded(run: RunData, _: Totals) -> Doubts:
    """A doubt if the database did not keep up with the pace."""
    record = run.record
    if not load_and_sessions.has_pace(record.workload):
        return
    pace = _pace(record)
    # The built-in generator counts what it did not begin, BenchBase what was not served. A record
    # has one of the two. Where all was begun and served, a queue may still have grown.
    unstarted = overload.not_begun(record)
    if unstarted:
        owed, due = unstarted
        yield _not_begun(owed, due, pace)
    unserved = overload.not_served(record)
    if unserved:
        share, rate_per_s = unserved
        yield _not_served(share, rate_per_s, pace)
    if not unstarted and not unserved:
        yield from _queued(record, pace)


def _queued(record: Record, pace: _Pace) -> Doubts:
    """A doubt if the queue grew in the window, or if terminals waited for a connection."""
    queued = overload.grew(record)
    if queued:
        offered_per_s, served_per_s = queued
        yield _queue_grew(offered_per_s, served_per_s, pace)
        return
    wait_s = metric_values.value_of(record, "connection_wait_avg_s")
    latency_s = metric_values.value_of(record, "latency_avg_s")
    if wait_s is None or not latency_s:
        return
    # Users would wait for a connection too, and latency does not include that wait.
    if wait_s >= WAIT_SHARE * latency_s:
        yield _waited_for_a_connection(wait_s, latency_s, pace)


def ceiling(run: RunData, _: Totals) -> Doubts:
    """A doubt if think time alone decided the throughput."""
    ceiling_nopm = load_and_sessions.ceiling_nopm(run.record)
    share_pct = load_and_sessions.of_ceiling_pct(run.record)
    if not ceiling_nopm or share_pct is None:
        return
    # Such throughput is think time's on every tier, and no disk's.
    if share_pct >= outside_causes.CEILING_PCT:
        yield _at_think_times_ceiling(share_pct, ceiling_nopm)


# ------------------------------------------------------------------ in words


def _not_begun(owed: float, due: float, pace: _Pace) -> Doubt:
    share_pct = 100 * owed / due
    if pace.thinks:
        effect = (
            "terminals waited longer and longer for a connection. That wait is not in "
            "latency, and depends on how long was measured"
        )
    else:
        effect = (
            "latency is mostly the wait in a queue that grew. It depends on how long was "
            "measured"
        )
    return is_only_told(
        "overload",
        f"{format_number(owed)} of {format_number(due)} transactions that were due had not "
        f"begun when the run ended ({share_pct:.1f} %): the database did not keep "
        f"up{pace.circumstance}, so {effect}",
        pace.advice,
    )


def _not_served(served_share: float, rate_per_s: float, pace: _Pace) -> Doubt:
    served_per_s = format_number(served_share * rate_per_s)
    return is_only_told(
        "overload",
        f"{served_per_s} of the {format_number(rate_per_s)} transactions/s asked for were served "
        f"({100 * served_share:.1f} %): the database did not keep up{pace.circumstance}. "
        "Latency leaves out transactions that waited for a terminal or were dropped",
        pace.advice,
    )


def _queue_grew(offered_per_s: float, served_per_s: float, pace: _Pace) -> Doubt:
    return is_only_told(
        "overload",
        f"{format_number(offered_per_s)} transactions/s fell due in the window and "
        f"{format_number(served_per_s)} ended in it. The queue grew{pace.circumstance}, so latency "
        "depends on how long was measured",
        pace.advice,
    )


def _waited_for_a_connection(wait_s: float, latency_s: float, pace: _Pace) -> Doubt:
    return is_only_told(
        "overload",
        f"terminals waited {format_seconds(wait_s)} for a connection on average. The average "
        f"latency of {format_seconds(latency_s)} leaves that out. At times there were too few "
        "connections for the pace asked for",
        pace.advice,
    )


def _at_think_times_ceiling(share_pct: float, ceiling_nopm: float) -> Doubt:
    return is_only_told(
        "think time's ceiling",
        f"throughput reached {share_pct:.1f} % of the {format_number(ceiling_nopm)} "
        "New-Orders a minute that think time allows. It cannot tell tiers apart",
        advice="compare latencies, or take `think: none`",
    )
