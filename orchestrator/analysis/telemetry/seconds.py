"""What single seconds of the window show of a node, which its growth hides. Pure."""

import math

import pandas as pd

from orchestrator.analysis.telemetry import counters, disk_demand, machines
from orchestrator.model import Node, Record

CPU_PCT = 85.0  # of what a node may use
# Of a link's declared rate: of full frames 4 % are headers that the kernel does not count.
LINK_PCT = 90.0
SESSIONS = "sessions_"  # begins the names of the gauges that count them, by what they wait for
_CORE = "busiest_core_pct"
_WAYS = [counters.SENT_BYTES, counters.RECEIVED_BYTES]


def of_nodes(
    record: Record, samples: pd.DataFrame, rates: pd.DataFrame, window: tuple[float, float]
) -> dict[str, dict[str, float]]:
    """Node → its values, named as in `resources.VALUES`, and what it counted of sessions."""
    limits = machines.cpu_limits(record.nodes, None)
    names = [str(name) for name in samples["metric"].unique()]
    kept = [name for name in names if name == _CORE or name.startswith(SESSIONS)]
    gauges = _of(samples, kept, window).groupby(["node", "metric"], observed=True)["value"]
    by_node: dict[str, dict[str, float]] = {}
    for (node, metric), values in gauges:
        typical = values.median() if metric == _CORE else values.mean()
        by_node.setdefault(str(node), {})[str(metric)] = float(typical)
    used = _of(rates, [counters.CPU_SECONDS], window).groupby("node", observed=True)["value"]
    for node, cores in used:
        if node in limits:
            busy = 100 * cores / limits[str(node)] >= CPU_PCT
            by_node.setdefault(str(node), {})["time_at_cpu_pct"] = 100 * float(busy.mean())
    if rate := record.profile.cluster.network_bytes_per_s:
        ways = _of(rates, _WAYS, window).groupby(["node", "time_s"], observed=True)["value"]
        for node, busier in ways.max().groupby("node", observed=True):
            of_rate, own = 100 * busier / rate, by_node.setdefault(str(node), {})
            own["network_of_rate_pct"] = float(of_rate.median())
            own["time_at_network_rate_pct"] = 100 * float((of_rate >= LINK_PCT).mean())
    return by_node


def at_limits(record: Record, rates: pd.DataFrame, node: Node) -> dict[float, str]:
    """End of each second in which something of the node was at its limit → what it was: a cap of
    its disk (within 5 %), else its CPU."""
    own = rates[(rates["node"] == node.name) & (rates["metric"] == counters.CPU_SECONDS)]
    cpus = machines.cpu_limits(record.nodes, None).get(node.name, math.inf)
    reached = [(own["time_s"][100 * own["value"] >= CPU_PCT * cpus], "node CPU")]
    disk = disk_demand.of_node(record, rates, node)
    for name, share in disk_demand.of_caps(pd.DataFrame() if disk is None else disk):
        assert disk is not None
        title = "IOPS cap" if name == "iops" else f"{name} cap"
        reached.append((disk["time_s"][share >= disk_demand.AT_CAP], title))
    return {time_s: name for times_s, name in reached for time_s in times_s}


def _of(table: pd.DataFrame, metrics: list[str], window: tuple[float, float]) -> pd.DataFrame:
    inside = (table["time_s"] > window[0]) & (table["time_s"] <= window[1])
    return table[inside & table["metric"].isin(metrics)]
