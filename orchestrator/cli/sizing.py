"""Nodes as large as their machines, a plan as long as the time given (`--node-size`, `--time`)."""

import math
from collections.abc import Callable, Sequence
from dataclasses import replace

from orchestrator.analysis.statistics.stats import t_quantile
from orchestrator.cli.options import Request
from orchestrator.errors import UsageError
from orchestrator.model import NodeSize, Note, Plan, Profile, Workload
from orchestrator.planning import sizes
from orchestrator.platforms.common.machines import of_nodes, told
from orchestrator.powers import Platform
from orchestrator.units import counted, format_seconds, listed, parse_seconds

NOISE_PCT = 3.0  # standard deviation of a tier's runs (docs/ERROR-RATES.md)
Planned = Callable[[Sequence[Workload], Request], Plan]


def node_size(
    profiles: Sequence[Profile], connected: Callable[[], Platform], text: str
) -> NodeSize:
    """As given, or what the machines have for their nodes. UnavailableError if none answers."""
    if text != "auto":
        return sizes.node_size(text)
    placing, facts = profiles[0].placing, [told(machine) for machine in of_nodes(connected())]
    beside = placing is None or not (placing.client_machine or placing.client_selector)
    nodes = max(profile.cluster.nodes for profile in profiles)
    disks = [p.cluster.node.disk_bytes for p in profiles if p.cluster.node is not None]
    has = [(machine.cpus, machine.memory_bytes) for machine in facts]
    return sizes.of_machines(has, nodes, max(disks, default=0), beside)


def in_time(request: Request, workloads: Sequence[Workload], planned: Planned) -> Plan:
    """The plan as asked for; with --time the one that ends in it, and what that can find."""
    if request.time is None:
        return planned(workloads, request)
    if request.windows == "many":
        raise UsageError("--time plans windows and repetitions itself: leave out --windows many")

    def repeated(loads: Sequence[Workload], count: int) -> Plan:
        if not request.until:
            return planned(loads, replace(request, repetitions=count))
        first = min(count, request.repetitions)
        return planned(loads, replace(request, repetitions=first, most_repetitions=count))

    plan = sizes.in_time(parse_seconds(request.time), workloads, repeated)
    return replace(plan, notes=(*plan.notes, _finds(plan, request.time)))


def _finds(plan: Plan, time: str) -> Note:
    """What was planned, and the change that it finds four times in five: of n pairs of runs (t(97.5
    %) + t(80 %)) · √2 · noise ÷ √n, with n - 1 degrees of freedom (power of a paired t-test)."""
    windows = listed(list(dict.fromkeys(format_seconds(load.measure_s) for load in plan.workloads)))
    n = max(plan.looks, default=plan.repetitions)
    change_pct = sum(t_quantile(q, n - 1) for q in (0.975, 0.8)) * NOISE_PCT * math.sqrt(2 / n)
    text = f"{counted(n, 'repetition')} of windows of {windows} end within {time} by the longest "
    text += f"estimate; where runs of one tier vary by {NOISE_PCT:g} %, they find a change of "
    return Note("planned in time", f"{text}{change_pct:.0f} % four times in five")
