"""A node whose disk is slower than those of its peers, though it does no more. Pure.

Such a disk, or its machine, holds the whole cluster back, and says nothing of the tier.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import NamedTuple

from orchestrator.analysis.telemetry.causes import outside_causes, phrases
from orchestrator.analysis.telemetry.causes.cause import Cause
from orchestrator.analysis.telemetry.causes.signs import nearest_cap
from orchestrator.analysis.telemetry.use import node_values
from orchestrator.analysis.telemetry.use.node_values import Evidence

NEAR_CAP_PCT = 80.0  # use of a cap: from there on it may be what slows a node down
SLOWER = 3.0  # multiple of its peers' time of an I/O
# Multiple of the idle disk's latency, which an emulated or a checked disk has.
OVER_IDLE = 2.0
MORE = 1.25  # multiple of its peers' IOPS: a node that does more may be slow for that


@dataclass(frozen=True)
class SlowNode:
    name: str
    cause: Cause


def slow_node(by_node: Mapping[str, Evidence]) -> SlowNode | None:
    """The first node whose disk is slower than its peers', though it does no more."""
    for name, values in by_node.items():
        peers = [other for node, other in by_node.items() if node != name]
        usual = _usual(peers)
        if usual is not None and _is_slow(values, usual):
            return SlowNode(name, _slow_node(values, name, usual))
    return None


class _Usual(NamedTuple):
    """Medians over a node's peers. `await_s`: over the peers that know their await. `iops`: over
    all peers."""

    await_s: float
    iops: float


def _usual(peers: Sequence[Evidence]) -> _Usual | None:
    await_s = node_values.of_several(peers, median).disk.disk_await_s
    if await_s is None:
        return None
    return _Usual(await_s, median(peer.disk.disk_iops or 0.0 for peer in peers))


def _is_slow(values: Evidence, usual: _Usual) -> bool:
    """Whether it is slower than its peers, busy, and at no cap."""
    # A node that does more I/Os may be slow for that.
    if (
        values.disk.disk_await_s is None
        or (values.disk.disk_iops or 0.0) > MORE * usual.iops
    ):
        return False
    idle_s = values.disk.idle_disk_latency_s or 0.0
    slower = values.disk.disk_await_s >= max(SLOWER * usual.await_s, OVER_IDLE * idle_s)
    busy = (values.disk.disk_busy_pct or 0.0) >= outside_causes.BUSY_PCT
    # A disk that is held back at a cap is slow by order.
    return slower and busy and nearest_cap(values) < NEAR_CAP_PCT


def _slow_node(values: Evidence, node: str, usual: _Usual) -> Cause:
    iops = phrases.number(values.disk.disk_iops)
    usual_iops = phrases.number(usual.iops)
    await_text = phrases.time(values.disk.disk_await_s)
    usual_await = phrases.time(usual.await_s)
    text = (
        f"Each I/O on {node} takes {await_text}, on the other nodes {usual_await}. It does "
        f"no more of them ({iops} IOPS, the others {usual_iops}). Its disk or its machine "
        "is slow, and the cluster waits for it. Repair or replace it, then measure again."
    )
    return Cause("slow_node", text)
