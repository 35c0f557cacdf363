"""Values in the words of a cause's sentences (causes.yaml). Pure."""

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from orchestrator.analysis.telemetry import disk_demand, shares
from orchestrator.analysis.telemetry.resources import VALUES, Values
from orchestrator.keys.strict_yaml import shipped
from orchestrator.units import Words, format_seconds

MEMORY_PRESSURE_PCT = 5.0
# Of a statement's time, and at least: on idle servers 0.07 and 0.11 ms were seen, to wake a thread.
QUEUED_PCT = 10.0
QUEUED_S = 0.001
REFUSED = ("requests_refused_per_s", "write_rejections_per_s")
REFUSED_PER_S = 1.0
UNLOADED = 1.5  # times the idle disk's latency: I/Os do not queue
ALONE_FROM = 0.8  # cores used where there is one session
NO_FASTER_DISK = "A faster disk would not."


def said(name: str, values: Values, **more: object) -> str:
    """The sentences of that name, with these values and parts in their braces."""
    return filled(str(shipped(__package__, "causes.yaml")[name]), values, **more)


def filled(text: str, values: Values, **more: object) -> str:
    return _CauseWords().vformat(text, (), {**values, **more})


class _CauseWords(Words):
    """A name stands for what is given, or for what `_PARTS` makes of that; a value of
    `resources.VALUES` that was not sampled is 0."""

    def get_value(
        self, key: int | str, args: Sequence[Any], kwargs: Mapping[str, Any]
    ) -> Any:
        if key in kwargs:
            return kwargs[str(key)]
        if key in VALUES:
            return 0.0
        return _PARTS[str(key)](kwargs)


def table(name: str) -> Mapping[str, Any]:
    """A table: what the program calls something → what a reader does, or what says it."""
    return dict(shipped(__package__, "causes.yaml")[name])


def cap_text(values: Values) -> str:
    known = shares_of(values, "of caps")
    if known:
        return f" with the disk's {' and '.join(known)} of their caps"
    return ""


def shares_of(values: Values, of: str) -> list[str]:
    """`title 95 %` for each of the values that is there, by the titles `of` something."""
    known = table(of).items()
    return [f"{title} {values[name]:.0f} %" for name, title in known if name in values]


def machine_text(values: Values) -> str:
    apart = values.get("client_machine_cpu_pct")
    if apart is not None:
        client = f"{values.get('client_cpu_pct', 0.0):.0f} % by itself"
        of_node = {
            name: value
            for name, value in values.items()
            if not name.startswith("client_")
        }
        where = f"{machine_text(of_node)} where the node is"
        return f"{where}, and {apart:.0f} % where the load generator is ({client})"
    used = ", ".join(shares_of(values, "of the machine"))
    busy = values.get("host_cpu_pct")
    if busy is None:
        return f"{used} of the machine's CPU"
    return f"{busy:.0f} % of the machine's CPU busy" + (f" ({used})" if used else "")


def memory_too(values: Values) -> str:
    """A remark beside a cause at the disk: reads may come from too little memory."""
    short = values.get("memory_pressure_pct", 0.0) >= MEMORY_PRESSURE_PCT
    if short:
        return f" {said('more memory', values)}"
    return ""


def requests_too(values: Values, node: str) -> str:
    """A remark on requests that wait in the queue of a YugabyteDB's tablet server for much of a
    statement's time, or are refused there; or empty."""
    known = ""
    queued_s = values.get("request_queued_avg_s", 0.0)
    long = 100 * queued_s >= QUEUED_PCT * values.get("statement_avg_s", math.inf)
    if queued_s >= QUEUED_S and long:
        known += f" {said('requests queued', values, node=node)}"
    refused = sum(values.get(name, 0.0) for name in REFUSED)
    if refused >= REFUSED_PER_S:
        known += f" {said('requests refused', values, node=node, refused=refused)}"
    return known


def alone(values: Values) -> bool:
    """Whether one session keeps a core busy, though the kernel moves it from core to core."""
    cores = values.get("node_cores", 0.0)
    return values.get("sessions") == 1 and ALONE_FROM <= cores <= shares.ONE_CORE[1]


def own_text(values: Values) -> str:
    """How much of the time of an I/O is the disk's own, where it queues at all."""
    await_s = values.get("disk_await_s", 0.0)
    idle_s = values.get("idle_disk_latency_s")
    if not idle_s or await_s <= UNLOADED * idle_s:
        return ""
    share = idle_s / await_s  # of what stands there; reads alone may wait less
    if share >= 1 / disk_demand.QUEUEING:
        most = "most"
    else:
        most = "little"
        if share >= 0.2:
            most = "part"
    return f", {most} of it the disk's own {format_seconds(idle_s)}"


def held_by_syncs(values: Values) -> bool:
    """Whether locks are held until the log is synced."""
    return values.get("seen_syncing_pct", 0.0) > values.get("seen_running_pct", 0.0) / 4


def syncs_queue(values: Values) -> bool:
    """Whether an I/O waits behind others for longer than the disk takes for it."""
    return shares.own_share(values) < 1 / disk_demand.QUEUEING


def helps_text(values: Values) -> str:
    """What helps where sessions wait for single I/Os."""
    at_times = shares.at_a_cap_pct(values) >= shares.TURN_PCT
    if at_times or own_text(values) or shares.nearest_cap(values) >= shares.FREE_PCT:
        return "A tier with a lower latency would help"
    return "More IOPS or bandwidth would not help; a tier with a lower latency would"


_PARTS: Mapping[str, Callable[[Values], object]] = {
    "alone_with_room": lambda values: alone(values) and shares.room(values),
    "caps": cap_text,
    "helps": helps_text,
    "idle_disk": shares.disk_is_idle,
    "locks_wait_for_log": lambda values: (
        held_by_syncs(values) and not syncs_queue(values)
    ),
    "locks_wait_for_others": lambda values: (
        held_by_syncs(values) and syncs_queue(values)
    ),
    "machine": machine_text,
    "memory": memory_too,
    "no_help": lambda values: (
        f" {NO_FASTER_DISK}" if shares.disk_is_idle(values) else ""
    ),
    "one_client_core": shares.one_client_core,
    "own": own_text,
    "room": shares.room,
    "spent": lambda values: ", ".join(shares_of(values, "of sessions")),
    "stolen": lambda values: values.get("steal_pct", 0.0) >= 1,
    "waited": lambda values: (
        "disk_await_s" in values and values.get("idle_disk_latency_s")
    ),
    "which": lambda values: (
        f"The machine of {values['node']}"
        if "client_machine_cpu_pct" in values
        else "This machine"
    ),
    "wal_caps": lambda values: " and ".join(shares_of(values, "of the WAL's caps")),
}
