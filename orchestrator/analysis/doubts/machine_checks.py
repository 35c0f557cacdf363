"""Doubts about the machine of a run, and about what was sampled on it. Pure."""

from collections.abc import Iterator, Sequence

import numpy as np

from orchestrator.analysis import results
from orchestrator.analysis.doubts.effects import is_only_told, limits_the_answer
from orchestrator.analysis.doubts.validity import Doubts
from orchestrator.analysis.results import RunData
from orchestrator.analysis.telemetry.causes import outside_causes
from orchestrator.analysis.telemetry.use.all_nodes import Totals
from orchestrator.design.nodes_by_role import nodes_of_role
from orchestrator.model import Doubt
from orchestrator.texts.prose import listed
from orchestrator.units import format_seconds

# The kernel's own work for network and loop devices is among it, and belongs to nobody.
OTHERS_PCT = 25.0
# Time between two samples, where each second has one: a sample that comes late is no gap.
LOST_S = 2.5


def machine(run: RunData, values: Totals) -> Doubts:
    busy_pct = values.host_cpu_pct or 0.0
    if busy_pct >= outside_causes.HOST_PCT:
        hosts = nodes_of_role(run.record.nodes, "host")
        is_existing = results.is_existing(run.record)
        yield _host_saturated(busy_pct, len(hosts) > 1, is_existing)
    other_pct = values.other_cpu_pct or 0.0
    if other_pct >= OTHERS_PCT:
        yield _machine_shared(other_pct)


def no_telemetry(run: RunData, values: Totals) -> Doubts:
    absent = list(_not_there(values))
    if absent:
        yield _not_sampled(absent)
    gaps = list(_gaps(run))
    if gaps:
        yield _seconds_not_sampled(gaps)


def _not_there(values: Totals) -> Iterator[str]:
    """The metrics that every run has over its window, unless they could not be read."""
    if values.cpu_pct is None:
        yield "cpu_pct"
    if values.disk_iops is None:
        yield "disk_iops"
    if values.host_cpu_pct is None:
        yield "host_cpu_pct"


def _gaps(run: RunData) -> Iterator[str]:
    """The longest of each node, `3.0 s of node-1`."""
    if run.telemetry.empty:
        return
    record = run.record
    seconds = run.telemetry.by_second
    is_measured = (seconds["phase"] == "measure").to_numpy()
    times_s = seconds["time_s"].to_numpy(dtype=float)[is_measured]
    places = seconds["node"].cat.codes.to_numpy()[is_measured]
    lost_node = ""
    # The last node is taken away in such a run, and has no seconds while it is.
    if record.workload.lost_after_s is not None:
        lost_node = f"node-{record.profile.cluster.nodes}"
    for place, node in enumerate(seconds["node"].cat.categories):
        steps_s = np.diff(times_s[places == place])
        # One sample alone has no step.
        longest_s = float(np.max(steps_s, initial=0.0))
        if str(node) != lost_node and longest_s > LOST_S:
            yield f"{format_seconds(longest_s)} of {node}"


# ------------------------------------------------------------------ in words


def _host_saturated(busy_pct: float, several_hosts: bool, is_existing: bool) -> Doubt:
    """`is_existing`: others run the cluster, so its nodes are on other machines."""
    if several_hosts:
        text = f"the CPU of one of the machines was {busy_pct:.0f} % busy"
    elif is_existing:
        text = f"the machine's CPU was {busy_pct:.0f} % busy, with the load generator on it"
    else:
        text = (
            f"the machine's CPU was {busy_pct:.0f} % busy, with database, load generator "
            "and disks all on it"
        )
    if is_existing:
        advice = "use a machine with more cores, or fewer threads"
    else:
        advice = "use a machine with more cores, fewer --nodes or fewer threads"
    return limits_the_answer("host saturated", text, advice)


def _machine_shared(other_cpu_pct: float) -> Doubt:
    return limits_the_answer(
        "machine shared",
        f"{other_cpu_pct:.0f} % of the machine's CPU went to programs other than database, "
        "load generator and disk servers",
        advice="stop other programs on the machine, and measure again",
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
        f"seconds of the window were not sampled: {listed(gaps)}. Only their sum is known",
        advice="give the machine more CPU than nodes and clients use",
    )
