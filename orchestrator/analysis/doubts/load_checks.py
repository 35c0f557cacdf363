"""Doubts about the load of a finished run: its clients, its pace, its window, its data. Pure."""

from contextlib import suppress
from functools import partial

from orchestrator.analysis import overload, results
from orchestrator.analysis.doubts.validity import Doubts, doubt
from orchestrator.analysis.results import RunData
from orchestrator.analysis.telemetry import causes, counters, loads, machines, resources
from orchestrator.model import Record
from orchestrator.units import parse_seconds

CLOCK_MOVED_S = 0.010
CLOCK_UNKNOWN_S = 0.050
LOST_PCT = 10.0  # of the window that was asked for
WAITED = 0.05  # of the latency that this wait is not in
# PostgreSQL writes back at checkpoints, YugabyteDB where a memory table is flushed and files are
# then merged. So many of them are asked for.
AT_LEAST = 2
WRITING_SHARE = 0.1  # of a run's I/Os: then it matters


def client_busy(run: RunData, values: resources.Values) -> Doubts:
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
    used = {node.name: growth.per_s(node.name, counters.CPU_SECONDS) for node in clients}
    shares = [
        f"{name} {100 * per_s / limits[name]:.0f} %"
        for name, per_s in used.items()
        if per_s is not None and name in limits
    ]
    return f" ({', '.join(shares)})" if shares else ""


def clients_apart(run: RunData, _: resources.Values) -> Doubts:
    """Several clients whose clocks could not be brought together, or whose windows differ."""
    facts = results.generator(run.record)
    for name, client in facts.clients.items():
        before_s, after_s = client.get("clock_offset_s"), client.get("clock_offset_after_s")
        unknown_s = client.get("clock_uncertainty_s")
        if before_s is None or after_s is None or unknown_s is None:
            yield doubt("clients apart", "clock not read", name=name)
        elif unknown_s > CLOCK_UNKNOWN_S:
            yield doubt("clients apart", "clock not known", name=name, unknown=unknown_s)
        elif abs(after_s - before_s) > CLOCK_MOVED_S + unknown_s:
            yield doubt("clients apart", "clock moved", name=name, moved=abs(after_s - before_s))
    window, asked_s = run.record.phase("measure"), run.record.workload.measure_s
    if facts.clients and window and window.duration_s < (1 - LOST_PCT / 100) * asked_s:
        together_s, skew_s = window.duration_s, facts.start_skew_s or 0.0
        yield doubt("clients apart", together=together_s, asked=asked_s, skew=skew_s)


def overloaded(run: RunData, _: resources.Values) -> Doubts:
    """If work came in faster than it was done, latency is the length of a queue that grows."""
    if loads.has_pace(run.record.workload):
        yield from _behind(run.record)


def _behind(record: Record) -> Doubts:
    """What the built-in generator did not begin, or BenchBase did not serve, which counts nothing
    else; else what the queue grew by, although all of it was begun before the end; else that
    terminals waited for a connection, which users would wait for too and latency does not hold."""
    thinks = record.workload.thinks
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


def not_checked(run: RunData, _: resources.Values) -> Doubts:
    checked = run.record.facts.get("checked") or {}
    if unknown := [c for c in checked.get("consistency", ()) if c.get("problem")]:
        names = ", ".join(condition["name"] for condition in unknown)
        problems = "; ".join(dict.fromkeys(condition["problem"] for condition in unknown))
        yield doubt("consistency not checked", names=names, problems=problems)


def few_checkpoints(run: RunData, values: resources.Values) -> Doubts:
    """By what was seen; where nothing was, by the interval in the settings."""
    writes, every = values.get("disk_write_iops"), values.get("disk_iops")
    if not writes or not every or writes < WRITING_SHARE * every:
        return
    facts, span = results.database(run.record), results.measured_window(run.record)
    told = partial(doubt, "few checkpoints", window=results.measured_s(run.record))
    case = "others' database" if results.of_others(run.record) else ""
    if facts.checkpoints_s is not None and span is not None:  # it says when they were complete
        seen = sum(span[0] <= time_s <= span[1] for time_s in facts.checkpoints_s)
        if seen < AT_LEAST:
            yield told(case, seen=seen, interval=0, least=AT_LEAST)
        return
    if (flushes := _flushes(run)) is not None:
        if flushes < AT_LEAST:
            yield told("flushes", seen=flushes)
        return
    with suppress(ValueError):
        interval_s = parse_seconds((facts.settings or {}).get("checkpoint_timeout", "0s"))
        if run.record.workload.measure_s < AT_LEAST * interval_s:
            yield told(case, interval=interval_s, least=AT_LEAST, seen=0)


def _flushes(run: RunData) -> int | None:
    """Of the node with most, stretches of the window in which it flushed; None if not sampled."""
    window = results.measured_window(run.record)
    rows = run.telemetry.by_second.dropna(subset="flushed_bytes_per_s")
    rows = rows[(rows["phase"] == "measure") & (rows["time_s"] >= (window or (0.0,))[0])]
    if rows.empty:
        return None
    stretches = []
    for _, own in rows.groupby("node", observed=True):
        flushing = own.sort_values("time_s")["flushed_bytes_per_s"] > 0
        stretches.append(int((flushing & ~flushing.shift(fill_value=False)).sum()))
    return max(stretches)
