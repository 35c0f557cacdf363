"""Doubts about the clients that carry a load: they were the limit, or were no one load. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from orchestrator.analysis import results
from orchestrator.analysis.results import RunData
from orchestrator.analysis.telemetry import counters, machines
from orchestrator.analysis.telemetry.causes import CLIENT_PCT
from orchestrator.analysis.telemetry.resources import Values
from orchestrator.units import format_seconds

CLOCK_MOVED_S = 0.010
CLOCK_UNKNOWN_S = 0.050
LOST_PCT = 10.0  # of the window that was asked for

Reasons = Iterator[tuple[str, str]]  # text, advice


def client_busy(run: RunData, values: Values) -> Reasons:
    """The most that a client used of its own limit, or all clients together of their machine."""
    client_pct = values.get("client_cpu_pct", 0.0)
    if client_pct >= CLIENT_PCT:
        each = _each(run)
        of_each = f" ({each})" if each else ""
        yield (
            f"the load generator used {client_pct:.0f} % of the machine's CPU{of_each}: it may be "
            "the limit",
            "use fewer threads, or run the client on a machine of its own",
        )


def _each(run: RunData) -> str:
    """`client-1 81 %, client-2 40 %`, each of what it may use, if there are several."""
    nodes, growth = run.record.nodes, run.growth
    clients = [node for node in nodes if node.role == "client"]
    if growth is None or len(clients) < 2:
        return ""
    limits = machines.cpu_limits(nodes, None)
    used = {node.name: growth.per_s(node.name, counters.CPU_SECONDS) for node in clients}
    return ", ".join(
        f"{name} {100 * per_s / limits[name]:.0f} %"
        for name, per_s in used.items()
        if per_s is not None and name in limits
    )


def clients_apart(run: RunData, _: Values) -> Reasons:
    """Several clients whose clocks could not be brought together, or whose windows differ."""
    facts = results.generator(run.record)
    for name, client in facts.clients.items():
        before_s, after_s = client.get("clock_offset_s"), client.get("clock_offset_after_s")
        unknown_s = client.get("clock_uncertainty_s")
        advice = "let the machines of the clients keep time alike (NTP), and measure again"
        if before_s is None or after_s is None or unknown_s is None:
            yield (
                f"the clock of {name} could not be read: its transactions may be counted in "
                "another second than they ended in",
                "use an image whose `date` tells nanoseconds, such as any with GNU's",
            )
        elif unknown_s > CLOCK_UNKNOWN_S:
            yield f"the clock of {name} is known to {format_seconds(unknown_s)} only", advice
        elif abs(after_s - before_s) > CLOCK_MOVED_S + unknown_s:
            moved = format_seconds(abs(after_s - before_s))
            yield f"the clock of {name} moved by {moved} against ours during the run", advice
    window, asked_s = run.record.phase("measure"), run.record.workload.measure_s
    if facts.clients and window and window.duration_s < (1 - LOST_PCT / 100) * asked_s:
        yield (
            f"all clients measured together for {format_seconds(window.duration_s)} of the "
            f"{format_seconds(asked_s)} asked for: they began "
            f"{format_seconds(facts.start_skew_s or 0.0)} apart",
            "measure for longer, or give the clients machines that start programs alike",
        )
