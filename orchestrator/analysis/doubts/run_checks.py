"""Doubts about a single finished run: one small function for each kind, listed in `kinds`. Pure."""

import math

from orchestrator.analysis import results
from orchestrator.analysis.doubts.validity import Reasons
from orchestrator.analysis.results import RunData
from orchestrator.analysis.statistics import stats
from orchestrator.analysis.telemetry import conservation, loads
from orchestrator.analysis.telemetry.causes import CEILING_PCT, HOST_PCT
from orchestrator.analysis.telemetry.resources import Values
from orchestrator.facts import OTHERS
from orchestrator.model import Record
from orchestrator.tier import NoDisk, OthersDisks, Unlimited
from orchestrator.units import format_bytes, format_change, format_number, format_seconds, listed

SHORT_S = 30.0
OTHERS_PCT = 25.0  # the kernel's own work for network and loop devices is among it
OTHERS_WORK_PCT = 5.0  # by so much two tiers may differ and be the same
FAILURES_PCT = 1.0
RETRIES_PCT = 5.0
LITTLE_PCT = 5.0
LOST_S = 2.5  # between two samples, where each second has one
GATE_AGE_S = 24 * 3600.0
KEPT_GATE_AGE_S = 7 * GATE_AGE_S  # a gate is kept while nothing that it depends on changes


def unsteady(run: RunData, _: Values) -> Reasons:
    if results.generator(run.record).ends_with_work:
        return  # a piece of work has no steady state
    rows = run.intervals[run.intervals["phase"] == "measure"]
    drift = stats.steadiness(rows["time_s"].tolist(), rows["throughput_per_s"].tolist())
    if drift is not None and not drift.steady:
        phase = run.record.phase("warm-up")
        warmup = format_seconds(phase.duration_s if phase else run.record.workload.warmup_s)
        yield (
            f"throughput drifted by {format_change(drift.drift_pct)} over the measured window "
            f"(second half {format_change(drift.halves_pct)} against the first)",
            f"warm up for longer than {warmup}, or measure for longer",
        )


def given_up(run: RunData, _: Values) -> Reasons:
    facts = results.generator(run.record)
    if facts.warmup_steady is False:
        yield (
            f"throughput had not become steady after {format_seconds(facts.warmup_s or 0.0)} of "
            "warm-up, the longest allowed",
            "see the charts over time; a longer `warmup` in the workload's file allows more",
        )


def short(run: RunData, _: Values) -> Reasons:
    measured_s = results.measured_s(run.record)
    if measured_s < SHORT_S:
        yield (
            f"{format_seconds(measured_s)} were measured: too short for caches and background "
            "writes to show",
            f"take a larger --scale than {run.record.workload.scale}",
        )


def cached(run: RunData, _: Values) -> Reasons:
    facts = results.database(run.record)
    data, cache = facts.data_bytes, facts.cache_bytes
    if data is not None and cache is not None and 0 < data <= cache:
        yield (
            f"{format_bytes(data)} of data on a node with {format_bytes(cache)} of cache: reads do "
            "not reach the disk, so they cannot tell tiers apart",
            "load more data, or give the nodes less memory",
        )


def host_saturated(run: RunData, values: Values) -> Reasons:
    busy = values.get("host_cpu_pct", 0.0)
    if busy >= HOST_PCT:
        load, fewer = "database, load generator and disks all", "fewer --nodes "
        if results.of_others(run.record):
            load, fewer = "the load generator", ""
        several = sum(node.role == "host" for node in run.record.nodes) > 1
        yield (
            f"the CPU of one of the machines was {busy:.0f} % busy"
            if several
            else f"the machine's CPU was {busy:.0f} % busy, with {load} on it",
            f"use a machine with more cores, {fewer}or fewer threads",
        )


def others_busy(_: RunData, values: Values) -> Reasons:
    other_pct = values.get("other_cpu_pct", 0.0)
    if other_pct >= OTHERS_PCT:
        yield (
            f"{other_pct:.0f} % of the machine's CPU went to something else than database, load "
            "generator and disk servers",
            "stop what else runs on the machine, and measure again",
        )


