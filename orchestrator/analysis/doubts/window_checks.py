"""Doubts about the window of a run: that load was not steady in it, or that it was short. Pure."""

from orchestrator.analysis import metric_values, overload, recoveries, results
from orchestrator.analysis.doubts.effects import is_only_told, limits_the_answer
from orchestrator.analysis.doubts.validity import Doubts
from orchestrator.analysis.figures import slowed
from orchestrator.analysis.results import RunData
from orchestrator.analysis.statistics import steadiness
from orchestrator.analysis.telemetry.use.all_nodes import Totals
from orchestrator.design import slow_disks
from orchestrator.model import Doubt, Record
from orchestrator.units import format_change, format_seconds

# Least length of a window, and of a rebuild: in less, caches and background writes do not show.
SHORT_S = 30.0


def windows(run: RunData, _: Totals) -> Doubts:
    """A doubt if throughput was not steady in the windows, or if they were too short."""
    generator = results.generator(run.record)
    # None: the warm-up was as long as planned, whatever throughput did.
    if generator.warmup_steady is False:
        yield _warm_up_given_up(generator.warmup_s or 0.0)
    yield from _steadiness(run)
    measured_s = results.measured_s(run.record)
    if measured_s < SHORT_S:
        yield _short_window(measured_s, run.record.workload.scale)
    rebuild_s = metric_values.value_of(run.record, "rebuild_s")
    if rebuild_s is not None and rebuild_s < SHORT_S:
        yield _short_rebuild(rebuild_s)
    yield from _recovery(run.record)


def _recovery(record: Record) -> Doubts:
    gap = recoveries.recovery_gap(record)
    if gap == "nothing before":
        yield _nothing_before()
    elif gap == "ended too soon":
        yield _ended_too_soon(recoveries.left_to_recover_s(record))
    elif gap == "not recovered":
        yield _not_recovered(overload.at_a_rate(record))


def _steadiness(run: RunData) -> Doubts:
    # Neither a piece of work nor the loss of a node has a steady state, nor has a slow disk.
    load = run.record.workload
    if load.slow or load.lost_after_s is not None:
        return
    if results.generator(run.record).ends_with_work:
        return
    # A record that is read without its tables has no seconds.
    if run.intervals.empty:
        return
    rows = run.intervals[run.intervals["phase"] == "measure"]
    times_s = rows["time_s"].tolist()
    drift = steadiness.steadiness(times_s, rows["throughput_per_s"].tolist())
    if drift is None or drift.steady:
        return
    # A warm-up that goes on until it is steady may be longer than the workload's file says.
    phase = run.record.phase("warm-up")
    warmup_s = load.warmup_s
    if phase:
        warmup_s = phase.duration_s
    yield _unsteady_throughput(drift.drift_pct, drift.halves_pct, warmup_s)


# ------------------------------------------------------------------ in words


def _warm_up_given_up(warmup_s: float) -> Doubt:
    return is_only_told(
        "warm-up given up",
        f"throughput had not become steady after {format_seconds(warmup_s)} of warm-up, "
        "the longest allowed",
        advice="see the charts over time; a longer `warmup` in the workload's file allows "
        "more",
    )


def _unsteady_throughput(drift_pct: float, halves_pct: float, warmup_s: float) -> Doubt:
    return is_only_told(
        "unsteady throughput",
        f"throughput drifted by {format_change(drift_pct)} over the measured window "
        f"(second half {format_change(halves_pct)} against the first)",
        advice=f"warm up for longer than {format_seconds(warmup_s)}, or measure for "
        "longer",
    )


def _short_window(measured_s: float, scale: str) -> Doubt:
    return limits_the_answer(
        "short window",
        f"{format_seconds(measured_s)} were measured: too short for caches and background "
        "writes to show",
        advice=f"take a larger --scale than {scale}",
    )


def _nothing_before() -> Doubt:
    return limits_the_answer(
        "not recovered",
        "no transaction ended before the disk was slow, so nothing can be held against it",
        advice="let the disk be slow later (@AFTER), or give a longer `measure`",
    )


def _ended_too_soon(after_s: float) -> Doubt:
    after = format_seconds(after_s)
    return limits_the_answer(
        "not recovered",
        f"the window ended {after} after the slow disk; "
        f"a recovery takes {slow_disks.RECOVERED_FOR_S} s to show",
        advice="give a longer `measure`, or let the disk be slow earlier (@AFTER)",
    )


def _not_recovered(at_a_rate: bool) -> Doubt:
    share = f"{slowed.RECOVERED_PCT:.0f} %"
    what = (
        f"throughput did not return to {share} of its earlier level for "
        f"{slow_disks.RECOVERED_FOR_S} s"
    )
    if at_a_rate:
        what = (
            f"{share} of the transactions due were never for {slow_disks.RECOVERED_FOR_S} s as "
            f"fast as {slowed.USUAL_PCT:.0f} % were before"
        )
    return limits_the_answer(
        "not recovered",
        f"after the slow disk {what}",
        advice="give it a longer `measure`, or begin the slow disk earlier (@AFTER)",
    )


def _short_rebuild(took_s: float) -> Doubt:
    return limits_the_answer(
        "short rebuild",
        f"the lost node was back after {format_seconds(took_s)}. Its start and a checkpoint "
        "take seconds of that on any disk",
        advice="load more data, so that copying them takes most of the time",
    )
