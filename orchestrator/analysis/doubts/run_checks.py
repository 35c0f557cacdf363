"""Doubts about a finished run, its disks apart: a function for each subject (`kinds`). Pure."""

import math
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass

from orchestrator.analysis import overload, results
from orchestrator.analysis.doubts.effects import (
    forbids_a_conclusion,
    is_only_told,
    limits_the_answer,
)
from orchestrator.analysis.doubts.validity import Doubts
from orchestrator.analysis.results import RunData
from orchestrator.analysis.statistics import stats
from orchestrator.analysis.telemetry import (
    conservation,
    counters,
    loads,
    machines,
    outside_causes,
)
from orchestrator.analysis.telemetry.resources import Values
from orchestrator.facts import OTHERS
from orchestrator.model import Doubt, Record
from orchestrator.tier import NoDisk, OthersDisks, Unlimited
from orchestrator.units import (
    format_bytes,
    format_change,
    format_number,
    format_seconds,
    listed,
    parse_seconds,
)

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
    load = run.record.workload
    generator = results.generator(run.record)
    if generator.warmup_steady is False:
        yield _warm_up_given_up(generator.warmup_s or 0.0)
    # Neither a piece of work nor the loss of a node has a steady state.
    if load.lost_after_s is None and not generator.ends_with_work:
        rows = run.intervals[run.intervals["phase"] == "measure"]
        drift = stats.steadiness(
            rows["time_s"].tolist(), rows["throughput_per_s"].tolist()
        )
        if drift is not None and not drift.steady:
            phase = run.record.phase("warm-up")
            if phase:
                warmup_s = phase.duration_s
            else:
                warmup_s = load.warmup_s
            yield _unsteady_throughput(drift.drift_pct, drift.halves_pct, warmup_s)
    measured_s = results.measured_s(run.record)
    if measured_s < SHORT_S:
        yield _short_window(measured_s, load.scale)
    took_s = results.value_of(run.record, "rebuild_s")
    if took_s is not None and took_s < SHORT_S:
        yield _short_rebuild(took_s)


def cached(run: RunData, _: Values) -> Doubts:
    facts = results.database(run.record)
    data = facts.data_bytes
    cache = facts.cache_bytes
    if data is not None and cache is not None and 0 < data <= cache:
        yield _data_fits_in_the_cache(data, cache)


def machine(run: RunData, values: Values) -> Doubts:
    busy = values.host_cpu_pct or 0.0
    if busy >= outside_causes.HOST_PCT:
        several = sum(node.role == "host" for node in run.record.nodes) > 1
        others = results.of_others(run.record)
        yield _host_saturated(busy, several, others)
    other_pct = values.other_cpu_pct or 0.0
    if other_pct >= OTHERS_PCT:
        yield _machine_shared(other_pct)


def no_telemetry(run: RunData, values: Values) -> Doubts:
    absent = [
        name
        for name in ("cpu_pct", "disk_iops", "host_cpu_pct")
        if getattr(values, name) is None
    ]
    if absent and "published" not in run.record.facts:
        yield _not_sampled(absent)
    seconds = run.telemetry.by_second
    of_nodes = seconds[seconds["phase"] == "measure"].groupby("node", observed=True)[
        "time_s"
    ]
    longest_s = {str(node): float(times_s.diff().max()) for node, times_s in of_nodes}
    if run.record.workload.lost_after_s is not None:  # its last node was away
        longest_s.pop(f"node-{run.record.profile.cluster.nodes}", None)
    lost = [
        f"{format_seconds(s)} of {node}" for node, s in longest_s.items() if s > LOST_S
    ]
    if lost:
        yield _seconds_not_sampled(lost)


def transactions(run: RunData, _: Values) -> Doubts:
    """That many failed or were tried again, or that there were few."""
    names = ("transactions", "failures", "retries")
    done, failed, retried = (results.value_of(run.record, name) for name in names)
    if (results.failed_pct(run.record) or 0.0) >= FAILURES_PCT:
        yield _failures(failed or 0.0, done or 0.0)
    if retried and 100 * retried >= RETRIES_PCT * (done or 0.0):
        yield _retries(retried, done or 0.0)
    needed = stats.percentile_min_count(99)
    if done is not None and done < needed:
        yield _few_transactions(done, needed)


