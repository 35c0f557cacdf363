"""How full the network links of nodes were, each by its busier way. Pure.

A link has a rate that the profile declares, or the speed that the node's network cards report. Of
a store that others run no rate is known. There it counts how steady throughput was, because what
stands still may be held by the other side.
"""

from collections.abc import Mapping

import numpy as np

from orchestrator.analysis.telemetry.counters import counter_names
from orchestrator.analysis.telemetry.counters.counter_series import Array, Key, Steps
from orchestrator.analysis.telemetry.use import evidence
from orchestrator.analysis.telemetry.use.evidence import Evidence
from orchestrator.analysis.telemetry.use.machine_cpu import LINK_PCT
from orchestrator.model import STORE, Node, Record

# Throughput stood still where a second is within this of the median one.
_STEADY_PCT = 10.0
_FEWEST_SECONDS = 10  # of a window, for it to say whether throughput stood still
_WAYS = (counter_names.SENT_BYTES, counter_names.RECEIVED_BYTES)

Window = tuple[float, float]


def by_node(
    record: Record, rates: Mapping[Key, Steps], window: Window
) -> dict[str, Evidence]:
    """Node → how full its link was, where its speed is known or a store is behind it."""
    links: dict[str, Evidence] = {}
    for node in record.nodes:
        bytes_per_s = _busier_way(rates, node.name, window)
        if bytes_per_s.size:
            links[node.name] = _of_link(record, node, bytes_per_s)
    return links


def _busier_way(rates: Mapping[Key, Steps], node: str, window: Window) -> Array:
    """Bytes a second of the busier way of a link, second by second.

    Where a second is known of one way alone, it is that of this way."""
    start_s, end_s = window
    busier: dict[float, float] = {}
    for metric in _WAYS:
        steps = rates.get((node, metric))
        if steps is None:
            continue
        inside = (steps.end_s > start_s) & (steps.end_s <= end_s)
        seconds = zip(steps.end_s[inside], steps.per_s[inside], strict=True)
        for second, per_s in seconds:
            busier[second] = max(per_s, busier.get(second, per_s))
    return np.array([busier[second] for second in sorted(busier)])


def _of_link(record: Record, node: Node, bytes_per_s: Array) -> Evidence:
    """Against the declared rate, else against the speed of the node's network cards."""
    parts: list[Evidence] = []
    declared = record.profile.cluster.network_bytes_per_s
    cards = _card_speed(node)
    if declared:
        parts.append(_of_rate(bytes_per_s, declared))
    elif cards:
        parts.append(Evidence(network_cards_bytes_per_s=cards))
        parts.append(_of_rate(bytes_per_s, cards))
    if record.profile.cluster.member == STORE:
        parts.append(_of_store(bytes_per_s))
    return evidence.merged(parts)


def _card_speed(node: Node) -> float:
    """Bytes/s of the node's network cards together; 0 unless each of them says its own."""
    if not all(node.cards.values()):
        return 0.0
    return sum(node.cards.values())


def _of_rate(bytes_per_s: Array, rate: float) -> Evidence:
    is_full = 100 * bytes_per_s / rate >= LINK_PCT
    return Evidence(
        network_of_rate_pct=100 * float(np.median(bytes_per_s)) / rate,
        time_at_network_rate_pct=100 * float(np.mean(is_full)),
    )


def _of_store(bytes_per_s: Array) -> Evidence:
    """How steady throughput is."""
    if len(bytes_per_s) < _FEWEST_SECONDS:
        return Evidence()
    typical = float(np.median(bytes_per_s))
    is_steady = np.abs(bytes_per_s - typical) <= typical * _STEADY_PCT / 100
    time_pct = 100 * float(np.mean(is_steady))
    return Evidence(way_bytes_per_s=typical, time_at_way_pct=time_pct)
