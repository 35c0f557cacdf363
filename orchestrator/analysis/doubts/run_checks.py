"""Doubts about a finished run, its disks apart: a function for each subject (`kinds`). Pure."""

import math
from contextlib import suppress
from functools import partial

from orchestrator.analysis import overload, results
from orchestrator.analysis.doubts.validity import Doubts, doubt
from orchestrator.analysis.results import RunData
from orchestrator.analysis.statistics import stats
from orchestrator.analysis.telemetry import (
    causes,
    conservation,
    counters,
    loads,
    machines,
)
from orchestrator.analysis.telemetry.resources import Values
from orchestrator.facts import OTHERS
from orchestrator.model import Record
from orchestrator.tier import NoDisk, OthersDisks, Unlimited
from orchestrator.units import format_number, format_seconds, parse_seconds

CLOCK_MOVED_S = 0.010
CLOCK_UNKNOWN_S = 0.050
LOST_PCT = 10.0  # of the window that was asked for
WAITED = 0.05  # of the latency that this wait is not in
# PostgreSQL writes back at checkpoints, YugabyteDB where a memory table is flushed and files are
# then merged. So many of them are asked for.
AT_LEAST = 2
WRITING_SHARE = 0.1  # of a run's I/Os: then it matters
SHORT_S = 30.0
OTHERS_PCT = 25.0  # the kernel's own work for network and loop devices is among it
OTHERS_WORK_PCT = 5.0  # by so much two tiers may differ and be the same
FAILURES_PCT = 1.0
RETRIES_PCT = 5.0
LITTLE_PCT = 5.0
LOST_S = 2.5  # between two samples, where each second has one
GATE_AGE_S = 24 * 3600.0
KEPT_GATE_AGE_S = (
    7 * GATE_AGE_S
)  # a gate is kept while nothing that it depends on changes


def windows(run: RunData, _: Values) -> Doubts:
    """That throughput was not steady in them, or that they were too short."""
    load, generator = run.record.workload, results.generator(run.record)
    if generator.warmup_steady is False:
        yield doubt("warm-up given up", warmup=generator.warmup_s or 0.0)
    # Neither a piece of work nor the loss of a node has a steady state.
    if load.lost_after_s is None and not generator.ends_with_work:
        rows = run.intervals[run.intervals["phase"] == "measure"]
        drift = stats.steadiness(
            rows["time_s"].tolist(), rows["throughput_per_s"].tolist()
        )
        if drift is not None and not drift.steady:
            phase = run.record.phase("warm-up")
            warmup_s = phase.duration_s if phase else load.warmup_s
            yield doubt("unsteady throughput", warmup=warmup_s, **vars(drift))
    if (measured_s := results.measured_s(run.record)) < SHORT_S:
        yield doubt("short window", measured=measured_s, scale=load.scale)
    took_s = results.value_of(run.record, "rebuild_s")
    if took_s is not None and took_s < SHORT_S:
        yield doubt("short rebuild", took=took_s)


def cached(run: RunData, _: Values) -> Doubts:
    facts = results.database(run.record)
    data, cache = facts.data_bytes, facts.cache_bytes
    if data is not None and cache is not None and 0 < data <= cache:
        yield doubt("data fits in the cache", data=data, cache=cache)


def machine(run: RunData, values: Values) -> Doubts:
    if (busy := values.get("host_cpu_pct", 0.0)) >= causes.HOST_PCT:
        several = sum(node.role == "host" for node in run.record.nodes) > 1
        others = results.of_others(run.record)
        yield doubt("host saturated", busy=busy, several=several, others=others)
    if (other_pct := values.get("other_cpu_pct", 0.0)) >= OTHERS_PCT:
        yield doubt("machine shared", pct=other_pct)


