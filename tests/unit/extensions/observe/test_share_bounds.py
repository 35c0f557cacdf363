"""Shares of the time at a cap: what holds of a disk and of its machine together."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from orchestrator.extensions.observe.judging.drawn_seconds import Band
from orchestrator.extensions.observe.judging.share_bounds import (
    Hours,
    OnDisk,
    behind_machine,
)


def on_disk(uppers: Sequence[float], device: str) -> OnDisk:
    """At its cap in so much of each hour, at most; never for certain."""
    most = sum(uppers) / len(uppers)
    hours = Hours(
        begin_s=np.array([3600.0 * hour for hour in range(len(uppers))]),
        upper=np.array(uppers),
        credit=np.ones(len(uppers)),
        node=np.full(len(uppers), "db1", dtype=object),
        device=np.full(len(uppers), device, dtype=object),
    )
    band = Band(0.0, most)
    return OnDisk(band, band, 0.0, most, "IOPS", hours, None)


def test_an_hour_is_at_a_cap_for_no_less_than_the_whole_time_is() -> None:
    """The disk and its machine may be at their caps in other seconds."""
    both = behind_machine(on_disk([0.3, 0.8], "sda"), on_disk([0.4, 0.5], "machine"))
    assert both.queues.most == pytest.approx(1.0)
    assert both.hours.upper.tolist() == pytest.approx([0.7, 1.0])
    assert both.hours.device.tolist() == ["machine", "sda"]
