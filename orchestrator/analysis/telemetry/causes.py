"""The cause that a node's values carry: the rules, and their sentences. Pure.

Order and thresholds: docs/METHOD.md. Memory pressure comes last: reading back what memory could not
hold is pressure too, and that is the disk's reads. So memory is the cause only if tasks wait for it
far longer than the disk works; beside a cause at the disk it is mentioned. Within the system, where
sessions were seen, what most of them wait for decides (`shares`); else thresholds do, in the order
of `RULES`."""

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import cast

from orchestrator import facts
from orchestrator.analysis.telemetry import cause_words as words
from orchestrator.analysis.telemetry import disk_demand, kept, shares
from orchestrator.analysis.telemetry.resources import Values
from orchestrator.analysis.telemetry.shares import FREE_PCT, RETRIED_PCT, nearest_cap
from orchestrator.tier import Tier

CAP_PCT = 95.0  # median second, of the cap in force
THROTTLED_PCT = 50.0  # of the periods of its quota
MEMORY_OVER_DISK = (
    2.0  # times as long as the disk works: then tasks wait for memory, not for it
)
WAITING_PCT = 50.0  # of sessions' time in reads and log syncs
BUSY_PCT = 70.0  # of the time an I/O is under way, if the database does not count waits
IN_CACHE_PCT = 10.0  # of the time with an I/O under way
OTHER_CAP_PCT = 90.0  # the other of the two caps, for one of them to be the limit
AT_TIMES_PCT = 25.0  # of the seconds at a cap, for it to be named where nothing else is
CLIENT_PCT = 80.0
HOST_PCT = 90.0
CEILING_PCT = 95.0
SERVED_PCT = 99.0  # of what was due
APART_PCT = 5.0  # two limits closer than this cannot be told apart
STOOD_PCT = 75.0  # of the seconds, for throughput to have stood where it was
MOST_PCT = (
    50.0  # of what throughput follows: below that more sessions at a time would do more
)
HARNESS_CAUSES = frozenset({"client_bound", "machine_bound"})
NOT_THE_TIER = HARNESS_CAUSES | {"slow_node"}


@dataclass(frozen=True)
class Cause:
    """Its name, and the sentences that a database administrator reads. `ahead_pct`: how much more
    of throughput follows it than the next."""

    name: facts.BottleneckCause
    text: str
    ahead_pct: float | None = None


Rules = Mapping[
    str, Callable[[Values], bool]
]  # by the name of the sentences (`cause_words.said`)


def carried(rules: Rules, values: Values, node: str) -> Iterator[Cause]:
    return (told(name, values, node) for name, holds in rules.items() if holds(values))


def told(name: str, values: Values, node: str) -> Cause:
    """The cause whose sentences have that name, perhaps with a case of it in brackets."""
    cause = cast(facts.BottleneckCause, name.partition(" (")[0])
    return Cause(cause, words.said(name, values, node=node))


def judge(values: Values, tier: Tier, node: str) -> Cause:
    """The cause that these values carry. Values that are absent support nothing."""
    if not {"disk_iops", "cpu_pct"} & set(values):
        return Cause(
            "unattributed", "Neither disk nor CPU of the database nodes was sampled."
        )
    outside = next(carried(_OUTSIDE_RULES, values, node), None)
    fell = "iops_after_fall" in values
    fall = None
    if fell:
        fall = told("burst_exhausted", values, node)
    caps = list(_caps(values, tier, node))
    asked = None
    if outside and outside.name == "load_bound":
        asked = outside
    if not caps:
        first = None
        if asked:
            first = fall
        known = first or outside or fall or _inside(values, tier, node)
        return known or _service_cap(values, node) or _nothing(values)
    if outside and outside.name == "network_bound":
        both = "Disk and network were both at their limit and cannot be told apart."
        return Cause("unattributed", f"{both} {caps[0].text} {outside.text}")
    rival = _rival(values)
    if rival:
        if "sessions" in values:
            return _inside(values, tier, node) or rival
        return rival
    if fall:
        return fall
    if len(caps) > 1:
        return Cause("unattributed", words.said("both caps", values, node=node))
    if asked:
        yet = (
            "Throughput is what the load asks for all the same, so it shows in latency."
        )
        return Cause(caps[0].name, f"{caps[0].text} {yet}")
    return caps[0]