def truth_gate(run: RunData, _: Values) -> Doubts:
    """That there was none, or that it was long before."""
    gate = run.record.gate
    window = results.measured_window(run.record)
    profile = run.record.profile
    disk = profile.tier.disk
    published = "published" in run.record.facts
    absent = gate is None or (
        not gate.checks and not isinstance(disk, (Unlimited, NoDisk))
    )
    if absent and not published:
        if isinstance(disk, OthersDisks):
            yield _no_truth_gate_of_others(profile.tier.name)
        else:
            yield _no_truth_gate(profile.tier.name, profile.name)
    elif gate and window:
        age_s = window[0] - gate.taken_s
        if age_s > (KEPT_GATE_AGE_S if gate.reused else GATE_AGE_S):
            yield _old_truth_gate(age_s, profile.name)


def burst_credit(run: RunData, _: Values) -> Doubts:
    if run.record.profile.tier.limits.burst is None:
        return
    disks = run.telemetry.against_caps.values()
    drawn = [disk for disk in disks if (disk.time_above_base_pct or 0.0) > 0]
    left_pct = max((disk.burst_credit_left_pct or 0.0 for disk in drawn), default=0.0)
    if left_pct > 0:
        above_pct = max(disk.time_above_base_pct or 0.0 for disk in drawn)
        yield _burst_credit_left(above_pct, left_pct)


def little(run: RunData, _: Values) -> Doubts:
    record = run.record
    in_flight = conservation.in_flight(run)
    if in_flight is None:
        return
    threads = record.workload.threads
    off_pct = 100 * (in_flight / threads - 1)
    if abs(off_pct) > LITTLE_PCT + _edges_pct(record):
        yield _against_littles_law(in_flight, threads, off_pct)


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
    ceiling = loads.ceiling_nopm(run.record)
    share_pct = loads.of_ceiling_pct(run.record)
    if ceiling and share_pct is not None and share_pct >= outside_causes.CEILING_PCT:
        yield _at_think_times_ceiling(share_pct, ceiling)


def database(run: RunData, _: Values) -> Doubts:
    """By what it said of itself, and its adapter noted."""
    facts = results.database(run.record)
    if facts.durable is False:
        yield _commits_not_durable(results.of_others(run.record))
    wanted = facts.version_asked
    running = facts.version
    if wanted and "-b" in wanted and running != wanted:
        yield _another_build(wanted, running)
    if facts.not_read:
        yield _facts_not_read(facts.not_read)
    if facts.leaders_moved:
        yield _leaders_moved(facts.leaders_moved)
    if facts.pooler:
        yield _connection_pooler(facts.pooler)


def whole_tables(run: RunData, _: Values) -> Doubts:
    """Ranges of hashed keys: yugabyte/yugabyte-db issue 23585. The fork's tables may be ordered."""
    load = run.record.workload
    facts = results.database(run.record)
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
        yield _whole_tables_read(setting)


def others_at_work(run: RunData, _: Values) -> Doubts:
    facts = results.database(run.record)
    shares = list[str]()
    for name in facts.since_reset:
        of_others = facts.counter(name)
        what = name.removeprefix(OTHERS)
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
        yield _others_at_work(shares)


# ------------------------------------------------------------------ clients, pace, data


def client_busy(run: RunData, values: Values) -> Doubts:
    """The most that a client used of its own limit, or all clients together of their machine."""
    client_pct = values.client_cpu_pct or 0.0
    if client_pct >= outside_causes.CLIENT_PCT:
        yield _client_busy(client_pct, _of_each_client(run))


def _of_each_client(run: RunData) -> str:
    """` (client-1 81 %, client-2 40 %)`, each of what it may use, if there are several."""
    nodes = run.record.nodes
    growth = run.telemetry.growth
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
    if shares:
        return f" ({', '.join(shares)})"
    return ""


