"""Kinds of doubt about a single finished run: one small function each, listed at the end. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping

from orchestrator import evidence, frames, stats
from orchestrator.attribution import CEILING_PCT, CLIENT_PCT, HOST_PCT
from orchestrator.frames import RunData
from orchestrator.model import Doubt, Record
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
OPEN_LOOP = ("arrival_rate", "arrival-rate", "rate")  # options that set the load's own pace

Telemetry = Mapping[tuple[str, str], float]


def _unsteady(run: RunData, _: Telemetry) -> Iterator[Doubt]:
    rows = frames.measured_intervals(run)
    found = stats.steadiness(rows["time_s"].tolist(), rows["throughput_per_s"].tolist())
    if found is None or found.steady:
        return
    warmup = format_seconds(run.record.workload.warmup_s)
    yield _doubt(
        run,
        "unsteady throughput",
        f"throughput drifted by {format_change(found.drift_pct)} over the measured window "
        f"(second half {format_change(found.halves_pct)} against the first)",
        f"warm up for longer than {warmup}, or measure for longer",
    )


def _short(run: RunData, _: Telemetry) -> Iterator[Doubt]:
    measured_s = run.record.workload.measure_s
    if measured_s < SHORT_S:
        yield _doubt(
            run,
            "short window",
            f"{format_seconds(measured_s)} were measured: too short for caches and background "
            "writes to show",
            f"take a larger SCALE than {run.record.workload.scale}",
        )


def _checkpoints(run: RunData, telemetry: Telemetry) -> Iterator[Doubt]:
    settings = frames.fact(run.record, "settings")
    interval = settings.get("checkpoint_timeout") if isinstance(settings, Mapping) else None
    writes, every = telemetry.get(("disk_write_iops", "all")), telemetry.get(("disk_iops", "all"))
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


def _cached(run: RunData, _: Telemetry) -> Iterator[Doubt]:
    data, cache = _number(run.record, "data_bytes"), _number(run.record, "cache_bytes")
    if data is not None and cache is not None and 0 < data <= cache:
        yield _doubt(
            run,
            "data fits in the cache",
            f"{format_bytes(data)} of data on a node with {format_bytes(cache)} of cache: reads do "
            "not reach the disk, so they cannot tell tiers apart",
            "load more data, or give the nodes less memory",
        )


def _client_busy(run: RunData, telemetry: Telemetry) -> Iterator[Doubt]:
    used = telemetry.get(("client_cpu_pct", "all"), 0.0)
    if used >= CLIENT_PCT:
        yield _doubt(
            run,
            "client busy",
            f"the load generator used {used:.0f} % of the machine's CPU: it may be the limit",
            "use fewer threads, or run the client on a machine of its own",
        )


def _host_saturated(run: RunData, telemetry: Telemetry) -> Iterator[Doubt]:
    busy = telemetry.get(("host_cpu_pct", "all"), 0.0)
    if busy >= HOST_PCT:
        yield _doubt(
            run,
            "host saturated",
            f"the machine's CPU was {busy:.0f} % busy, with database, load generator and disks all "
            "on it",
            "use a machine with more cores, fewer NODES or fewer threads",
        )


def _others_busy(run: RunData, telemetry: Telemetry) -> Iterator[Doubt]:
    used = telemetry.get(("other_cpu_pct", "all"), 0.0)
    if used >= OTHERS_PCT:
        yield _doubt(
            run,
            "machine shared",
            f"{used:.0f} % of the machine's CPU went to something else than database, load "
            "generator and disk servers",
            "stop what else runs on the machine, and measure again",
        )


def _no_telemetry(run: RunData, telemetry: Telemetry) -> Iterator[Doubt]:
    wanted = ("cpu_pct", "disk_iops", "host_cpu_pct")
    absent = [name for name in wanted if (name, "all") not in telemetry]
    if absent:
        yield _doubt(
            run,
            "telemetry gaps",
            f"not sampled over the measured window: {', '.join(absent)}",
            "see `telemetry` among the run's facts for what could not be read",
        )


def _failures(run: RunData, _: Telemetry) -> Iterator[Doubt]:
    done = frames.value_of(run.record, "transactions") or 0.0
    for metric, most_pct in (("failures", FAILURES_PCT), ("retries", RETRIES_PCT)):
        count = frames.value_of(run.record, metric) or 0.0
        tried = done + count if metric == "failures" else done
        if count > 0 and 100 * count >= most_pct * tried:
            yield _doubt(
                run,
                metric,
                f"{format_number(count)} {metric} beside {format_number(done)} transactions",
                "see `errors` among the run's facts; what failed is not counted as throughput",
            )


def _few_transactions(run: RunData, _: Telemetry) -> Iterator[Doubt]:
    done, needed = frames.value_of(run.record, "transactions"), stats.percentile_min_count(99)
    if done is not None and done < needed:
        yield _doubt(
            run,
            "few transactions",
            f"{format_number(done)} transactions carry no 99th percentile ({needed:,} needed)",
            "measure for longer",
        )


def _gate(run: RunData, _: Telemetry) -> Iterator[Doubt]:
    gate, tier = run.record.gate, run.record.profile.tier
    if gate is None or (not gate.checks and tier.enforcement != "none"):
        yield _doubt(
            run,
            "no truth gate",
            f"nothing was measured that says the disk is what {tier.name} declares",
            f"run `make calibrate PROFILE={run.record.profile.name}`",
        )
        return
    if not gate.passed:
        bad = [check for check in gate.checks if check.verdict not in ("ok", "not declared")]
        yield _doubt(
            run,
            "gate not passed",
            f"the disk is not what {tier.name} declares: "
            + "; ".join(f"{check.limit} {check.verdict}" for check in bad),
            "its figures are not compared; see docs/TIERS.md",
        )
    window = frames.measured_window(run.record)
    oldest_s = KEPT_GATE_AGE_S if gate.reused else GATE_AGE_S
    if window is not None and window[0] - gate.taken_s > oldest_s:
        yield _doubt(
            run,
            "old truth gate",
            f"the truth gate was taken {format_seconds(window[0] - gate.taken_s)} before",
            f"run `make calibrate PROFILE={run.record.profile.name}` first",
        )


def _limits_changed(run: RunData, _: Telemetry) -> Iterator[Doubt]:
    if run.record.facts.get("limit_changes"):
        yield _doubt(
            run,
            "limits changed",
            "the disk's limits were changed while this ran: its figures are not the tier's",
            "use it to see what the limit does, not to compare tiers",
        )


def _burst_credit(run: RunData, _: Telemetry) -> Iterator[Doubt]:
    window = frames.measured_window(run.record)
    if window is None or run.record.profile.tier.burst is None:
        return
    left = [
        float(found.credit_pct[-1])
        for node in run.record.nodes
        if node.role == "database"
        and (whole := evidence.demand(run.record.profile.tier, run.samples, node.name))
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


def _little(run: RunData, _: Telemetry) -> Iterator[Doubt]:
    record = run.record
    rate = frames.value_of(record, "throughput_per_s")
    latency_s = frames.value_of(record, "latency_avg_s")
    if rate is None or latency_s is None or _paced(record) or "cells" in record.workload.options:
        return  # each cell of a matrix has its own load
    failed = (frames.value_of(record, "failures") or 0.0) / record.workload.measure_s
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


def _paced(record: Record) -> bool:
    """Whether threads pause on purpose: then they are not all in flight."""
    options = record.workload.options
    open_loop = any(options.get(name) not in (None, 0, 0.0, "0", "") for name in OPEN_LOOP)
    return open_loop or str(options.get("think", "none")) != "none"


def _ceiling(run: RunData, _: Telemetry) -> Iterator[Doubt]:
    ceiling = evidence.ceiling_nopm(run.record)
    nopm = frames.value_of(run.record, "nopm")
    if ceiling and nopm is not None and 100 * nopm >= CEILING_PCT * ceiling:
        yield _doubt(
            run,
            "think time's ceiling",
            f"{100 * nopm / ceiling:.1f} % of the {format_number(ceiling)} New-Orders a minute "
            "that think time allows: throughput cannot tell tiers apart",
            "compare latencies, or take `think: none`",
        )


def _totals(run: RunData, _: Telemetry) -> Iterator[Doubt]:
    own = _number(run.record, "sysbench_transactions")
    kept, failed = (
        _number(run.record, "recorded_transactions"),
        _number(run.record, "recorded_failures"),
    )
    if own is None or kept is None:
        return
    least = min(abs(own - kept), abs(own - (kept - (failed or 0.0))))
    if least > max(TOTALS_PCT / 100 * kept, 2.0 * run.record.workload.threads):
        yield _doubt(
            run,
            "totals differ",
            f"sysbench counted {format_number(own)} transactions, {format_number(kept)} were kept "
            "one by one",
            "transactions were lost on the way: see the run's raw output",
        )


def _not_durable(run: RunData, _: Telemetry) -> Iterator[Doubt]:
    if frames.fact(run.record, "durable") is False:
        yield _doubt(
            run,
            "commits not durable",
            "the database answers commits before they are on the disk, so tiers look alike in "
            "writing",
            "leave the durability settings out of the profile",
        )


def _doubt(run: RunData, kind: str, text: str, advice: str) -> Doubt:
    return Doubt(kind, text, advice, run.record.run.number)


def _number(record: Record, key: str) -> float | None:
    value = frames.fact(record, key)
    return float(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else None


RUN_CHECKS: tuple[Callable[[RunData, Telemetry], Iterable[Doubt]], ...] = (
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
    _little,
    _ceiling,
    _totals,
    _not_durable,
)
