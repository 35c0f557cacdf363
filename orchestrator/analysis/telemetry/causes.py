"""The cause that a node's values carry: the rules, and their sentences. Pure.

Order and thresholds: docs/METHOD.md. Memory pressure comes last: reading back what memory could not
hold is pressure too, and that is the disk's reads. So memory is the cause only if tasks wait for it
far longer than the disk works; beside a cause at the disk it is mentioned.
"""

from collections.abc import Iterator

from orchestrator.analysis.telemetry import cause_words as words
from orchestrator.analysis.telemetry import disk_demand, inside_causes, kept
from orchestrator.analysis.telemetry.inside_causes import CAP_PCT, FREE_PCT, Cause, Rules, carried
from orchestrator.analysis.telemetry.resources import Values
from orchestrator.analysis.telemetry.shares import client_use, follows, nearest_cap
from orchestrator.tier import Tier
from orchestrator.units import format_number

OTHER_CAP_PCT = 90.0  # the other of the two caps, for one of them to be the limit
AT_TIMES_PCT = 25.0  # of the seconds at a cap, for it to be named where nothing else is
CLIENT_PCT = 80.0
HOST_PCT = 90.0
CEILING_PCT = 95.0
SERVED_PCT = 99.0  # of what was due
APART_PCT = 5.0  # two limits closer than this cannot be told apart
TURN_PCT = 15.0  # of what throughput follows, for a limit to have a turn
MOST_PCT = 50.0  # of what throughput follows: below that more sessions at a time would do more
HARNESS_CAUSES = frozenset({"client_bound", "machine_bound"})
NOT_THE_TIER = HARNESS_CAUSES | {"slow_node"}


def judge(values: Values, tier: Tier, node: str) -> Cause:
    """The cause that these values carry. Values that are absent support nothing."""
    if not {"disk_iops", "cpu_pct"} & set(values):
        return Cause("unattributed", "Neither disk nor CPU of the database nodes was sampled.")
    outside = next(carried(_OUTSIDE_RULES, values, node), None)
    fall = next(carried({"burst_exhausted": _burst_exhausted}, values, node), None)
    caps = list(_caps(values, tier, node))
    asked = outside if outside and outside.name == "load_bound" else None
    if not caps:
        first = fall if asked else None
        return first or outside or fall or _inside(values, tier, node) or _nothing(values)
    if outside and outside.name == "network_bound":
        both = "Disk and network were both at their limit and cannot be told apart."
        return Cause("unattributed", f"{both} {caps[0].text} {outside.text}")
    if rival := _rival(values):
        return _inside(values, tier, node) or rival if "sessions" in values else rival
    if fall:
        return fall
    if len(caps) > 1:
        return Cause("unattributed", words.said("both caps", values, node=node))
    if asked:
        yet = "Throughput is what the load asks for all the same, so it shows in latency."
        return Cause(caps[0].name, f"{caps[0].text} {yet}")
    return caps[0]


def _inside(values: Values, tier: Tier, node: str) -> Cause | None:
    """By what most of the sessions' time is spent on, where they were seen; else by thresholds, and
    a cap that was reached at times."""
    core = next(carried({"single_core": inside_causes.RULES["single_core"]}, values, node), None)
    if core or not (shares := follows(values)):
        known = next(carried(inside_causes.RULES, values, node), None)
        return known or next(_caps(values, tier, node, AT_TIMES_PCT), None)
    (name, most), (second, less) = sorted(shares.items(), key=lambda of: -of[1])[:2]
    full = max(100 * client_use(values), nearest_cap(values), values.get("cpu_pct", 0.0))
    in_turn = [values.get(name, 0.0) >= AT_TIMES_PCT for name in _AT_TIMES]
    roomy = full < FREE_PCT and not any(in_turn) and inside_causes.room(values)
    # A network whose speed is not known may be full.
    if roomy and (name == "cpu_bound" or (most < MOST_PCT and name != "network_bound")):
        cached = inside_causes.RULES["in_cache"](values, node)
        few = inside_causes.TEXTS["few_sessions"](values, node)
        return Cause("in_cache", cached) if cached else Cause("few_sessions", few)
    if name == "cpu_bound" and full < FREE_PCT and not any(in_turn):
        return None  # nor would more sessions help
    one_core = values.get("client_cores", 0.0) >= inside_causes.ONE_CORE[0]
    if name == "network_bound" and one_core and "client_core_pct" not in values:
        return None  # or a core of the load generator's, which others keep busy too
    if name == "network_bound" and _crowded(values):
        return None  # or who is to answer waits for CPU
    titles = words.table("of limits")
    cpu_and_cap = {name, second} <= {"cpu_bound", "iops_cap", "bandwidth_cap"}
    taking_turns = cpu_and_cap and less >= TURN_PCT and in_turn[0] and any(in_turn[1:])
    if taking_turns or most - less < APART_PCT:
        both = {"first": titles[name], "second": titles[second], "most": most, "less": less}
        return Cause("unattributed", words.said("two limits", values, node=node, **both))
    cause: Cause | None
    if name in inside_causes.TEXTS:
        cause = Cause(name, inside_causes.TEXTS[name](values, node))
    elif name == "client_bound":
        cause = Cause(name, _client_text(values))
    else:
        at_times = _caps(values, tier, node, 0.0)
        cause = next((cap for cap in at_times if cap.name in (name, "vm_cap", "shared_cap")), None)
        if cause is None:
            return None
    beside = f"Throughput follows it by about {most:.0f} %, {titles[second]} by {less:.0f} %."
    return Cause(cause.name, f"{cause.text} {beside}", most - less)