def no_telemetry(run: RunData, values: Values) -> Doubts:
    absent = [
        name for name in ("cpu_pct", "disk_iops", "host_cpu_pct") if name not in values
    ]
    if absent and "published" not in run.record.facts:
        yield doubt("telemetry gaps", absent=", ".join(absent))
    seconds = run.telemetry.by_second
    of_nodes = seconds[seconds["phase"] == "measure"].groupby("node", observed=True)[
        "time_s"
    ]
    longest_s = {str(node): float(times_s.diff().max()) for node, times_s in of_nodes}
    if run.record.workload.lost_after_s is not None:  # its last node was away
        longest_s.pop(f"node-{run.record.profile.cluster.nodes}", None)
    if lost := [
        f"{format_seconds(s)} of {node}" for node, s in longest_s.items() if s > LOST_S
    ]:
        yield doubt("telemetry gaps", "seconds", lost=lost)


def transactions(run: RunData, _: Values) -> Doubts:
    """That many failed or were tried again, or that there were few."""
    names = ("transactions", "failures", "retries")
    done, failed, retried = (results.value_of(run.record, name) for name in names)
    if (results.failed_pct(run.record) or 0.0) >= FAILURES_PCT:
        yield doubt("failures", count=failed or 0.0, done=done or 0.0)
    if retried and 100 * retried >= RETRIES_PCT * (done or 0.0):
        yield doubt("retries", count=retried, done=done or 0.0)
    needed = stats.percentile_min_count(99)
    if done is not None and done < needed:
        yield doubt("few transactions", done=done, needed=needed)


def truth_gate(run: RunData, _: Values) -> Doubts:
    """That there was none, or that it was long before."""
    gate, window, profile = (
        run.record.gate,
        results.measured_window(run.record),
        run.record.profile,
    )
    disk, published = profile.tier.disk, "published" in run.record.facts
    absent = gate is None or (
        not gate.checks and not isinstance(disk, (Unlimited, NoDisk))
    )
    if absent and not published:
        case = "others' disks" if isinstance(disk, OthersDisks) else ""
        yield doubt("no truth gate", case, tier=profile.tier.name, profile=profile.name)
    elif gate and window:
        age_s = window[0] - gate.taken_s
        if age_s > (KEPT_GATE_AGE_S if gate.reused else GATE_AGE_S):
            yield doubt("old truth gate", age=age_s, profile=profile.name)


def burst_credit(run: RunData, _: Values) -> Doubts:
    if run.record.profile.tier.limits.burst is None:
        return
    disks = run.telemetry.against_caps.values()
    drawn = [own for own in disks if own.get("time_above_base_pct", 0.0) > 0]
    left_pct = max((own["burst_credit_left_pct"] for own in drawn), default=0.0)
    if left_pct > 0:
        above_pct = max(own["time_above_base_pct"] for own in drawn)
        yield doubt("burst credit left", above=above_pct, left=left_pct)


def little(run: RunData, _: Values) -> Doubts:
    record, in_flight = run.record, conservation.in_flight(run)
    if in_flight is None:
        return
    threads = record.workload.threads
    off_pct = 100 * (in_flight / threads - 1)
    if abs(off_pct) > LITTLE_PCT + _edges_pct(record):
        yield doubt("Little's law", in_flight=in_flight, threads=threads, off=off_pct)


def _edges_pct(record: Record) -> float:
    """How far the ends of a window put Little's law off. At each end every thread is somewhere in a
    transaction, at most the longest; of independent threads such errors add up by their squares."""
    longest_s = results.value_of(record, "latency_max_s") or 0.0
    return (
        100
        * longest_s
        * math.sqrt(2 / record.workload.threads)
        / results.measured_s(record)
    )


def ceiling(run: RunData, _: Values) -> Doubts:
    ceiling, share_pct = (
        loads.ceiling_nopm(run.record),
        loads.of_ceiling_pct(run.record),
    )
    if ceiling and share_pct is not None and share_pct >= causes.CEILING_PCT:
        yield doubt("think time's ceiling", share=share_pct, ceiling=ceiling)