def no_telemetry(run: RunData, values: Values) -> Reasons:
    absent = [name for name in ("cpu_pct", "disk_iops", "host_cpu_pct") if name not in values]
    if absent and "published" not in run.record.facts:
        yield (
            f"not sampled over the measured window: {', '.join(absent)}",
            "see `telemetry` among the run's facts for what could not be read",
        )
    seconds = run.telemetry.by_second
    of_nodes = seconds[seconds["phase"] == "measure"].groupby("node", observed=True)["time_s"]
    longest_s = {str(node): float(times_s.diff().max()) for node, times_s in of_nodes}
    if lost := [f"{format_seconds(s)} of {node}" for node, s in longest_s.items() if s > LOST_S]:
        yield (
            f"seconds of the window were not sampled: {listed(lost)} are known by their sum only",
            "give the machine more CPU than nodes and clients use",
        )


def failures(run: RunData, _: Values) -> Reasons:
    if (results.failed_pct(run.record) or 0.0) >= FAILURES_PCT:
        yield _beside("failures", run)


def retries(run: RunData, _: Values) -> Reasons:
    done = results.value_of(run.record, "transactions") or 0.0
    retried = results.value_of(run.record, "retries") or 0.0
    if retried > 0 and 100 * retried >= RETRIES_PCT * done:
        yield _beside("retries", run)


def _beside(metric: str, run: RunData) -> tuple[str, str]:
    done, count = (results.value_of(run.record, name) for name in ("transactions", metric))
    return (
        f"{format_number(count or 0.0)} {metric} beside {format_number(done or 0.0)} transactions",
        "see `errors` among the run's facts; what failed is not counted as throughput",
    )


def few_transactions(run: RunData, _: Values) -> Reasons:
    done, needed = results.value_of(run.record, "transactions"), stats.percentile_min_count(99)
    if done is not None and done < needed:
        yield (
            f"{format_number(done)} transactions carry no 99th percentile ({needed:,} needed)",
            "measure for longer",
        )


def no_gate(run: RunData, _: Values) -> Reasons:
    gate, tier = run.record.gate, run.record.profile.tier
    if "published" in run.record.facts:
        return
    if gate is None or (not gate.checks and not isinstance(tier.disk, (Unlimited, NoDisk))):
        yield (
            f"nothing was measured that says the disk is what {tier.name} declares",
            "run fio on the nodes' own disks: those of a cluster that others run are not measured"
            if isinstance(tier.disk, OthersDisks)
            else f"run `tierbench calibrate --profile {run.record.profile.name}`",
        )


def old_gate(run: RunData, values: Values) -> Reasons:
    gate, window = run.record.gate, results.measured_window(run.record)
    if gate is None or window is None or any(no_gate(run, values)):
        return
    age_s = window[0] - gate.taken_s
    if age_s > (KEPT_GATE_AGE_S if gate.reused else GATE_AGE_S):
        yield (
            f"the truth gate was taken {format_seconds(age_s)} before",
            f"run `tierbench calibrate --profile {run.record.profile.name}` first",
        )


def burst_credit(run: RunData, _: Values) -> Reasons:
    if run.record.profile.tier.limits.burst is None:
        return
    disks = run.telemetry.against_caps.values()
    drawn = [own for own in disks if own.get("time_above_base_pct", 0.0) > 0]
    left_pct = max((own["burst_credit_left_pct"] for own in drawn), default=0.0)
    if left_pct > 0:
        above_pct = max(own["time_above_base_pct"] for own in drawn)
        yield (
            f"the disk was above its base rate in {above_pct:.0f} % of the window, and "
            f"{left_pct:.0f} % of the burst credit was left at the end: the figures are the "
            "burst's, not what the tier sustains",
            "start with `burst: {start: empty}`, or measure for longer",
        )


def little(run: RunData, _: Values) -> Reasons:
    record, in_flight = run.record, conservation.in_flight(run)
    if in_flight is None:
        return
    off_pct = 100 * (in_flight / record.workload.threads - 1)
    if abs(off_pct) > LITTLE_PCT + _edges_pct(record):
        yield (
            f"throughput × latency = {in_flight:.1f} transactions in flight, with "
            f"{record.workload.threads} threads ({format_change(off_pct)})",
            "threads were idle or stuck, or a figure is wrong: see the run's raw output",
        )