def _inside(values: Values, tier: Tier, node: str) -> Cause | None:
    """By what most of the sessions' time is spent on, where they were seen; else by thresholds, and
    a cap that was reached at times."""
    if _single_core(values) or not (of_causes := shares.follows(values)):
        known = next(carried(RULES, values, node), None)
        return known or next(_caps(values, tier, node, AT_TIMES_PCT), None)
    (name, most), (second, less) = sorted(of_causes.items(), key=lambda of: -of[1])[:2]
    full = max(
        100 * shares.client_use(values), nearest_cap(values), values.get("cpu_pct", 0.0)
    )
    in_turn = [values.get(name, 0.0) >= AT_TIMES_PCT for name in _AT_TIMES]
    roomy = full < FREE_PCT and not any(in_turn) and shares.room(values)
    # A network whose speed is not known may be full.
    if roomy and (name == "cpu_bound" or (most < MOST_PCT and name != "network_bound")):
        return told("in_cache" if in_cache(values) else "few_sessions", values, node)
    if name == "cpu_bound" and full < FREE_PCT and not any(in_turn):
        return None  # nor would more sessions help
    one_core = values.get("client_cores", 0.0) >= shares.ONE_CORE[0]
    if name == "network_bound" and one_core and "client_core_pct" not in values:
        return None  # or a core of the load generator's, which others keep busy too
    if name == "network_bound" and _crowded(values):
        return None  # or who is to answer waits for CPU
    titles = words.table("of limits")
    cpu_and_cap = {name, second} <= {"cpu_bound", "iops_cap", "bandwidth_cap"}
    taking_turns = (
        cpu_and_cap and less >= shares.TURN_PCT and in_turn[0] and any(in_turn[1:])
    )
    if taking_turns or most - less < APART_PCT:
        both = {
            "first": titles[name],
            "second": titles[second],
            "most": most,
            "less": less,
        }
        both["of_disk"] = {name, second} <= {*_CAPS, "latency_bound"}
        return Cause(
            "unattributed", words.said("two limits", values, node=node, **both)
        )
    if name not in _CAPS:
        cause = told(name, values, node)
    else:
        every = _caps(values, tier, node, 0.0)
        at_times = [cap for cap in every if cap.name in (name, "vm_cap", "shared_cap")]
        if not at_times:
            return None
        cause = at_times[0]
    beside = f"Throughput follows it by about {most:.0f} %, {titles[second]} by {less:.0f} %."
    return Cause(cause.name, f"{cause.text} {beside}", most - less)


def _crowded(values: Values) -> bool:
    """Whether the machine is full with what gives way, though not always at once, and what node and
    load generator use there is much of it."""
    busy = values.get("host_cpu_pct", 0.0)
    ours = busy - values.get("other_cpu_pct", busy)
    return (
        busy + values.get("low_priority_pct", 0.0) >= HOST_PCT and ours >= AT_TIMES_PCT
    )


_CAPS = ("iops_cap", "bandwidth_cap")
# Seconds in which each was full: beside one of them nothing else has room all the time.
_AT_TIMES = ("time_at_cpu_pct", "time_at_iops_cap_pct", "time_at_bandwidth_cap_pct")
_LIMITS = {
    "host_cpu_pct": HOST_PCT,
    "client_machine_cpu_pct": HOST_PCT,
    "client_cpu_pct": CLIENT_PCT,
    "cpu_pct": kept.CPU_PCT,
}


