"""Parts of sentences that several causes share. Pure.

In a sentence a value that was not sampled is 0."""

from collections.abc import Iterable

from orchestrator.analysis.telemetry.causes import signs
from orchestrator.analysis.telemetry.use import cap_binding
from orchestrator.analysis.telemetry.use.node_values import Evidence, LimitReach
from orchestrator.units import format_number, format_seconds

MEMORY_PRESSURE_PCT = 5.0
UNLOADED = 1.5  # multiple of the idle disk's latency: below it I/Os do not queue
# Share of an I/O's time that the disk takes for it: if it is less, little is the disk's own.
_PART = 0.2
# Share of a YugabyteDB statement's time, and its least length. On idle servers 0.07 and 0.11 ms
# were seen, to wake a thread.
QUEUED_PCT = 10.0
QUEUED_S = 0.001
REFUSED_PER_S = 1.0
NO_FASTER_DISK = "A faster disk would not raise throughput."

Titled = tuple[str, float | None]  # what a value is of, and the value in %


def percent(value: float | None) -> str:
    return f"{value or 0.0:.0f} %"


def time(value_s: float | None) -> str:
    return format_seconds(value_s or 0.0)


def number(value: float | None) -> str:
    return format_number(value or 0.0)


def sampled_shares(values: Iterable[Titled]) -> list[str]:
    """`title 95 %` for each of the values that there is."""
    texts = []
    for title, value in values:
        if value is not None:
            texts.append(f"{title} {percent(value)}")
    return texts


# ------------------------------------------------------------------ the machine


def machine_use(values: Evidence) -> str:
    """How busy its CPU is, and by whom; both machines', if the load generator has another."""
    if values.client.client_machine_cpu_pct is None:
        client = ("load generator", values.client.client_cpu_pct)
        return _busy(values.host.host_cpu_pct, [client, *_used_beside(values)])
    here = _busy(values.host.host_cpu_pct, _used_beside(values))
    there = percent(values.client.client_machine_cpu_pct)
    client_alone = f"{percent(values.client.client_cpu_pct)} by itself"
    return (
        f"{here} where the node is, and {there} where the load generator is "
        f"({client_alone})"
    )


def _used_beside(values: Evidence) -> list[Titled]:
    return [
        ("emulated disks", values.host.disk_server_cpu_pct),
        ("not ours", values.host.other_cpu_pct),
    ]


def _busy(host_cpu_pct: float | None, users: list[Titled]) -> str:
    used = ", ".join(sampled_shares(users))
    if host_cpu_pct is None:
        if not used:
            return "the machine's CPU was not sampled"
        return f"{used} of the machine's CPU"
    busy = f"{percent(host_cpu_pct)} of the machine's CPU busy"
    if used:
        return f"{busy} ({used})"
    return busy


# ------------------------------------------------------------------ the disk


def cap_use(values: Evidence) -> str:
    """What is used of the disk's caps, as a remark within a sentence."""
    used = sampled_shares(
        [
            ("IOPS at", values.caps.iops_of_cap_pct),
            ("bandwidth at", values.caps.bandwidth_of_cap_pct),
        ]
    )
    if not used:
        return ""
    return f" with the disk's {' and '.join(used)} of their caps"


def instead_of_idle(values: Evidence, an_io: str) -> str:
    """How long an I/O takes beside the idle disk's; empty unless both are known."""
    if values.disk.disk_await_s is None or not values.disk.idle_disk_latency_s:
        return ""
    taken = time(values.disk.disk_await_s)
    return (
        f", {an_io} taking {taken} instead of {time(values.disk.idle_disk_latency_s)}"
    )


def of_disk_itself(values: Evidence) -> str:
    """How much of the time of an I/O is the disk's own, where it queues at all."""
    await_s = values.disk.disk_await_s or 0.0
    idle_s = values.disk.idle_disk_latency_s
    if not idle_s or await_s < UNLOADED * idle_s:
        return ""
    # Share of the time that is shown; reads alone may wait less.
    share = idle_s / await_s
    how_much = "little"
    if share > 1 / cap_binding.QUEUEING:
        how_much = "most"
    elif share >= _PART:
        how_much = "part"
    return f", {how_much} of it the disk's own {time(idle_s)}"


def lower_latency(values: Evidence) -> str:
    """What helps where sessions wait for single I/Os."""
    # More of a cap would help a little where it is full at times, or I/Os queue. That it would not
    # is then not said.
    at_times = signs.at_a_cap_pct(values) >= signs.TURN_PCT
    near_a_cap = signs.nearest_cap(values) >= signs.FREE_PCT
    if at_times or near_a_cap or of_disk_itself(values):
        return "A tier with a lower latency would help"
    return "More IOPS or bandwidth would not help; a tier with a lower latency would"


# ------------------------------------------------------------------ beside a cause


def memory_too(values: Evidence) -> str:
    """A remark beside a cause at the disk: reads may come from too little memory."""
    pressure_pct = values.host.memory_pressure_pct or 0.0
    if pressure_pct < MEMORY_PRESSURE_PCT:
        return ""
    return (
        f" More memory would help too: tasks waited for it {percent(pressure_pct)} of the "
        "time. Data that do not fit are read again."
    )


def requests_too(values: Evidence, node: str) -> str:
    """A remark on requests that wait in the queue of a YugabyteDB's tablet server for much of a
    statement's time, or are refused there; or empty."""
    return _requests_queued(values, node) + _requests_refused(values, node)


def _requests_queued(values: Evidence, node: str) -> str:
    queued_s = values.requests.request_queued_avg_s or 0.0
    statement_s = values.requests.statement_avg_s
    if queued_s < QUEUED_S or statement_s is None:
        return ""
    if 100 * queued_s < QUEUED_PCT * statement_s:
        return ""
    waited = time(queued_s)
    took = time(statement_s)
    return (
        f" Each request waited {waited} in the queue of {node}'s tablet server; a "
        f"statement takes {took}. Requests wait there for a free thread, or for CPU."
    )


def _requests_refused(values: Evidence, node: str) -> str:
    too_many_files = values.requests.write_rejections_per_s or 0.0
    refused = (values.requests.requests_refused_per_s or 0.0) + too_many_files
    if refused < REFUSED_PER_S:
        return ""
    of_them = ""
    if too_many_files:
        of_them = (
            f", {number(too_many_files)} of them because too many data files wait for "
            "merging"
        )
    return (
        f" The tablet server of {node} refused {number(refused)} requests a second"
        f"{of_them}."
    )


def whose_word(reach: LimitReach) -> str:
    """Who says that a limit was reached, as it stands behind "by"."""
    if reach.source == "volume":
        return "the volume's counts"
    return "its provider's report"
