"""Doubts about clients: that they were the limit of a run, or that they measured apart. Pure."""

from collections.abc import Iterator

from orchestrator.analysis import results
from orchestrator.analysis.doubts.effects import is_only_told
from orchestrator.analysis.doubts.validity import Doubts
from orchestrator.analysis.results import RunData
from orchestrator.analysis.telemetry.causes import outside_causes
from orchestrator.analysis.telemetry.counters import counter_names
from orchestrator.analysis.telemetry.use import machine_cpu
from orchestrator.analysis.telemetry.use.all_nodes import Totals
from orchestrator.design.nodes_by_role import nodes_of_role
from orchestrator.model import Doubt
from orchestrator.units import format_seconds

# Change of a client's clock against ours, beyond what the readings leave open. Transactions of
# several clients are put together by their times.
CLOCK_MOVED_S = 0.010
CLOCK_UNKNOWN_S = 0.050
LOST_PCT = 10.0  # share of the window that was asked for


def client_busy(run: RunData, values: Totals) -> Doubts:
    """The most that a client used of its own limit, or all clients together of their machine."""
    client_pct = values.client_cpu_pct or 0.0
    if client_pct >= outside_causes.CLIENT_PCT:
        yield _client_busy(client_pct, _use_of_each_client(run))


def _use_of_each_client(run: RunData) -> str:
    """` (client-1 81 %, client-2 40 %)`, each of what it may use, if there are several."""
    clients = nodes_of_role(run.record.nodes, "client")
    if len(clients) < 2:
        return ""
    shares = ", ".join(_shares(run, [client.name for client in clients]))
    if shares:
        return f" ({shares})"
    return ""


def _shares(run: RunData, clients: list[str]) -> Iterator[str]:
    growth = run.telemetry.growth
    limits = machine_cpu.cpu_limits(run.record.nodes, None)
    if growth is None:
        return
    for name in clients:
        cores_used = growth.per_s(name, counter_names.CPU_SECONDS)
        if cores_used is not None and name in limits:
            yield f"{name} {100 * cores_used / limits[name]:.0f} %"


def clients_apart(run: RunData, _: Totals) -> Doubts:
    """Several clients whose clocks could not be brought together, or whose windows differ."""
    yield from _clocks(run)
    facts = results.generator(run.record)
    window = run.record.phase("measure")
    if not facts.clients or window is None:
        return
    # The window is where all of them measured: who starts late shortens it for the others.
    asked_s = run.record.workload.measure_s
    together_s = window.duration_s
    if together_s < (1 - LOST_PCT / 100) * asked_s:
        yield _clients_apart(together_s, asked_s, facts.start_skew_s or 0.0)


def _clocks(run: RunData) -> Doubts:
    for name, client in results.generator(run.record).clients.items():
        before_s = client.get("clock_offset_s")
        after_s = client.get("clock_offset_after_s")
        unknown_s = client.get("clock_uncertainty_s")
        if before_s is None or after_s is None or unknown_s is None:
            yield _clock_not_read(name)
            continue
        moved_s = abs(after_s - before_s)
        # While readings leave so much open, a move of the clock cannot be told from it.
        if unknown_s > CLOCK_UNKNOWN_S:
            yield _clock_not_known(name, unknown_s)
        elif moved_s > CLOCK_MOVED_S + unknown_s:
            yield _clock_moved(name, moved_s)


# ------------------------------------------------------------------ in words


_SYNCHRONIZE = (
    "synchronize the clocks of the clients' machines (NTP), and measure again"
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
        f"the clock of {client} could not be read. Its transactions may be counted in the "
        "wrong second",
        advice="use an image whose `date` prints nanoseconds, as GNU's does",
    )


def _clock_not_known(client: str, uncertainty_s: float) -> Doubt:
    return is_only_told(
        "clients apart",
        f"the clock of {client} is only known to within {format_seconds(uncertainty_s)}",
        advice=_SYNCHRONIZE,
    )


def _clock_moved(client: str, moved_s: float) -> Doubt:
    return is_only_told(
        "clients apart",
        f"the clock of {client} moved by {format_seconds(moved_s)} against ours during the "
        "run",
        advice=_SYNCHRONIZE,
    )


def _clients_apart(together_s: float, asked_s: float, skew_s: float) -> Doubt:
    return is_only_told(
        "clients apart",
        f"all clients measured together for {format_seconds(together_s)} of the "
        f"{format_seconds(asked_s)} asked for: they began {format_seconds(skew_s)} apart",
        advice="measure for longer, or use client machines that start programs equally fast",
    )