def _crowded(values: Values) -> bool:
    """Whether the machine is full with what gives way, though not always at once, and what node and
    load generator use there is much of it."""
    busy = values.get("host_cpu_pct", 0.0)
    ours = busy - values.get("other_cpu_pct", busy)
    return busy + values.get("low_priority_pct", 0.0) >= HOST_PCT and ours >= AT_TIMES_PCT


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
    node = f"the node's CPU {values['cpu_pct']:.0f} % busy, " if "cpu_pct" in values else ""
    machine = words.machine_text(values)
    text = words.said("disk and CPU", values, cap=cap, cpu=node, machine=machine)
    return Cause("unattributed", text)


def _caps(
    values: Values, tier: Tier, node: str, at_times_pct: float | None = None
) -> Iterator[Cause]:
    """The caps that hold I/Os back, the disk's or its machine's; none beside which the other is
    nearly reached. `at_times_pct`: of the seconds, from which on one is enough; else the median
    second decides."""
    for cap, known in words.table("caps").items():
        other, title = known["other"], known["title"]
        time_pct = values.get(f"time_at_{cap}_cap_pct", 0.0)
        own = values.get(f"{cap}_of_cap_pct", 0.0) >= CAP_PCT
        together = values.get(f"shared_{cap}_of_cap_pct", 0.0)
        is_shared = together >= CAP_PCT and not own
        reached = own if at_times_pct is None else time_pct >= at_times_pct
        if not (reached or is_shared) or not disk_demand.binds(cap, values, tier):
            continue
        if CAP_PCT > values.get(f"{other}_of_cap_pct", 0.0) >= OTHER_CAP_PCT:
            continue
        burst, begins = "", "of the machine"
        if values.get("burst_credit_left_pct", 0.0) > 0:
            burst, begins = "burst's ", "of the machine's burst"
        of_vm = [text for text in tier.origin.vm_caps if text.startswith(known[begins])]
        helps = f"A tier with more {title} would help{known['less']}."
        if of_vm:
            helps = f"That is the machine's limit ({of_vm[0]}): a larger machine would help."
        seen = {"rate": words.rate_text(cap, values), "wait": words.wait_text(values)}
        parts = {**seen, "burst": burst, "title": title, "time": time_pct, "helps": helps}
        memory = words.memory_too(values)
        name = "cap (shared)" if is_shared else "cap"
        text = words.said(name, values, node=node, memory=memory, together=together, **parts)
        yield Cause("shared_cap" if is_shared else "vm_cap" if of_vm else known["cause"], text)


def _burst_exhausted(values: Values, _: str) -> str:
    if "iops_after_fall" not in values:
        return ""
    ends = (values["iops_before_fall"], values["iops_after_fall"])
    before, after = map(format_number, ends)
    return words.said("burst_exhausted", values, before=before, after=after)


def _load_bound(values: Values, _: str) -> str:
    share, served = values.get("nopm_of_ceiling_pct", 0.0), values.get("rate_served_pct", 0.0)
    if served >= SERVED_PCT:
        return words.said("load_bound (served)", values)
    return words.said("load_bound (think time)", values) if share >= CEILING_PCT else ""


def _network_bound(values: Values, node: str) -> str:
    if values.get("network_of_rate_pct", 0.0) < kept.LINK_PCT:
        return ""
    at_pct = values.get("time_at_network_rate_pct", 0.0)
    link = words.link_text(values)
    return words.said("network_bound (rate)", values, node=node, at_pct=at_pct, link=link)


def _client_bound(values: Values, _: str) -> str:
    of_machine = values.get("client_machine_cpu_pct", 0.0)
    own_core = inside_causes.one_core(values.get("client_cores"), values.get("client_core_pct"))
    if values.get("client_cpu_pct", 0.0) < CLIENT_PCT and of_machine < HOST_PCT and not own_core:
        return ""
    return _client_text(values, "it used one core and no more, " if own_core else "")


def _client_text(values: Values, core: str = "") -> str:
    no_help = "a faster disk would not help, and " if inside_causes.disk_is_idle(values) else ""
    machine = words.machine_text(values)
    return words.said("client_bound", values, core=core, machine=machine, no_help=no_help)


def _machine_bound(values: Values, node: str) -> str:
    steal_pct = values.get("steal_pct", 0.0)
    if values.get("host_cpu_pct", 0.0) + steal_pct < HOST_PCT:
        return ""
    which = f"The machine of {node}" if "client_machine_cpu_pct" in values else "This machine"
    no_help = " A faster disk would not help here." if inside_causes.disk_is_idle(values) else ""
    stolen = f", and its host gave {steal_pct:.0f} % to others" if steal_pct >= 1 else ""
    parts = {"which": which, "machine": words.machine_text(values), "stolen": stolen}
    return words.said("machine_bound", values, no_help=no_help, **parts)


def _nothing(values: Values) -> Cause:
    known = words.shares_of(values, "of resources")
    return Cause("unattributed", f"No resource was clearly the limit ({', '.join(known)}).")


_OUTSIDE_RULES: Rules = {
    "load_bound": _load_bound,
    "network_bound": _network_bound,
    "client_bound": _client_bound,
    "machine_bound": _machine_bound,
}
