"""Causes outside of the database and its disks. Pure.

The load asks for no more, or the network, the load generator, the machine or a store that others
run is full. When each of them holds: docs/research/RULES.md."""

import math

from orchestrator.analysis.telemetry.causes import signs
from orchestrator.analysis.telemetry.causes.cause import Cause, Rule
from orchestrator.analysis.telemetry.causes.phrases import (
    machine_use,
    number,
    percent,
    time,
)
from orchestrator.analysis.telemetry.use import machine_cpu
from orchestrator.analysis.telemetry.use.node_values import Evidence, assumed
from orchestrator.units import format_bytes_per_s, format_link_rate

SERVED_PCT = 99.0  # share of what was due
CEILING_PCT = 95.0
CLIENT_PCT = 80.0
HOST_PCT = 90.0
# Share of sessions' or I/Os' time from which the disk is what is waited for.
WAITING_PCT = 50.0
# Share of the time an I/O is under way, if the database does not count waits.
BUSY_PCT = 70.0
STOLEN_PCT = 1.0  # share taken by the machine's host, to be mentioned
STOOD_PCT = 75.0  # share of the seconds in which throughput stood where it was
ALONE_FROM = 0.8  # cores used where there is one session

_APART_TO_TELL = "Run the load and the database on separate or larger machines to tell."


# ------------------------------------------------------------------ what the load asks for


def _all_is_served(values: Evidence) -> bool:
    return (values.load.rate_served_pct or 0.0) >= SERVED_PCT


def _load_is_served(values: Evidence, node: str) -> Cause:
    text = (
        f"The load asks for no more: {values.load.rate_served_pct or 0.0:.1f} % of the "
        "transactions that were due ended in the window. Compare latencies."
    )
    return Cause("load_bound", text, is_no_disk=True)


def _is_at_ceiling(values: Evidence) -> bool:
    return (values.load.nopm_of_ceiling_pct or 0.0) >= CEILING_PCT


def _think_time_allows_no_more(values: Evidence, node: str) -> Cause:
    share_pct = values.load.nopm_of_ceiling_pct or 0.0
    text = (
        "The terminals' think time is the limit: New-Orders a minute reached "
        f"{share_pct:.1f} % of the most that it allows. Compare latencies."
    )
    return Cause("load_bound", text, is_no_disk=True)


# ------------------------------------------------------------------ the network


def _link_is_full(values: Evidence) -> bool:
    return (values.link.network_of_rate_pct or 0.0) >= machine_cpu.LINK_PCT


def _full_link(values: Evidence, node: str) -> Cause:
    rate = "its declared rate"
    again = f", {values.traffic.sent_again_pct or 0.0:.1f} % of segments sent again"
    if values.link.network_cards_bytes_per_s:
        speed = format_link_rate(values.link.network_cards_bytes_per_s)
        rate = f"the speed that its network cards report ({speed})"
        again = ""
    time_text = percent(values.link.time_at_network_rate_pct)
    traffic = f"{_traffic(values)}{again}"
    text = (
        f"The link of {node} was at {rate} {time_text} of the time ({traffic}). A "
        "faster network would help."
    )
    return Cause("network_bound", text, is_no_disk=True)


def _traffic(values: Evidence) -> str:
    sent = format_link_rate(values.traffic.network_sent_bytes_per_s or 0.0)
    received = format_link_rate(values.traffic.network_received_bytes_per_s or 0.0)
    packets = number(values.traffic.network_packets_per_s)
    return f"{sent} sent, {received} received, {packets} packets/s"


# ------------------------------------------------------------------ the load generator


def _client_is_full(values: Evidence) -> bool:
    client_pct = values.client.client_cpu_pct or 0.0
    machine_pct = values.client.client_machine_cpu_pct or 0.0
    is_full = client_pct >= CLIENT_PCT or machine_pct >= HOST_PCT
    return is_full or signs.client_fills_one_core(values)


def client_bound(values: Evidence, node: str) -> Cause:
    one_core = ""
    if signs.client_fills_one_core(values):
        one_core = "it used one core and no more, "
    machine = machine_use(values)
    text = (
        f"The load generator was the limit: {one_core}{machine}; what "
        f"the database could do was not measured. {_APART_TO_TELL}"
    )
    return Cause("client_bound", text, is_no_disk=signs.disk_is_idle(values))


# ------------------------------------------------------------------ the machine