def _rival(values: Values) -> Cause | None:
    """A disk at its cap beside a CPU as busy: which of them was the limit cannot be told."""
    cap = min(nearest_cap(values), 100.0)
    busy = max(values.get(name, 0.0) for name in _LIMITS)
    full = any(values.get(name, 0.0) >= limit for name, limit in _LIMITS.items())
    if cap - busy > APART_PCT or not full:
        return None
    return Cause("unattributed", words.said("disk and CPU", values, cap=cap))


def _caps(
    values: Values, tier: Tier, node: str, at_times_pct: float | None = None
) -> Iterator[Cause]:
    """The caps that hold I/Os back, the disk's or its machine's; none beside which the other is
    nearly reached. `at_times_pct`: of the seconds, from which on one is enough; else the median
    second decides."""
    for cap, known in words.table("caps").items():
        other = known["other"]
        title = known["title"]
        time_pct = values.get(f"time_at_{cap}_cap_pct", 0.0)
        own = values.get(f"{cap}_of_cap_pct", 0.0) >= CAP_PCT
        together = values.get(f"shared_{cap}_of_cap_pct", 0.0)
        is_shared = together >= CAP_PCT and not own
        if at_times_pct is None:
            reached = own
        else:
            reached = time_pct >= at_times_pct
        if not (reached or is_shared) or not disk_demand.binds(cap, values, tier):
            continue
        if CAP_PCT > values.get(f"{other}_of_cap_pct", 0.0) >= OTHER_CAP_PCT:
            continue
        burst = ""
        begins = "of the machine"
        if values.get("burst_credit_left_pct", 0.0) > 0:
            burst = "burst's "
            begins = "of the machine's burst"
        of_vm = [text for text in tier.origin.vm_caps if text.startswith(known[begins])]
        helps = f"A tier with more {title} would help{known['less']}."
        if of_vm:
            helps = f"That is the machine's limit ({of_vm[0]}): a larger machine would help."
        rate = words.filled(known["rate"], values)
        parts = {
            "rate": rate,
            "burst": burst,
            "title": title,
            "time": time_pct,
            "helps": helps,
        }
        parts |= {"together": together, "share": values.get(f"{cap}_of_cap_pct", 0.0)}
        in_bursts = "cap"
        if time_pct < AT_TIMES_PCT:
            in_bursts = "cap (in bursts)"
        text = words.said(
            "cap (shared)" if is_shared else in_bursts, values, node=node, **parts
        )
        yield Cause(
            "shared_cap" if is_shared else "vm_cap" if of_vm else known["cause"], text
        )


def _client_bound(values: Values) -> bool:
    own_pct, of_machine = (
        values.get(f"client_{of}", 0.0) for of in ("cpu_pct", "machine_cpu_pct")
    )
    return (
        own_pct >= CLIENT_PCT
        or of_machine >= HOST_PCT
        or shares.one_client_core(values)
    )


def host_disk_bound(values: Values) -> bool:
    """Whether most of an emulated disk's time is neither its limits' nor its latency's."""
    idle_s = values.get("idle_disk_latency_s", 0.0)
    await_s = values.get("disk_await_s")
    beyond_pct = (
        100 - values.get("held_back_pct", 100.0) - 100 * idle_s / (await_s or math.inf)
    )
    return beyond_pct >= WAITING_PCT and _disk_is_awaited(values)


def _service_cap(values: Values, node: str) -> Cause | None:
    """Of a store that others run: what stands still where everything on this side is free, its
    threads too, is held by the other side; or each of few streams waits for its answers."""
    alone = values.get("node_cores", 0.0)
    core = values.get("busiest_core_pct", 0.0)
    one_core = words.ALONE_FROM <= alone <= shares.ONE_CORE[1] or core >= FREE_PCT
    free = {"cpu_pct", "host_cpu_pct"} <= set(values) and shares.room(values)
    stood = values.get("time_at_way_pct", 0.0) >= STOOD_PCT
    if stood and free and not one_core:
        return told("service_cap", values, node)
    return None