def _edges_pct(record: Record) -> float:
    """How far the ends of a window put Little's law off. At each end every thread is somewhere in a
    transaction, at most the longest; of independent threads such errors add up by their squares."""
    longest_s = results.value_of(record, "latency_max_s") or 0.0
    return 100 * longest_s * math.sqrt(2 / record.workload.threads) / results.measured_s(record)


def ceiling(run: RunData, _: Values) -> Reasons:
    ceiling, share_pct = loads.ceiling_nopm(run.record), loads.of_ceiling_pct(run.record)
    if ceiling and share_pct is not None and share_pct >= CEILING_PCT:
        yield (
            f"{share_pct:.1f} % of the {format_number(ceiling)} New-Orders a minute "
            "that think time allows: throughput cannot tell tiers apart",
            "compare latencies, or take `think: none`",
        )


def not_durable(run: RunData, _: Values) -> Reasons:
    if results.database(run.record).durable is False:
        yield (
            "the database answers commits before they are on the disk, so tiers look alike in "
            "writing",
            "its owner decides whether it shall: docs/YUGABYTEDB.md says what the settings mean"
            if results.of_others(run.record)
            else "leave the durability settings out of the profile",
        )


def other_build(run: RunData, _: Values) -> Reasons:
    facts = results.database(run.record)
    wanted, running = facts.version_asked, facts.version
    if wanted and "-b" in wanted and running != wanted:
        yield (
            f"the profile asks for {wanted}, the servers say {running}",
            "correct `version` in the profile; without a build in it, the servers' pages could not "
            "be read",
        )


def not_read(run: RunData, _: Values) -> Reasons:
    if reasons := results.database(run.record).not_read:
        yield (
            f"the database's servers did not say all that was asked: {reasons}",
            "`tierbench doctor --db yugabytedb` shows which pages of this release are different",
        )


def leaders_moved(run: RunData, _: Values) -> Reasons:
    if reasons := results.database(run.record).leaders_moved:
        yield (
            f"nodes did not have the same share of the work all the time: {reasons}",
            "repeat the run; if it stays so, look at `zones` and at the masters' logs",
        )


def whole_tables(run: RunData, _: Values) -> Reasons:
    """Ranges of hashed keys: yugabyte/yugabyte-db issue 23585. The fork's tables may be ordered."""
    load, facts = run.record.workload, results.database(run.record)
    by_key = load.script in ("oltp_read_only", "oltp_read_write") and not (
        load.options.get("range_selects") in (0, "off")  # a file's `off` is read as 0
        or load.dataset.parameters.get("range_key_partitioning") in (1, "on")
    )
    setting = "yb_use_hash_splitting_by_default"
    hashed = (facts.execution or {}).get(setting) != "off"
    database = facts.more.get("flavour", run.record.profile.cluster.database)
    if database == "yugabytedb" and hashed and (by_key or load.script == "select_random_ranges"):
        yield (
            "keys are sharded by their hash, so each range of keys reads a whole table",
            f"set `tserver.ysql_pg_conf_csv: {setting}=false` (from 2024.2 on)",
        )


def pooler(run: RunData, _: Values) -> Reasons:
    if evidence := results.database(run.record).pooler:
        yield (
            f"a connection pooler answers for the database: {evidence}. Latency has the wait for a "
            "free server session in it, fewer sessions than the load has threads may be open, and "
            "settings of a session may not hold",
            "name the database's own hosts and ports in `existing.hosts`, unless the pooler is "
            "what you want to measure too",
        )


def others_at_work(run: RunData, _: Values) -> Reasons:
    facts, shares = results.database(run.record), list[str]()
    for name in facts.since_reset:
        of_others, what = facts.counter(name), name.removeprefix(OTHERS)
        of_all = facts.counter(what)
        if name != what and of_others and of_all and 100 * of_others >= OTHERS_WORK_PCT * of_all:
            counts = f"{format_number(of_others)} of {format_number(of_all)}"
            pct = 100 * of_others / of_all
            shares.append(f"{counts} {what.replace('_', ' ')} ({pct:.0f} %)")
    if shares:
        yield (
            f"other databases of the cluster were at work meanwhile: {', '.join(shares)}",
            "measure while nobody else uses the cluster, or repeat until chance evens it out",
        )
