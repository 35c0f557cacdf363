"""The words of causes: which sentence is said beside which values."""

from __future__ import annotations

import pytest

from orchestrator.analysis.telemetry.causes import inside_causes, phrases
from orchestrator.analysis.telemetry.use.node_values import of_figures


def test_values_are_filled_in() -> None:
    cause = inside_causes.retried(of_figures({"retried_pct": 7.4}), "node-2")
    begin = "No resource was full. Of the transactions on node-2 7 % failed"
    assert cause.text.startswith(begin)


@pytest.mark.parametrize(
    ("values", "said"),
    [
        (
            {"request_queued_avg_s": 0.002, "statement_avg_s": 0.021},
            "",
        ),  # less than a tenth
        (
            {"request_queued_avg_s": 0.001, "statement_avg_s": 0.01},
            " Each request waited 1 ms in the queue of node-1's tablet server; a "
            "statement takes 10 ms. Requests wait there for a free thread, or for CPU.",
        ),
        ({"request_queued_avg_s": 0.002}, ""),  # of what is not known
        (
            {"request_queued_avg_s": 0.0001, "statement_avg_s": 0.0004},
            "",
        ),  # as on idle servers
        (
            {"request_queued_avg_s": 0.002, "statement_avg_s": 0.02},
            " Each request waited 2 ms in the queue of node-1's tablet server; a "
            "statement takes 20 ms. Requests wait there for a free thread, or for CPU.",
        ),
        ({"requests_refused_per_s": 0.9}, ""),
        (
            {"requests_refused_per_s": 1.0},
            " The tablet server of node-1 refused 1 requests a second.",
        ),
        (
            {"requests_refused_per_s": 3.0, "write_rejections_per_s": 2.0},
            " The tablet server of node-1 refused 5 requests a second, 2 of them because too many "
            "data files wait for merging.",
        ),
        (
            {"requests_refused_per_s": 3.0},
            " The tablet server of node-1 refused 3 requests a second.",
        ),
    ],
)
def test_requests_that_wait_or_are_refused_are_told_beside_a_cause(
    values: dict[str, float], said: str
) -> None:
    assert phrases.requests_too(of_figures(values), "node-1") == said


@pytest.mark.parametrize(
    ("await_s", "said"),
    [
        (0.00075, "most"),
        (0.00099, "most"),
        (0.001, "part"),
        (0.0025, "part"),
        (0.00251, "little"),
    ],
)
def test_how_much_of_an_io_is_the_disks_own_is_of_the_time_that_is_told(
    await_s: float, said: str
) -> None:
    """Also where reads wait less than writes, as on a primary whose log is slow."""
    values = of_figures(
        {
            "disk_await_s": await_s,
            "disk_read_await_s": 0.0006,
            "idle_disk_latency_s": 0.0005,
        }
    )
    text = inside_causes.latency_bound(values, "node-1").text
    assert f"{said} of it the disk's own 500 µs" in text


@pytest.mark.parametrize(
    ("seen", "helps"),
    [
        (
            {"seen_syncing_pct": 30.0, "disk_await_s": 0.004},
            "a lower latency would help too",
        ),
        (
            {"seen_syncing_pct": 30.0, "disk_await_s": 0.0041},
            "a faster disk would help too",
        ),
        ({"seen_running_pct": 60.0, "disk_await_s": 0.01}, ""),
        # A sync that lasts for a quarter of the computing time holds no lock for much longer.
        (
            {"seen_syncing_pct": 15.0, "seen_running_pct": 60.0, "disk_await_s": 0.01},
            "",
        ),
        (
            {"seen_syncing_pct": 15.1, "seen_running_pct": 60.0, "disk_await_s": 0.01},
            "a faster disk would help too",
        ),
    ],
)
def test_what_helps_where_locks_are_held_until_a_sync_is_what_the_sync_waits_for(
    seen: dict[str, float], helps: str
) -> None:
    values = of_figures(dict(seen_locked_pct=60.0, idle_disk_latency_s=0.002, **seen))
    text = inside_causes.contention(values, "node-1").text
    assert text.endswith(f"{helps}." if helps else "More sessions would not."), text


def test_of_a_disk_that_hardly_queues_nothing_is_said_of_its_own_time() -> None:
    values = of_figures({"disk_await_s": 0.0029, "idle_disk_latency_s": 0.002})
    assert phrases.of_disk_itself(values) == ""


@pytest.mark.parametrize(
    ("figures", "is_said"),
    [
        ({"time_at_iops_cap_pct": 14.9}, True),
        ({"time_at_iops_cap_pct": 15.0}, False),
        ({"iops_of_cap_pct": 69.9}, True),
        ({"iops_of_cap_pct": 70.0}, False),
    ],
)
def test_that_more_iops_would_not_help_is_not_said_of_a_disk_that_is_near_its_cap(
    figures: dict[str, float], is_said: bool
) -> None:
    values = of_figures(
        {
            "disk_await_s": 0.025,
            "idle_disk_latency_s": 0.02,
            "iops_of_cap_pct": 57.0,
            **figures,
        }
    )
    text = inside_causes.latency_bound(values, "node-1").text
    assert "a tier with a lower latency would" in text.lower()
    assert ("More IOPS or bandwidth would not help" in text) == is_said