def _nothing(values: Values) -> Cause:
    known = words.shares_of(values, "of resources")
    return Cause(
        "unattributed", f"No resource was clearly the limit ({', '.join(known)})."
    )


_OUTSIDE_RULES: Rules = {
    "load_bound (served)": lambda values: (
        values.get("rate_served_pct", 0.0) >= SERVED_PCT
    ),
    "load_bound (think time)": lambda values: (
        values.get("nopm_of_ceiling_pct", 0.0) >= CEILING_PCT
    ),
    "network_bound (rate)": lambda values: (
        values.get("network_of_rate_pct", 0.0) >= kept.LINK_PCT
    ),
    "client_bound": _client_bound,
    "machine_bound": lambda values: (
        values.get("host_cpu_pct", 0.0) + values.get("steal_pct", 0.0) >= HOST_PCT
    ),
}


# ------------------------------------------------------------------ within the system


def _single_core(values: Values) -> bool:
    computing = values.get("seen_running_pct", 100.0) >= WAITING_PCT
    cores = values.get("node_cores", 0.0)
    busiest_pct = values.get("busiest_core_pct")
    alone = words.alone(values) or (computing and shares.one_core(cores, busiest_pct))
    return (
        values.get("cpu_pct", 0.0) < kept.CPU_PCT and alone
    )  # else it may use no more


def _memory_bound(values: Values) -> bool:
    pressure = values.get("memory_pressure_pct", 0.0)
    busy = values.get("disk_busy_pct", 100.0)
    return pressure >= max(words.MEMORY_PRESSURE_PCT, MEMORY_OVER_DISK * busy)


def _latency_bound(values: Values) -> bool:
    if (
        values.get("cpu_pct", 100.0) >= FREE_PCT
        or shares.nearest_cap(values) >= CAP_PCT
    ):
        return False
    await_s = values.get("disk_await_s")
    idle_s = values.get("idle_disk_latency_s")
    waiting = shares.waiting_pct(values)
    # What a database counted is better evidence than a disk at work: then I/Os may queue a little.
    if waiting is None:
        most = words.UNLOADED
    else:
        most = disk_demand.QUEUEING
    if await_s is None or (idle_s and await_s >= most * idle_s):
        return False
    return _disk_is_awaited(values)


def _disk_is_awaited(values: Values) -> bool:
    waiting = shares.waiting_pct(values)
    busy = values.get("disk_busy_pct", 0.0)
    if waiting is None:
        return busy >= BUSY_PCT
    return waiting >= WAITING_PCT


def _at_wal_caps(values: Values) -> bool:
    most = max(values.get(f"wal_{of}_of_cap_pct", 0.0) for of in ("iops", "bandwidth"))
    return values.get("cpu_pct", 100.0) < FREE_PCT and most >= CAP_PCT


def _wal_disk_bound(values: Values) -> bool:
    syncing = values.get(
        "wal_disk_syncing_pct", 0.0
    )  # there only if commits wait for it
    return values.get("cpu_pct", 100.0) < FREE_PCT and syncing >= WAITING_PCT


def in_cache(values: Values) -> bool:
    """Whether the disk has next to nothing to do."""
    waiting = shares.waiting_pct(values)
    idle = waiting is None or waiting < shares.IDLE_DISK_PCT
    return values.get("disk_busy_pct", 100.0) < IN_CACHE_PCT and idle


RULES: Rules = {
    "single_core": _single_core,
    "cpu_bound": lambda values: (
        values.get("cpu_pct", 0.0) >= kept.CPU_PCT
        or values.get("throttled_pct", 0.0) >= THROTTLED_PCT
    ),
    "latency_bound": _latency_bound,
    "wal_disk_bound (cap)": _at_wal_caps,
    "wal_disk_bound": _wal_disk_bound,
    "memory_bound": _memory_bound,
    "contention (retried)": lambda values: (
        "sessions" not in values and values.get("retried_pct", 0.0) >= RETRIED_PCT
    ),
    "in_cache": in_cache,
}