def _machine_is_full(values: Evidence) -> bool:
    """Whether the machine is full, with what its own host gave to others counted as used."""
    busy_pct = values.host.host_cpu_pct or 0.0
    return busy_pct + (values.host.steal_pct or 0.0) >= HOST_PCT


def _full_machine(values: Evidence, node: str) -> Cause:
    which = "This machine"
    if values.client.client_machine_cpu_pct is not None:
        which = f"The machine of {node}"
    stolen = ""
    if (values.host.steal_pct or 0.0) >= STOLEN_PCT:
        stolen = f", and its host gave {percent(values.host.steal_pct)} to others"
    text = f"{which} was the limit: {machine_use(values)}{stolen}. {_APART_TO_TELL}"
    return Cause("machine_bound", text, is_no_disk=signs.disk_is_idle(values))


def host_disk_bound(values: Evidence) -> bool:
    """Whether most of an emulated disk's time is neither its limits' nor its latency's."""
    # A value that is not known is taken for all of it. Then nothing is left that this machine could
    # be blamed for.
    idle_s = values.disk.idle_disk_latency_s or 0.0
    await_s = values.disk.disk_await_s or math.inf
    held_back_pct = assumed(values.caps.held_back_pct, if_unknown=100.0)
    beyond_pct = 100 - held_back_pct - 100 * idle_s / await_s
    return beyond_pct >= WAITING_PCT and disk_is_awaited(values)


def disk_is_awaited(values: Evidence) -> bool:
    """Whether sessions wait for it, by the database's count; else, whether it works."""
    waiting_pct = signs.waiting_pct(values)
    if waiting_pct is None:
        return (values.disk.disk_busy_pct or 0.0) >= BUSY_PCT
    return waiting_pct >= WAITING_PCT


def slow_host_disk(values: Evidence, node: str) -> Cause:
    await_text = time(values.disk.disk_await_s)
    idle_text = time(values.disk.idle_disk_latency_s)
    held_back = percent(values.caps.held_back_pct)
    text = (
        f"The emulation of {node}'s disk was the limit, not the tier. Each I/O takes "
        f"{await_text}, of which the tier's latency is {idle_text}. The tier's limits held "
        f"it back for {held_back} of that time. The rest is due to this machine's own disk "
        "or CPU. Stop other programs that use them, or take a faster machine."
    )
    return Cause("machine_bound", text)


# The first that holds is the cause. A load that asks for no more is the limit, whatever is busy.
RULES = (
    Rule(_all_is_served, _load_is_served),
    Rule(_is_at_ceiling, _think_time_allows_no_more),
    Rule(_link_is_full, _full_link),
    Rule(_client_is_full, client_bound),
    Rule(_machine_is_full, _full_machine),
)


# ------------------------------------------------------------------ a store of others


def _stands_still(values: Evidence) -> bool:
    """What stands still where everything on this side is free, its threads too, is held by the
    other side; or each of few streams waits for its answers."""
    # A CPU that was not sampled may be what holds it.
    if values.cpu.cpu_pct is None or values.host.host_cpu_pct is None:
        return False
    stood = (values.link.time_at_way_pct or 0.0) >= STOOD_PCT
    if not stood or not signs.cpus_are_free(values):
        return False
    held_here = signs.locks_are_waited_for(values) or _may_be_one_thread(values)
    return not held_here


def _may_be_one_thread(values: Evidence) -> bool:
    # One thread that computes all the time moves as steadily as one that waits for a store.
    cores = values.cpu.node_cores or 0.0
    uses_one = ALONE_FROM <= cores <= signs.MOST_OF_ONE_CORE
    return uses_one or (values.host.busiest_core_pct or 0.0) >= signs.FREE_PCT


def _service_cap(values: Evidence, node: str) -> Cause:
    rate = format_bytes_per_s(values.link.way_bytes_per_s or 0.0)
    time_text = percent(values.link.time_at_way_pct)
    cpu = percent(values.cpu.cpu_pct)
    host_cpu = percent(values.host.host_cpu_pct)
    text = (
        f"Throughput of {node} stayed at {rate} for {time_text} of the seconds (within 10 "
        f"%). Its CPU ({cpu}) and that of its machine ({host_cpu}) were free. That looks "
        "like a cap of the service, or of the network to it. It is inferred, because "
        "neither can be seen from here. Streams that wait for answers keep one rate, too. "
        "Repeat the run with twice the `threads`: a cap stays."
    )
    return Cause("service_cap", text)


# This rule is for where nothing within the system is a cause either.
LAST_RULES = (Rule(_stands_still, _service_cap),)