def database(run: RunData, _: Values) -> Doubts:
    """By what it said of itself, and its adapter noted."""
    facts = results.database(run.record)
    if facts.durable is False:
        others = results.of_others(run.record)
        yield doubt("commits not durable", "others' database" if others else "")
    wanted, running = facts.version_asked, facts.version
    if wanted and "-b" in wanted and running != wanted:
        yield doubt("another build", wanted=wanted, running=running)
    if facts.not_read:
        yield doubt("facts not read", reasons=facts.not_read)
    if facts.leaders_moved:
        yield doubt("leaders moved", reasons=facts.leaders_moved)
    if facts.pooler:
        yield doubt("connection pooler", evidence=facts.pooler)


def whole_tables(run: RunData, _: Values) -> Doubts:
    """Ranges of hashed keys: yugabyte/yugabyte-db issue 23585. The fork's tables may be ordered."""
    load, facts = run.record.workload, results.database(run.record)
    by_key = load.script in ("oltp_read_only", "oltp_read_write") and not (
        load.options.get("range_selects") in (0, "off")  # a file's `off` is read as 0
        or load.dataset.parameters.get("range_key_partitioning") in (1, "on")
    )
    setting = "yb_use_hash_splitting_by_default"
    hashed = (facts.execution or {}).get(setting) != "off"
    database = facts.more.get("flavour", run.record.profile.cluster.database)
    if (
        database == "yugabytedb"
        and hashed
        and (by_key or load.script == "select_random_ranges")
    ):
        yield doubt("whole tables read", setting=setting)


def others_at_work(run: RunData, _: Values) -> Doubts:
    facts, shares = results.database(run.record), list[str]()
    for name in facts.since_reset:
        of_others, what = facts.counter(name), name.removeprefix(OTHERS)
        of_all = facts.counter(what)
        if (
            name != what
            and of_others
            and of_all
            and 100 * of_others >= OTHERS_WORK_PCT * of_all
        ):
            counts = f"{format_number(of_others)} of {format_number(of_all)}"
            pct = 100 * of_others / of_all
            shares.append(f"{counts} {what.replace('_', ' ')} ({pct:.0f} %)")
    if shares:
        yield doubt("others at work", shares=", ".join(shares))


# ------------------------------------------------------------------ clients, pace, data


def client_busy(run: RunData, values: Values) -> Doubts:
    """The most that a client used of its own limit, or all clients together of their machine."""
    client_pct = values.get("client_cpu_pct", 0.0)
    if client_pct >= causes.CLIENT_PCT:
        yield doubt("client busy", pct=client_pct, of_each=_of_each_client(run))


def _of_each_client(run: RunData) -> str:
    """` (client-1 81 %, client-2 40 %)`, each of what it may use, if there are several."""
    nodes, growth = run.record.nodes, run.telemetry.growth
    clients = [node for node in nodes if node.role == "client"]
    if growth is None or len(clients) < 2:
        return ""
    limits = machines.cpu_limits(nodes, None)
    used = {
        node.name: growth.per_s(node.name, counters.CPU_SECONDS) for node in clients
    }
    shares = [
        f"{name} {100 * per_s / limits[name]:.0f} %"
        for name, per_s in used.items()
        if per_s is not None and name in limits
    ]
    return f" ({', '.join(shares)})" if shares else ""


def clients_apart(run: RunData, _: Values) -> Doubts:
    """Several clients whose clocks could not be brought together, or whose windows differ."""
    facts = results.generator(run.record)
    for name, client in facts.clients.items():
        before_s, after_s = (
            client.get("clock_offset_s"),
            client.get("clock_offset_after_s"),
        )
        unknown_s = client.get("clock_uncertainty_s")
        if before_s is None or after_s is None or unknown_s is None:
            yield doubt("clients apart", "clock not read", name=name)
        elif unknown_s > CLOCK_UNKNOWN_S:
            yield doubt(
                "clients apart", "clock not known", name=name, unknown=unknown_s
            )
        elif abs(after_s - before_s) > CLOCK_MOVED_S + unknown_s:
            yield doubt(
                "clients apart", "clock moved", name=name, moved=abs(after_s - before_s)
            )
    window, asked_s = run.record.phase("measure"), run.record.workload.measure_s
    if facts.clients and window and window.duration_s < (1 - LOST_PCT / 100) * asked_s:
        together_s, skew_s = window.duration_s, facts.start_skew_s or 0.0
        yield doubt("clients apart", together=together_s, asked=asked_s, skew=skew_s)