def clients_apart(run: RunData, _: Values) -> Doubts:
    """Several clients whose clocks could not be brought together, or whose windows differ."""
    facts = results.generator(run.record)
    for name, client in facts.clients.items():
        before_s = client.get("clock_offset_s")
        after_s = client.get("clock_offset_after_s")
        unknown_s = client.get("clock_uncertainty_s")
        if before_s is None or after_s is None or unknown_s is None:
            yield _clock_not_read(name)
        elif unknown_s > CLOCK_UNKNOWN_S:
            yield _clock_not_known(name, unknown_s)
        elif abs(after_s - before_s) > CLOCK_MOVED_S + unknown_s:
            yield _clock_moved(name, abs(after_s - before_s))
    window = run.record.phase("measure")
    asked_s = run.record.workload.measure_s
    if facts.clients and window and window.duration_s < (1 - LOST_PCT / 100) * asked_s:
        together_s = window.duration_s
        skew_s = facts.start_skew_s or 0.0
        yield _clients_apart(together_s, asked_s, skew_s)


def overloaded(run: RunData, _: Values) -> Doubts:
    """If work came in faster than it was done, latency is the length of a queue that grows. What
    the built-in generator did not begin, or BenchBase did not serve, which counts nothing else;
    else what the queue grew by, although all of it was begun before the end; else that terminals
    waited for a connection, which users would wait for too and latency does not hold."""
    record = run.record
    thinks = run.record.workload.thinks
    if not loads.has_pace(record.workload):
        return
    throughput = None
    if not thinks:
        throughput = results.value_of(record, "throughput_per_s")
    pace = _Pace(thinks, throughput)
    unstarted = overload.not_begun(record)
    unserved = overload.not_served(record)
    if unstarted:
        owed, due = unstarted
        yield _not_begun(owed, due, pace)
    if unserved:
        share, rate = unserved
        yield _not_served(share, rate, pace)
    if unstarted or unserved:
        return
    names = ("connection_wait_avg_s", "latency_avg_s")
    wait_s, latency_s = (results.value_of(record, name) for name in names)
    queued = overload.grew(record)
    if queued:
        yield _queue_grew(queued[0], queued[1], pace)
    elif wait_s is not None and latency_s and wait_s >= WAITED * latency_s:
        yield _waited_for_a_connection(wait_s, latency_s, pace)


def not_checked(run: RunData, _: Values) -> Doubts:
    checked = run.record.facts.get("checked") or {}
    unknown = [c for c in checked.get("consistency", ()) if c.get("problem")]
    if unknown:
        names = [condition["name"] for condition in unknown]
        problems = "; ".join(
            dict.fromkeys(condition["problem"] for condition in unknown)
        )
        yield _consistency_not_checked(names, problems)


def few_checkpoints(run: RunData, values: Values) -> Doubts:
    """By what was seen; where nothing was, by the interval in the settings."""
    writes = values.disk_write_iops
    every = values.disk_iops
    if not writes or not every or writes < WRITING_SHARE * every:
        return
    facts = results.database(run.record)
    span = results.measured_window(run.record)
    window_s = results.measured_s(run.record)
    is_ours = not results.of_others(run.record)
    if (
        facts.checkpoints_s is not None and span is not None
    ):  # it says when they were complete
        seen = sum(span[0] <= time_s <= span[1] for time_s in facts.checkpoints_s)
        if seen < AT_LEAST:
            yield _few_checkpoints_seen(seen, window_s, is_ours)
        return
    flushes = _flushes(run)
    if flushes is not None:
        if flushes < AT_LEAST:
            yield _few_flushes(flushes, window_s)
        return
    with suppress(ValueError):
        interval_s = parse_seconds(
            (facts.settings or {}).get("checkpoint_timeout", "0s")
        )
        if run.record.workload.measure_s < AT_LEAST * interval_s:
            yield _few_checkpoint_intervals(interval_s, window_s, is_ours)


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
    if rows.empty:
        return None
    return int(begins.max())


# ------------------------------------------------------------------ in words


def _no_truth_gate(tier: str, profile: str) -> Doubt:
    return is_only_told(
        "no truth gate",
        _nothing_says_what_it_is(tier),
        advice=f"run `tierbench calibrate --profile {profile}`",
    )


def _no_truth_gate_of_others(tier: str) -> Doubt:
    return is_only_told(
        "no truth gate",
        _nothing_says_what_it_is(tier),
        advice="run fio on the nodes' own disks: those of a cluster that others run are "
        "not measured",
    )


