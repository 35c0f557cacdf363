"""How full links were: the busier way of each second of the window, of what is declared or read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from orchestrator.analysis.telemetry.counters import counter_names
from orchestrator.analysis.telemetry.counters.counter_series import Steps
from orchestrator.analysis.telemetry.use import network_links
from orchestrator.analysis.telemetry.use.node_values import LinkUse
from orchestrator.model import STORE, Node, Record
from tests.doubted import small

WINDOW = (100.0, 104.0)
SENT = counter_names.SENT_BYTES
RECEIVED = counter_names.RECEIVED_BYTES


def steps(rates: Mapping[float, float]) -> Steps:
    """Second → bytes/s in the second that ends then."""
    end_s = np.array(list(rates))
    phase: Any = np.array(["measure"] * len(end_s))
    return Steps(end_s, np.ones(len(end_s)), np.array(list(rates.values())), phase)


def link(
    record: Record,
    sent: Mapping[float, float] | None,
    received: Mapping[float, float] | None = None,
    window: tuple[float, float] = WINDOW,
) -> LinkUse | None:
    rates: dict[Any, Steps] = {}
    if sent is not None:
        rates["node-1", SENT] = steps(sent)
    if received is not None:
        rates["node-1", RECEIVED] = steps(received)
    return network_links.by_node(record, rates, window).get("node-1")


def recorded(
    declared: int | None = None,
    cards: Mapping[str, float] | None = None,
    member: str | None = None,
) -> Record:
    record = small(frames=False, repetitions=1).runs[0].record
    cluster = replace(record.profile.cluster, network_bytes_per_s=declared)
    if member:
        cluster = replace(cluster, database=member)
    node = Node("node-1", "database", cards=dict(cards or {}))
    profile = replace(record.profile, cluster=cluster)
    return replace(record, profile=profile, nodes=(node,))


def test_seconds_that_end_in_the_window_count() -> None:
    """The one that ends as the window begins is before it; the last one ends with it."""
    sent = {100.0: 900.0, 101.0: 100.0, 104.0: 300.0, 105.0: 900.0}
    use = link(recorded(declared=1000), sent)
    assert use is not None
    assert use.network_of_rate_pct == 20.0
    assert use.time_at_network_rate_pct == 0.0
    assert use.network_cards_bytes_per_s is None


def test_the_busier_way_of_each_second_counts() -> None:
    sent = {101.0: 900.0, 102.0: 100.0, 103.0: 100.0}
    received = {101.0: 100.0, 102.0: 890.0, 104.0: 700.0}
    use = link(recorded(declared=1000), sent, received)
    assert use is not None
    # 900, 890, 100 and 700: of these 900 are 90 % of the rate, and full.
    assert use.network_of_rate_pct == pytest.approx(79.5)
    assert use.time_at_network_rate_pct == 25.0


@pytest.mark.parametrize(
    ("declared", "cards", "of_rate_pct", "of_cards"),
    [
        (1000, {"eth0": 500.0}, 50.0, None),
        (None, {"eth0": 500.0}, 100.0, 500.0),
        (None, {"eth0": 500.0, "eth1": 1500.0}, 25.0, 2000.0),
        # Without the speed of one card that of the node is not known.
        (None, {"eth0": 500.0, "eth1": 0.0}, None, None),
        (None, {}, None, None),
    ],
)
def test_the_rate_is_declared_or_that_of_all_cards(
    declared: int | None,
    cards: Mapping[str, float],
    of_rate_pct: float | None,
    of_cards: float | None,
) -> None:
    use = link(recorded(declared, cards), {101.0: 500.0})
    if of_rate_pct is None:
        assert use is None
        return
    assert use is not None
    assert use.network_of_rate_pct == of_rate_pct
    assert use.network_cards_bytes_per_s == of_cards


def test_without_a_second_in_the_window_nothing_is_known() -> None:
    assert link(recorded(declared=1000), None) is None
    assert link(recorded(declared=1000), {99.0: 1.0}) is None


@pytest.mark.parametrize(
    ("rates", "typical", "time_pct"),
    [
        ([100.0] * 9, None, None),
        ([100.0] * 10, 100.0, 100.0),
        # Within a tenth of the median second.
        ([100.0] * 8 + [110.0, 90.0], 100.0, 100.0),
        ([100.0] * 8 + [110.1, 89.9], 100.0, 80.0),
    ],
)
def test_a_store_of_others_tells_how_steady_throughput_was(
    rates: Sequence[float], typical: float | None, time_pct: float | None
) -> None:
    seconds = {101.0 + place: rate for place, rate in enumerate(rates)}
    use = link(recorded(member=STORE), seconds, window=(100.0, 200.0))
    assert use is not None and use.network_of_rate_pct is None
    assert (use.way_bytes_per_s, use.time_at_way_pct) == (typical, time_pct)
