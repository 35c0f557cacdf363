"""Doubts about a single finished run: one small function for each kind, listed in `kinds`. Pure."""

import math

from orchestrator.analysis import results
from orchestrator.analysis.doubts.validity import Reasons, reason
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
        whole, halves = map(format_change, (drift.drift_pct, drift.halves_pct))
        yield reason("unsteady throughput", drift=whole, halves=halves, warmup=warmup)


def given_up(run: RunData, _: Values) -> Reasons:
    facts = results.generator(run.record)
    if facts.warmup_steady is False:
        yield reason("warm-up given up", warmup=format_seconds(facts.warmup_s or 0.0))


def short(run: RunData, _: Values) -> Reasons:
    load, measured_s = run.record.workload, results.measured_s(run.record)
    if measured_s < SHORT_S:
        measured = format_seconds(measured_s)
        yield reason("short window", measured=measured, scale=load.scale)


def cached(run: RunData, _: Values) -> Reasons:
    facts = results.database(run.record)
    data, cache = facts.data_bytes, facts.cache_bytes
    if data is not None and cache is not None and 0 < data <= cache:
        yield reason("data fits in the cache", data=format_bytes(data), cache=format_bytes(cache))


def host_saturated(run: RunData, values: Values) -> Reasons:
    busy = values.get("host_cpu_pct", 0.0)
    if busy >= HOST_PCT:
        load, fewer = "database, load generator and disks all", "fewer --nodes "
        if results.of_others(run.record):
            load, fewer = "the load generator", ""
        several = sum(node.role == "host" for node in run.record.nodes) > 1
        case = "host saturated (several)" if several else "host saturated"
        yield reason(case, busy=busy, load=load, fewer=fewer)


def others_busy(_: RunData, values: Values) -> Reasons:
    other_pct = values.get("other_cpu_pct", 0.0)
    if other_pct >= OTHERS_PCT:
        yield reason("machine shared", pct=other_pct)


def no_telemetry(run: RunData, values: Values) -> Reasons:
    absent = [name for name in ("cpu_pct", "disk_iops", "host_cpu_pct") if name not in values]
    if absent and "published" not in run.record.facts:
        yield reason("telemetry gaps", absent=", ".join(absent))
    seconds = run.telemetry.by_second
    of_nodes = seconds[seconds["phase"] == "measure"].groupby("node", observed=True)["time_s"]
    longest_s = {str(node): float(times_s.diff().max()) for node, times_s in of_nodes}
    if lost := [f"{format_seconds(s)} of {node}" for node, s in longest_s.items() if s > LOST_S]:
        yield reason("telemetry gaps (seconds)", lost=listed(lost))


def failures(run: RunData, _: Values) -> Reasons:
    if (results.failed_pct(run.record) or 0.0) >= FAILURES_PCT:
        yield _beside("failures", run)


def retries(run: RunData, _: Values) -> Reasons:
    done = results.value_of(run.record, "transactions") or 0.0
    retried = results.value_of(run.record, "retries") or 0.0
    if retried > 0 and 100 * retried >= RETRIES_PCT * done:
        yield _beside("retries", run)


def _beside(metric: str, run: RunData) -> tuple[str, str]:
    values = (results.value_of(run.record, name) or 0.0 for name in ("transactions", metric))
    done, count = map(format_number, values)
    return reason("failures and retries", count=count, metric=metric, done=done)


def few_transactions(run: RunData, _: Values) -> Reasons:
    done, needed = results.value_of(run.record, "transactions"), stats.percentile_min_count(99)
    if done is not None and done < needed:
        yield reason("few transactions", done=format_number(done), needed=needed)


def no_gate(run: RunData, _: Values) -> Reasons:
    gate, profile = run.record.gate, run.record.profile
    disk = profile.tier.disk
    if "published" in run.record.facts:
        return
    if gate is None or (not gate.checks and not isinstance(disk, (Unlimited, NoDisk))):
        others = isinstance(disk, OthersDisks)
        case = "no truth gate (others' disks)" if others else "no truth gate"
        yield reason(case, tier=profile.tier.name, profile=profile.name)


def old_gate(run: RunData, values: Values) -> Reasons:
    gate, window = run.record.gate, results.measured_window(run.record)
    if gate is None or window is None or any(no_gate(run, values)):
        return
    age_s = window[0] - gate.taken_s
    if age_s > (KEPT_GATE_AGE_S if gate.reused else GATE_AGE_S):
        profile = run.record.profile.name
        yield reason("old truth gate", age=format_seconds(age_s), profile=profile)


def burst_credit(run: RunData, _: Values) -> Reasons:
    if run.record.profile.tier.limits.burst is None:
        return
    disks = run.telemetry.against_caps.values()
    drawn = [own for own in disks if own.get("time_above_base_pct", 0.0) > 0]
    left_pct = max((own["burst_credit_left_pct"] for own in drawn), default=0.0)
    if left_pct > 0:
        above_pct = max(own["time_above_base_pct"] for own in drawn)
        yield reason("burst credit left", above=above_pct, left=left_pct)


def little(run: RunData, _: Values) -> Reasons:
    record, in_flight = run.record, conservation.in_flight(run)
    if in_flight is None:
        return
    threads = record.workload.threads
    off_pct = 100 * (in_flight / threads - 1)
    if abs(off_pct) > LITTLE_PCT + _edges_pct(record):
        off = format_change(off_pct)
        yield reason("Little's law", in_flight=in_flight, threads=threads, off=off)


def _edges_pct(record: Record) -> float:
    """How far the ends of a window put Little's law off. At each end every thread is somewhere in a
    transaction, at most the longest; of independent threads such errors add up by their squares."""
    longest_s = results.value_of(record, "latency_max_s") or 0.0
    return 100 * longest_s * math.sqrt(2 / record.workload.threads) / results.measured_s(record)


def ceiling(run: RunData, _: Values) -> Reasons:
    ceiling, share_pct = loads.ceiling_nopm(run.record), loads.of_ceiling_pct(run.record)
    if ceiling and share_pct is not None and share_pct >= CEILING_PCT:
        yield reason("think time's ceiling", share=share_pct, ceiling=format_number(ceiling))


def not_durable(run: RunData, _: Values) -> Reasons:
    if results.database(run.record).durable is False:
        others = results.of_others(run.record)
        yield reason("commits not durable (others' database)" if others else "commits not durable")


def other_build(run: RunData, _: Values) -> Reasons:
    facts = results.database(run.record)
    wanted, running = facts.version_asked, facts.version
    if wanted and "-b" in wanted and running != wanted:
        yield reason("another build", wanted=wanted, running=running)


def not_read(run: RunData, _: Values) -> Reasons:
    if reasons := results.database(run.record).not_read:
        yield reason("facts not read", reasons=reasons)


def leaders_moved(run: RunData, _: Values) -> Reasons:
    if reasons := results.database(run.record).leaders_moved:
        yield reason("leaders moved", reasons=reasons)


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
        yield reason("whole tables read", setting=setting)


def pooler(run: RunData, _: Values) -> Reasons:
    if evidence := results.database(run.record).pooler:
        yield reason("connection pooler", evidence=evidence)


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
        yield reason("others at work", shares=", ".join(shares))