def overloaded(run: RunData, _: Values) -> Doubts:
    """If work came in faster than it was done, latency is the length of a queue that grows. What
    the built-in generator did not begin, or BenchBase did not serve, which counts nothing else;
    else what the queue grew by, although all of it was begun before the end; else that terminals
    waited for a connection, which users would wait for too and latency does not hold."""
    record, thinks = run.record, run.record.workload.thinks
    if not loads.has_pace(record.workload):
        return
    throughput = None if thinks else results.value_of(record, "throughput_per_s")
    told = partial(doubt, "overload", throughput=throughput or 0.0, thinks=thinks)
    unstarted, unserved = overload.not_begun(record), overload.not_served(record)
    if unstarted:
        owed, due = unstarted
        yield told("not begun", owed=owed, due=due, pct=100 * owed / due)
    if unserved:
        share, rate = unserved
        yield told("not served", served=share * rate, rate=rate, pct=100 * share)
    if unstarted or unserved:
        return
    names = ("connection_wait_avg_s", "latency_avg_s")
    wait_s, latency_s = (results.value_of(record, name) for name in names)
    if queued := overload.grew(record):
        yield told("queue grew", offered=queued[0], served=queued[1])
    elif wait_s is not None and latency_s and wait_s >= WAITED * latency_s:
        yield told("waited", wait=wait_s, latency=latency_s)


def not_checked(run: RunData, _: Values) -> Doubts:
    checked = run.record.facts.get("checked") or {}
    if unknown := [c for c in checked.get("consistency", ()) if c.get("problem")]:
        names = ", ".join(condition["name"] for condition in unknown)
        problems = "; ".join(
            dict.fromkeys(condition["problem"] for condition in unknown)
        )
        yield doubt("consistency not checked", names=names, problems=problems)


def few_checkpoints(run: RunData, values: Values) -> Doubts:
    """By what was seen; where nothing was, by the interval in the settings."""
    writes, every = values.get("disk_write_iops"), values.get("disk_iops")
    if not writes or not every or writes < WRITING_SHARE * every:
        return
    facts, span = results.database(run.record), results.measured_window(run.record)
    told = partial(doubt, "few checkpoints", window=results.measured_s(run.record))
    case = "others' database" if results.of_others(run.record) else ""
    if (
        facts.checkpoints_s is not None and span is not None
    ):  # it says when they were complete
        seen = sum(span[0] <= time_s <= span[1] for time_s in facts.checkpoints_s)
        if seen < AT_LEAST:
            yield told(case, seen=seen, interval=0, least=AT_LEAST)
        return
    if (flushes := _flushes(run)) is not None:
        if flushes < AT_LEAST:
            yield told("flushes", seen=flushes)
        return
    with suppress(ValueError):
        interval_s = parse_seconds(
            (facts.settings or {}).get("checkpoint_timeout", "0s")
        )
        if run.record.workload.measure_s < AT_LEAST * interval_s:
            yield told(case, interval=interval_s, least=AT_LEAST, seen=0)


def _flushes(run: RunData) -> int | None:
    """Of the node with most, stretches of the window in which it flushed; None if not sampled."""
    window = results.measured_window(run.record)
    rows = run.telemetry.by_second.dropna(subset="flushed_bytes_per_s")
    rows = rows[
        (rows["phase"] == "measure") & (rows["time_s"] >= (window or (0.0,))[0])
    ]
    rows = rows.assign(flushing=rows["flushed_bytes_per_s"] > 0).sort_values("time_s")
    before = rows.groupby("node", observed=True)["flushing"].shift(fill_value=False)
    begins = (rows["flushing"] & ~before).groupby(rows["node"], observed=True).sum()
    return None if rows.empty else int(begins.max())
