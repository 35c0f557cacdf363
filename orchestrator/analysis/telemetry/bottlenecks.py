"""What limited each cell: one bottleneck on its busiest node, with the values of every resource, by
`causes`, unless one node's disk is slower than those of its peers. Pure."""

from collections.abc import Mapping, Sequence
from statistics import median

from orchestrator import facts
from orchestrator.analysis import results
from orchestrator.analysis.conclusions import Bottleneck
from orchestrator.analysis.figures import statements
from orchestrator.analysis.telemetry import cause_words, causes, proof, resources
from orchestrator.analysis.telemetry.shares import nearest_cap, waiting_pct
from orchestrator.units import gathered

NEAR_CAP_PCT = 80.0  # of a cap: from there on it may be what slows a node down
SLOWER = 3.0  # times its peers' time of an I/O
OVER_IDLE = (
    2.0  # times the idle disk's latency, which an emulated or a checked disk has
)
MOST_PCT = 50.0  # of the blocks read, or of the log, for a statement to be named
MORE = 1.25  # times its peers' IOPS: a node that does more may be slow for that


def bottlenecks(campaign: results.Results) -> tuple[Bottleneck, ...]:
    """One per cell with finished runs, in the plan's order."""
    cpus = results.machine_cpus(campaign)
    of_cells = (bottleneck(cell.finished, cpus) for cell in results.cells(campaign))
    return tuple(filter(None, of_cells))


def bottleneck(
    runs: Sequence[results.RunData], cpus: float | None
) -> Bottleneck | None:
    """What limited one cell: judged on its busiest node, by medians over repetitions."""
    if not runs:
        return None
    run = runs[0].record.run
    tier = runs[0].record.profile.tier
    of_nodes = gathered(
        pair for data in runs for pair in resources.gather(data, cpus).items()
    )
    by_node = {name: _medians(of_runs) for name, of_runs in of_nodes.items()}
    node = max(by_node, key=lambda name: _load(by_node[name]), default="")
    cause = causes.judge(by_node.get(node, {}), tier, node)
    slow, why = slow_node(by_node)
    if slow and cause.name not in causes.HARNESS_CAUSES:
        node = slow
        cause = causes.Cause("slow_node", why)
    values = by_node.get(node, {})
    if cause.name == "unattributed" and causes.host_disk_bound(values):
        cause = causes.told("machine_bound (disk)", values, node)
    held = {"held_pct": held_pct(cause.name, values), "ahead_pct": cause.ahead_pct}
    evidence = {
        **values,
        **{name: pct for name, pct in held.items() if pct is not None},
    }
    text = (
        cause.text
        + _statement_text(cause.name, runs)
        + cause_words.requests_too(values, node)
    )
    named = Bottleneck(run.profile, run.workload, node, cause.name, text, evidence)
    return proof.proven(named, runs)


def _statement_text(
    cause: facts.BottleneckCause, runs: Sequence[results.RunData]
) -> str:
    """Names the statement behind most of what a cause at the disk consists of; or empty."""
    count, title = cause_words.table("of statements").get(cause, ("calls", ""))
    counts = statements.pooled(run.record for run in runs)[0][count]
    pct = 100 * counts.max() / max(counts.sum(), 1)
    named = title and pct >= MOST_PCT
    if named:
        return f" {pct:.0f} % of the {title} is of `{counts.idxmax()}`."
    return ""


def held_pct(cause: facts.BottleneckCause, values: resources.Values) -> float | None:
    """For which share of the window it held; None where nothing says it."""
    if cause == "latency_bound":
        return waiting_pct(values)
    names = cause_words.table("held").get(cause, ())
    return max((values[name] for name in names if name in values), default=None)


def _medians(of_runs: Sequence[resources.Values]) -> dict[str, float]:
    """Each value's median over the runs that have it."""
    every = gathered(pair for values in of_runs for pair in values.items())
    return {name: median(values) for name, values in every.items()}


def _load(values: resources.Values) -> tuple[float, float]:
    shares = ("iops_of_cap_pct", "bandwidth_of_cap_pct", "cpu_pct")
    return max(values.get(name, 0.0) for name in shares), values.get("disk_iops", 0.0)


def slow_node(by_node: Mapping[str, resources.Values]) -> tuple[str, str]:
    """The node, and what a database administrator reads of it; empty if there is none."""
    for name, own in by_node.items():
        peers = [values for other, values in by_node.items() if other != name]
        awaits = [
            values["disk_await_s"] for values in peers if "disk_await_s" in values
        ]
        if not awaits or "disk_await_s" not in own:
            continue
        await_s = own["disk_await_s"]
        usual_s = median(awaits)
        iops = own.get("disk_iops", 0.0)
        usual = median(v.get("disk_iops", 0.0) for v in peers)
        slower = await_s >= max(
            SLOWER * usual_s, OVER_IDLE * own.get("idle_disk_latency_s", 0.0)
        )
        busy = (
            own.get("disk_busy_pct", 0.0) >= causes.BUSY_PCT
            and nearest_cap(own) < NEAR_CAP_PCT
        )
        if slower and busy and iops <= MORE * usual:
            told = {"usual_s": usual_s, "iops": iops, "usual_iops": usual}
            return name, cause_words.said("slow_node", own, node=name, **told)
    return "", ""