def _nothing_says_what_it_is(tier: str) -> str:
    return f"nothing was measured that says the disk is what {tier} declares"


def _old_truth_gate(age_s: float, profile: str) -> Doubt:
    return is_only_told(
        "old truth gate",
        f"the truth gate was taken {format_seconds(age_s)} before",
        advice=f"run `tierbench calibrate --profile {profile}` first",
    )


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


def _short_rebuild(took_s: float) -> Doubt:
    return limits_the_answer(
        "short rebuild",
        f"the lost node was back after {format_seconds(took_s)}, of which its start and a "
        "checkpoint take seconds that no disk decides",
        advice="load more data, so that copying them takes most of the time",
    )


def _few_checkpoints_seen(seen: int, window_s: float, is_ours: bool) -> Doubt:
    number = "no"
    if seen:
        number = "only one"
    return _few_checkpoints(
        f"{number} checkpoint was completed in the window of {format_seconds(window_s)}",
        is_ours,
    )


def _few_checkpoint_intervals(
    interval_s: float, window_s: float, is_ours: bool
) -> Doubt:
    return _few_checkpoints(
        f"{format_seconds(window_s)} are less than {AT_LEAST} checkpoint intervals of "
        f"{format_seconds(interval_s)}",
        is_ours,
    )


def _few_checkpoints(why: str, is_ours: bool) -> Doubt:
    """Windows of whole intervals can only be had where the settings are ours."""
    advice = (
        "measure for longer, or give every profile the same shorter checkpoint_timeout"
    )
    if is_ours:
        advice += "; `--windows checkpoints` then measures whole intervals"
    return limits_the_answer(
        "few checkpoints",
        f"{why}: writes put off until a checkpoint may be outside the window",
        advice,
    )


def _few_flushes(seen: int, window_s: float) -> Doubt:
    how_often = "at no time"
    if seen:
        how_often = "only once"
    return limits_the_answer(
        "few checkpoints",
        f"memory tables were flushed {how_often} in the window of "
        f"{format_seconds(window_s)}: flushes, and the compactions that follow them, may be "
        "outside of it",
        advice="measure for longer",
    )


def _data_fits_in_the_cache(data_bytes: float, cache_bytes: float) -> Doubt:
    return limits_the_answer(
        "data fits in the cache",
        f"{format_bytes(data_bytes)} of data on a node with {format_bytes(cache_bytes)} of "
        "cache: reads do not reach the disk, so they cannot tell tiers apart",
        advice="load more data, or give the nodes less memory",
    )


def _client_busy(cpu_pct: float, of_each_client: str) -> Doubt:
    return is_only_told(
        "client busy",
        f"the load generator used {cpu_pct:.0f} % of the machine's CPU{of_each_client}: it "
        "may be the limit",
        advice="use fewer threads, or run the client on a machine of its own",
    )


def _clock_not_read(client: str) -> Doubt:
    return is_only_told(
        "clients apart",
        f"the clock of {client} could not be read: its transactions may be counted in "
        "another second than they ended in",
        advice="use an image whose `date` tells nanoseconds, such as any with GNU's",
    )


def _clock_not_known(client: str, uncertainty_s: float) -> Doubt:
    return is_only_told(
        "clients apart",
        f"the clock of {client} is known to {format_seconds(uncertainty_s)} only",
        advice="let the machines of the clients keep time alike (NTP), and measure again",
    )


def _clock_moved(client: str, moved_s: float) -> Doubt:
    return is_only_told(
        "clients apart",
        f"the clock of {client} moved by {format_seconds(moved_s)} against ours during the "
        "run",
        advice="let the machines of the clients keep time alike (NTP), and measure again",
    )


def _clients_apart(together_s: float, asked_s: float, skew_s: float) -> Doubt:
    return is_only_told(
        "clients apart",
        f"all clients measured together for {format_seconds(together_s)} of the "
        f"{format_seconds(asked_s)} asked for: they began {format_seconds(skew_s)} apart",
        advice="measure for longer, or give the clients machines that start programs alike",
    )


