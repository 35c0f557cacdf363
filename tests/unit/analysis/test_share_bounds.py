"""Shares of the time at a cap: what holds of a disk and of its machine together."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd
import pytest

from orchestrator.analysis.observed.drawn_seconds import Band
from orchestrator.analysis.observed.share_bounds import OnDisk, behind_machine


def on_disk(uppers: Sequence[float], device: str) -> OnDisk:
    """At its cap in so much of each hour, at most; never for certain."""
    most = sum(uppers) / len(uppers)
    hours = pd.DataFrame({"begin_s": [3600.0 * i for i in range(len(uppers))]})
    hours = hours.assign(upper=list(uppers), credit=1.0, node="db1", device=device)
    band = Band(0.0, most)
    return OnDisk(band, band, 0.0, most, "IOPS", hours, None)


def test_an_hour_is_at_a_cap_for_no_less_than_the_whole_time_is() -> None:
    """The disk and its machine may be at their caps in other seconds."""
    both = behind_machine(on_disk([0.3, 0.8], "sda"), on_disk([0.4, 0.5], "machine"))
    assert both.queues.most == pytest.approx(1.0)
    assert both.hours["upper"].tolist() == pytest.approx([0.7, 1.0])
    assert both.hours["device"].tolist() == ["machine", "sda"]
