"""How full the network links of nodes were, each by its busier way. Pure.

A link has a rate that the profile declares, or the speed that the node's network cards report. Of
a store that others run no rate is known. There it counts how steady throughput was, because what
stands still may be held by the other side.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from orchestrator.analysis.telemetry.counters import counter_names
from orchestrator.analysis.telemetry.counters.counter_series import Array, Key, Steps
from orchestrator.analysis.telemetry.use.machine_cpu import LINK_PCT
from orchestrator.analysis.telemetry.use.node_values import LinkUse
from orchestrator.model import STORE, Node, Record

# Throughput stood still where a second is within this of the median one.
_STEADY_PCT = 10.0
# Seconds of a window, for it to say whether throughput stood still.
_FEWEST_SECONDS = 10
_WAYS = (counter_names.SENT_BYTES, counter_names.RECEIVED_BYTES)

Window = tuple[float, float]


def by_node(
    record: Record, rates: Mapping[Key, Steps], window: Window
) -> dict[str, LinkUse]:
    """Node → how full its link was, where its speed is known or a store is behind it."""
    links: dict[str, LinkUse] = {}
    has_store = record.profile.cluster.member == STORE
    for node in record.nodes:
        rate = _rate(record, node)
        if rate.per_s is None and not has_store:
            continue
        bytes_per_s = _busier_way(rates, node.name, window)
        if not bytes_per_s.size:
            continue
        links[node.name] = _link_use(rate, bytes_per_s)
        if has_store:
            links[node.name] = _with_steadiness(links[node.name], bytes_per_s)
    return links


@dataclass(frozen=True)
class _LinkRate:
    """Bytes/s of a link, if known; `of_cards`: the same, if it is what its cards report."""

    per_s: float | None
    of_cards: float | None


def _rate(record: Record, node: Node) -> _LinkRate:
    """The declared rate, else the speed of the node's network cards together."""
    # A rate that is declared was set on the link, whatever its card could do.
    declared = record.profile.cluster.network_bytes_per_s
    if declared:
        return _LinkRate(declared, None)
    # Traffic is counted over all cards: without the speed of one the node's is not known.
    cards: float | None = None
    if node.cards and all(node.cards.values()):
        cards = float(sum(node.cards.values()))
    return _LinkRate(cards, cards)


def _busier_way(rates: Mapping[Key, Steps], node: str, window: Window) -> Array:
    """Bytes a second of the busier way of a link, second by second.

    If only one way of a second is known, the second has the rate of this way.
    """
    start_s, end_s = window
    busier: dict[float, float] = {}
    for metric in _WAYS:
        steps = rates.get((node, metric))
        if steps is None:
            continue
        for second, per_s in zip(steps.end_s, steps.per_s, strict=True):
            if start_s < second <= end_s:
                # Each way of a link has its rate for itself, so that their sum says nothing.
                busier[second] = max(per_s, busier.get(second, per_s))
    return np.array([busier[second] for second in sorted(busier)])


def _link_use(rate: _LinkRate, bytes_per_s: Array) -> LinkUse:
    if rate.per_s is None:
        return LinkUse()
    is_full = 100 * bytes_per_s / rate.per_s >= LINK_PCT
    return LinkUse(
        network_of_rate_pct=100 * float(np.median(bytes_per_s)) / rate.per_s,
        time_at_network_rate_pct=100 * float(np.mean(is_full)),
        network_cards_bytes_per_s=rate.of_cards,
    )


def _with_steadiness(use: LinkUse, bytes_per_s: Array) -> LinkUse:
    """The use of a link, with how steady throughput was."""
    if len(bytes_per_s) < _FEWEST_SECONDS:
        return use
    # The rate of the other side is not known: what stands still may be at it.
    typical = float(np.median(bytes_per_s))
    is_steady = np.abs(bytes_per_s - typical) <= typical * _STEADY_PCT / 100
    time_pct = 100 * float(np.mean(is_steady))
    return replace(use, way_bytes_per_s=typical, time_at_way_pct=time_pct)
