"""Kinds of doubt about a single finished run: one small function each, listed at the end. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Literal

from orchestrator.analysis import disk_demand, resources, results, stats
from orchestrator.analysis.bottlenecks import CEILING_PCT, CLIENT_PCT, HOST_PCT
from orchestrator.analysis.doubts.load_checks import not_checked, overload
from orchestrator.analysis.resources import Used
from orchestrator.analysis.results import RunData
from orchestrator.facts import DoubtKind
from orchestrator.model import Doubt
from orchestrator.units import (
    format_bytes,
    format_change,
    format_number,
    format_seconds,
    parse_seconds,
)

SHORT_S = 30.0
CHECKPOINTS = 2
WRITING_SHARE = 0.1  # of a run's I/Os: then checkpoints matter to it
OTHERS_PCT = 25.0  # the kernel's own work for network and loop devices is among it
FAILURES_PCT = 1.0
RETRIES_PCT = 5.0
LITTLE_PCT = 5.0
TOTALS_PCT = 0.5
GATE_AGE_S = 24 * 3600.0
KEPT_GATE_AGE_S = 7 * GATE_AGE_S  # a gate is kept while nothing that it depends on changes


def _unsteady(run: RunData, _: Used) -> Iterator[Doubt]:
    rows = results.measured_intervals(run)
    drift = stats.steadiness(rows["time_s"].tolist(), rows["throughput_per_s"].tolist())
    if drift is None or drift.steady:
        return
    warmup = format_seconds(run.record.workload.warmup_s)
    yield _doubt(
        run,
        "unsteady throughput",
        f"throughput drifted by {format_change(drift.drift_pct)} over the measured window "
        f"(second half {format_change(drift.halves_pct)} against the first)",
        f"warm up for longer than {warmup}, or measure for longer",
    )


def _short(run: RunData, _: Used) -> Iterator[Doubt]:
    measured_s = run.record.workload.measure_s
    if measured_s < SHORT_S:
        yield _doubt(
            run,
            "short window",
            f"{format_seconds(measured_s)} were measured: too short for caches and background "
            "writes to show",
            f"take a larger SCALE than {run.record.workload.scale}",
        )


def _checkpoints(run: RunData, used: Used) -> Iterator[Doubt]:
    interval = (results.database(run.record).settings or {}).get("checkpoint_timeout")
    writes, every = used.get("disk_write_iops"), used.get("disk_iops")
    if interval is None or not writes or not every or writes < WRITING_SHARE * every:
        return
    try:
        interval_s = parse_seconds(interval)
    except ValueError:
        return
    if run.record.workload.measure_s < CHECKPOINTS * interval_s:
        yield _doubt(
            run,
            "few checkpoints",
            f"{format_seconds(run.record.workload.measure_s)} are less than {CHECKPOINTS} "
            f"checkpoint intervals of {format_seconds(interval_s)}: writes put off until a "
            "checkpoint may be outside the window",
            "measure for longer, or give every profile the same shorter checkpoint_timeout",
        )


def _cached(run: RunData, _: Used) -> Iterator[Doubt]:
    facts = results.database(run.record)
    data, cache = facts.data_bytes, facts.cache_bytes
    if data is not None and cache is not None and 0 < data <= cache:
        yield _doubt(
            run,
            "data fits in the cache",
            f"{format_bytes(data)} of data on a node with {format_bytes(cache)} of cache: reads do "
            "not reach the disk, so they cannot tell tiers apart",
            "load more data, or give the nodes less memory",
        )


def _client_busy(run: RunData, used: Used) -> Iterator[Doubt]:
    client_pct = used.get("client_cpu_pct", 0.0)
    if client_pct >= CLIENT_PCT:
        yield _doubt(
            run,
            "client busy",
            f"the load generator used {client_pct:.0f} % of the machine's CPU: it may be the limit",
            "use fewer threads, or run the client on a machine of its own",
        )


def _host_saturated(run: RunData, used: Used) -> Iterator[Doubt]:
    busy = used.get("host_cpu_pct", 0.0)
    if busy >= HOST_PCT:
        theirs = _of_others(run)
        yield _doubt(
            run,
            "host saturated",
            f"the machine's CPU was {busy:.0f} % busy, with "
            + ("the load generator" if theirs else "database, load generator and disks all")
            + " on it",
            f"use a machine with more cores, {'' if theirs else 'fewer NODES '}or fewer threads",
        )


def _others_busy(run: RunData, used: Used) -> Iterator[Doubt]:
    other_pct = used.get("other_cpu_pct", 0.0)
    if other_pct >= OTHERS_PCT:
        yield _doubt(
            run,
            "machine shared",
            f"{other_pct:.0f} % of the machine's CPU went to something else than database, load "
            "generator and disk servers",
            "stop what else runs on the machine, and measure again",
        )


def _no_telemetry(run: RunData, used: Used) -> Iterator[Doubt]:
    wanted = ("cpu_pct", "disk_iops", "host_cpu_pct")
    absent = [name for name in wanted if name not in used]
    if absent:
        yield _doubt(
            run,
            "telemetry gaps",
            f"not sampled over the measured window: {', '.join(absent)}",
            "see `telemetry` among the run's facts for what could not be read",
        )


def _failures(run: RunData, _: Used) -> Iterator[Doubt]:
    done = results.value_of(run.record, "transactions") or 0.0
    most: dict[Literal["failures", "retries"], float] = {
        "failures": FAILURES_PCT,
        "retries": RETRIES_PCT,
    }
    for metric, most_pct in most.items():
        count = results.value_of(run.record, metric) or 0.0
        tried = done + count if metric == "failures" else done
        if count > 0 and 100 * count >= most_pct * tried:
            yield _doubt(
                run,
                metric,
                f"{format_number(count)} {metric} beside {format_number(done)} transactions",
                "see `errors` among the run's facts; what failed is not counted as throughput",
            )


def _few_transactions(run: RunData, _: Used) -> Iterator[Doubt]:
    done, needed = results.value_of(run.record, "transactions"), stats.percentile_min_count(99)
    if done is not None and done < needed:
        yield _doubt(
            run,
            "few transactions",
            f"{format_number(done)} transactions carry no 99th percentile ({needed:,} needed)",
            "measure for longer",
        )


def _gate(run: RunData, _: Used) -> Iterator[Doubt]:
    gate, tier = run.record.gate, run.record.profile.tier
    if gate is None or (not gate.checks and tier.kind not in ("none", "dry")):
        yield _doubt(
            run,
            "no truth gate",
            f"nothing was measured that says the disk is what {tier.name} declares",
            "run fio on the nodes' own disks: those of a cluster that others run are not measured"
            if tier.kind == "existing"
            else f"run `make calibrate PROFILE={run.record.profile.name}`",
        )
        return
    if not gate.passed:
        bad = [check for check in gate.checks if not check.passed]
        yield _doubt(
            run,
            "gate not passed",
            f"the disk is not what {tier.name} declares: "
            + "; ".join(f"{check.limit} {check.verdict}" for check in bad),
            "its figures are not compared; see docs/TIERS.md",
        )
    window = results.measured_window(run.record)
    oldest_s = KEPT_GATE_AGE_S if gate.reused else GATE_AGE_S
    if window is not None and window[0] - gate.taken_s > oldest_s:
        yield _doubt(
            run,
            "old truth gate",
            f"the truth gate was taken {format_seconds(window[0] - gate.taken_s)} before",
            f"run `make calibrate PROFILE={run.record.profile.name}` first",
        )


def _limits_changed(run: RunData, _: Used) -> Iterator[Doubt]:
    if run.record.facts.get("limit_changes"):
        yield _doubt(
            run,
            "limits changed",
            "the disk's limits were changed while this ran: its figures are not the tier's",
            "use it to see what the limit does, not to compare tiers",
        )


def _burst_credit(run: RunData, _: Used) -> Iterator[Doubt]:
    window = results.measured_window(run.record)
    if window is None or run.record.profile.tier.burst is None:
        return
    left = [
        float(found.credit_pct[-1])
        for node in run.record.nodes
        if node.role == "database"
        and (whole := disk_demand.demand(run.record.profile.tier, run.samples, node.name))
        and (found := whole.within(*window)).credit_pct is not None
        and found.credit_pct.size
    ]
    if left and max(left) > 0:
        yield _doubt(
            run,
            "burst credit left",
            f"{max(left):.0f} % of the burst credit was left at the end: the figures are the "
            "burst's, not what the tier sustains",
            "start with `burst: {start: empty}`, or measure for longer",
        )


def _little(run: RunData, _: Used) -> Iterator[Doubt]:
    record = run.record
    rate = results.value_of(record, "throughput_per_s")
    latency_s = results.value_of(record, "latency_avg_s")
    if (
        rate is None
        or latency_s is None
        or resources.paced(record)
        or "cells" in record.workload.options
    ):
        return  # each cell of a matrix has its own load
    failed = (results.value_of(record, "failures") or 0.0) / record.workload.measure_s
    in_flight = (rate + failed) * latency_s
    off_pct = 100 * (in_flight / record.workload.threads - 1)
    if abs(off_pct) > LITTLE_PCT:
        yield _doubt(
            run,
            "Little's law",
            f"throughput × latency = {in_flight:.1f} transactions in flight, with "
            f"{record.workload.threads} threads ({format_change(off_pct)})",
            "threads were idle or stuck, or a figure is wrong: see the run's raw output",
        )


def _ceiling(run: RunData, _: Used) -> Iterator[Doubt]:
    ceiling = resources.ceiling_nopm(run.record)
    nopm = results.value_of(run.record, "nopm")
    if ceiling and nopm is not None and 100 * nopm >= CEILING_PCT * ceiling:
        yield _doubt(
            run,
            "think time's ceiling",
            f"{100 * nopm / ceiling:.1f} % of the {format_number(ceiling)} New-Orders a minute "
            "that think time allows: throughput cannot tell tiers apart",
            "compare latencies, or take `think: none`",
        )


def _totals(run: RunData, _: Used) -> Iterator[Doubt]:
    facts = results.generator(run.record)
    own, kept = facts.sysbench_transactions, facts.recorded_transactions
    if own is None or kept is None:
        return
    least = min(abs(own - kept), abs(own - (kept - (facts.recorded_failures or 0.0))))
    if least > max(TOTALS_PCT / 100 * kept, 2.0 * run.record.workload.threads):
        yield _doubt(
            run,
            "totals differ",
            f"sysbench counted {format_number(own)} transactions, {format_number(kept)} were kept "
            "one by one",
            "transactions were lost on the way: see the run's raw output",
        )


def _not_durable(run: RunData, _: Used) -> Iterator[Doubt]:
    if results.database(run.record).durable is False:
        yield _doubt(
            run,
            "commits not durable",
            "the database answers commits before they are on the disk, so tiers look alike in "
            "writing",
            "its owner decides whether it shall: docs/YUGABYTEDB.md says what the settings mean"
            if _of_others(run)
            else "leave the durability settings out of the profile",
        )


def _other_build(run: RunData, _: Used) -> Iterator[Doubt]:
    facts = results.database(run.record)
    asked, running = facts.version_asked, facts.version
    if asked and "-b" in asked and running != asked:
        yield _doubt(
            run,
            "another build",
            f"the profile asks for {asked}, the servers say {running}",
            "correct `version` in the profile; without a build in it, the servers' pages could not "
            "be read",
        )


def _of_others(run: RunData) -> bool:
    """Whether others run the cluster: then its nodes and settings are not ours to change."""
    return run.record.profile.cluster.database == "existing"


def _doubt(run: RunData, kind: DoubtKind, text: str, advice: str) -> Doubt:
    return Doubt(kind, text, advice, run.record.run.number)


RUN_CHECKS: tuple[Callable[[RunData, Used], Iterable[Doubt]], ...] = (
    _gate,
    _limits_changed,
    _unsteady,
    _short,
    _checkpoints,
    _cached,
    _client_busy,
    _host_saturated,
    _others_busy,
    _no_telemetry,
    _failures,
    _few_transactions,
    _burst_credit,
    overload,
    _little,
    _ceiling,
    _totals,
    _not_durable,
    _other_build,
    not_checked,
)
