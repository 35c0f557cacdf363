"""What an emulated disk counted itself stands beside the cause, and outranks what is inferred."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from orchestrator.analysis.telemetry.causes import bottlenecks, disk_account, node_cause
from orchestrator.analysis.telemetry.use.node_values import Evidence
from tests.campaigns import build_tier
from tests.counted_disks import of_disk

TIER = build_tier("premium")
QUIET: Mapping[str, float] = {
    "iops_of_cap_pct": 40.0,
    "bandwidth_of_cap_pct": 20.0,
    "disk_iops": 440.0,
    "disk_await_s": 0.0022,
    "idle_disk_latency_s": 0.002,
    "disk_queue_depth": 1.0,
    "cpu_pct": 50.0,
}
AT_CAP = {"iops_of_cap_pct": 99.0, "time_at_iops_cap_pct": 71.0, "disk_await_s": 0.015}
# At its cap, and yet no I/O seems to wait: each takes as long as on the idle disk.
UNQUEUED = {**AT_CAP, "disk_await_s": 0.0021, "disk_queue_depth": 0.5}


def values(**figures: float) -> Evidence:
    return Evidence(**{**QUIET, **figures})


@pytest.mark.parametrize(
    ("figures", "held_back_pct", "cause"),
    [
        (UNQUEUED, None, "unattributed"),
        (UNQUEUED, 19.9, "unattributed"),  # then what is inferred decides
        (UNQUEUED, 20.0, "iops_cap"),
        (AT_CAP, None, "iops_cap"),
        (AT_CAP, 10.0, "iops_cap"),
        (AT_CAP, 9.9, "unattributed"),
    ],
)
def test_whether_a_cap_binds_is_for_the_disk_to_say(
    figures: Mapping[str, float], held_back_pct: float | None, cause: str
) -> None:
    known = dict(figures)
    if held_back_pct is not None:
        known["held_back_pct"] = held_back_pct
    assert node_cause.judge(values(**known), TIER, "node-1").name == cause


def test_what_the_disk_counted_is_in_the_text_of_a_bottleneck() -> None:
    named = bottlenecks.bottleneck([of_disk(126.0, 293.0)], None)
    assert named is not None
    counted = (
        "By the disk's own count its limits held I/Os back for 43 % of their time."
    )
    assert counted in named.text
    without = bottlenecks.bottleneck([of_disk(0, 0)], None)
    assert without is not None and "own count" not in without.text


@pytest.mark.parametrize(
    ("figures", "text"),
    [
        ({"held_back_pct": 60.0}, "used 40 % of a cap: I/Os came in bursts."),
        ({**AT_CAP, "held_back_pct": 60.0}, "held I/Os back for 60 % of their time."),
        ({**AT_CAP, "held_back_pct": 104.0}, "held I/Os back for 100 % of their time."),
        ({**AT_CAP, "held_back_pct": 2.0}, "for 2 % of their time: no cap is named."),
    ],
)
def test_where_both_disagree_the_remark_says_so(
    figures: Mapping[str, float], text: str
) -> None:
    assert disk_account.remark(values(**figures), "unattributed").endswith(text)


@pytest.mark.parametrize("figures", [{}, AT_CAP, {"held_back_pct": 9.9}])
def test_where_there_is_nothing_to_add_there_is_no_remark(
    figures: Mapping[str, float],
) -> None:
    assert disk_account.remark(values(**figures), "iops_cap") == ""


def test_a_slow_host_says_itself_what_the_limits_kept() -> None:
    assert disk_account.remark(values(held_back_pct=40.0), "machine_bound") == ""