def _host_saturated(busy_pct: float, several_hosts: bool, of_others: bool) -> Doubt:
    """`of_others`: others run the cluster, so that its nodes are elsewhere."""
    if several_hosts:
        text = f"the CPU of one of the machines was {busy_pct:.0f} % busy"
    elif of_others:
        text = f"the machine's CPU was {busy_pct:.0f} % busy, with the load generator on it"
    else:
        text = (
            f"the machine's CPU was {busy_pct:.0f} % busy, with database, load generator "
            "and disks all on it"
        )
    if of_others:
        advice = "use a machine with more cores, or fewer threads"
    else:
        advice = "use a machine with more cores, fewer --nodes or fewer threads"
    return limits_the_answer("host saturated", text, advice)


def _machine_shared(other_cpu_pct: float) -> Doubt:
    return limits_the_answer(
        "machine shared",
        f"{other_cpu_pct:.0f} % of the machine's CPU went to something else than database, "
        "load generator and disk servers",
        advice="stop what else runs on the machine, and measure again",
    )


def _not_sampled(metrics: Sequence[str]) -> Doubt:
    return is_only_told(
        "telemetry gaps",
        f"not sampled over the measured window: {', '.join(metrics)}",
        advice="see `telemetry` among the run's facts for what could not be read",
    )


def _seconds_not_sampled(gaps: Sequence[str]) -> Doubt:
    """`gaps`: `3.0 s of node-1`."""
    return is_only_told(
        "telemetry gaps",
        f"seconds of the window were not sampled: {listed(gaps)} are known by their sum "
        "only",
        advice="give the machine more CPU than nodes and clients use",
    )


_SEE_ERRORS = (
    "see `errors` among the run's facts; what failed is not counted as throughput"
)


def _failures(count: float, transactions: float) -> Doubt:
    return forbids_a_conclusion(
        "failures",
        f"{format_number(count)} failures beside {format_number(transactions)} transactions",
        advice=_SEE_ERRORS,
    )


def _retries(count: float, transactions: float) -> Doubt:
    return is_only_told(
        "retries",
        f"{format_number(count)} retries beside {format_number(transactions)} transactions",
        advice=_SEE_ERRORS,
    )


def _few_transactions(transactions: float, needed: int) -> Doubt:
    return is_only_told(
        "few transactions",
        f"{format_number(transactions)} transactions carry no 99th percentile ({needed:,} "
        "needed)",
        advice="measure for longer",
    )


def _burst_credit_left(above_base_pct: float, left_pct: float) -> Doubt:
    return forbids_a_conclusion(
        "burst credit left",
        f"the disk was above its base rate in {above_base_pct:.0f} % of the window, and "
        f"{left_pct:.0f} % of the burst credit was left at the end: the figures are the "
        "burst's, not what the tier sustains",
        advice="start with `burst: {start: empty}`, or measure for longer",
    )


def _against_littles_law(in_flight: float, threads: int, off_pct: float) -> Doubt:
    return is_only_told(
        "Little's law",
        f"throughput × latency = {in_flight:.1f} transactions in flight, with {threads} "
        f"threads ({format_change(off_pct)})",
        advice="threads were idle or stuck, or a figure is wrong: see the run's raw output",
    )


def _at_think_times_ceiling(share_pct: float, ceiling_nopm: float) -> Doubt:
    return is_only_told(
        "think time's ceiling",
        f"{share_pct:.1f} % of the {format_number(ceiling_nopm)} New-Orders a minute that "
        "think time allows: throughput cannot tell tiers apart",
        advice="compare latencies, or take `think: none`",
    )


def _commits_not_durable(of_others: bool) -> Doubt:
    if of_others:
        advice = (
            "its owner decides whether it shall: docs/YUGABYTEDB.md says what the settings "
            "mean"
        )
    else:
        advice = "leave the durability settings out of the profile"
    return forbids_a_conclusion(
        "commits not durable",
        "the database answers commits before they are on the disk, so tiers look alike in "
        "writing",
        advice,
    )


def _another_build(wanted: str, running: str | None) -> Doubt:
    return is_only_told(
        "another build",
        f"the profile asks for {wanted}, the servers say {running}",
        advice="correct `version` in the profile; without a build in it, the servers' pages "
        "could not be read",
    )


def _consistency_not_checked(conditions: Sequence[str], problems: str) -> Doubt:
    return is_only_told(
        "consistency not checked",
        f"{', '.join(conditions)} could not be evaluated after the run: {problems}",
        advice="the measurement stays; whether the data were still consistent is not known",
    )


def _facts_not_read(reasons: str) -> Doubt:
    return is_only_told(
        "facts not read",
        f"the database's servers did not say all that was asked: {reasons}",
        advice="`tierbench doctor --db yugabytedb` shows which pages of this release are "
        "different",
    )


def _leaders_moved(reasons: str) -> Doubt:
    return limits_the_answer(
        "leaders moved",
        f"nodes did not have the same share of the work all the time: {reasons}",
        advice="repeat the run; if it stays so, look at `zones` and at the masters' logs",
    )


def _whole_tables_read(setting: str) -> Doubt:
    return limits_the_answer(
        "whole tables read",
        "keys are sharded by their hash, so each range of keys reads a whole table",
        advice=f"set `tserver.ysql_pg_conf_csv: {setting}=false` (from 2024.2 on)",
    )


def _connection_pooler(evidence: str) -> Doubt:
    return limits_the_answer(
        "connection pooler",
        f"a connection pooler answers for the database: {evidence}. Latency has the wait for "
        "a free server session in it, fewer sessions than the load has threads may be open, "
        "and settings of a session may not hold",
        advice="name the database's own hosts and ports in `existing.hosts`, unless the "
        "pooler is what you want to measure too",
    )


def _others_at_work(shares: Sequence[str]) -> Doubt:
    return limits_the_answer(
        "others at work",
        f"other databases of the cluster were at work meanwhile: {', '.join(shares)}",
        advice="measure while nobody else uses the cluster, or repeat until chance evens it "
        "out",
    )


@dataclass(frozen=True)
class _Pace:
    """How a load that did not keep up was asked for. `served_per_s`: throughput of one without
    think time, if it was measured."""

    thinks: bool
    served_per_s: float | None

    @property
    def advice(self) -> str:
        below = ""
        if self.served_per_s:
            below = f" below the {format_number(self.served_per_s)}/s that were served"
        if self.thinks:
            return (
                "give the terminals more threads to share, or load fewer warehouses"
                + below
            )
        return (
            f"ask for an `arrival_rate`{below}, the same on every tier, or compare "
            "throughput instead"
        )


def _not_begun(owed: float, due: float, pace: _Pace) -> Doubt:
    if pace.thinks:
        grew = "the terminals' wait for a connection, which is not in latency, grew, and depends"
    else:
        grew = "latency is mostly the wait in a queue that grew, and depends"
    return is_only_told(
        "overload",
        f"{format_number(owed)} of {format_number(due)} transactions that were due had not "
        f"begun when the run ended ({100 * owed / due:.1f} %): the database did not keep up, "
        f"so {grew} on how long was measured",
        pace.advice,
    )


def _not_served(served_share: float, rate_per_s: float, pace: _Pace) -> Doubt:
    return is_only_told(
        "overload",
        f"{format_number(served_share * rate_per_s)}/s of the {format_number(rate_per_s)}/s "
        f"asked for were served ({100 * served_share:.1f} %): the database did not keep up, "
        "and what waited for a terminal or was dropped is not in its latency",
        pace.advice,
    )


def _queue_grew(offered_per_s: float, served_per_s: float, pace: _Pace) -> Doubt:
    return is_only_told(
        "overload",
        f"{format_number(offered_per_s)}/s fell due in the window and "
        f"{format_number(served_per_s)}/s ended in it: the queue grew, so latency depends on "
        "how long was measured",
        pace.advice,
    )


def _waited_for_a_connection(wait_s: float, latency_s: float, pace: _Pace) -> Doubt:
    return is_only_told(
        "overload",
        f"terminals waited {format_seconds(wait_s)} for a connection on average, beside an "
        f"average latency of {format_seconds(latency_s)} that does not hold it: there were "
        "at times too few connections for the pace asked for",
        pace.advice,
    )
