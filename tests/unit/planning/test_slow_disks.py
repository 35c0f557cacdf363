"""What a slow disk is written as, and which of them fit into one window."""

from __future__ import annotations

import pytest

from orchestrator.design import slow_disks
from orchestrator.design.slow_disks import SHORTEST_S, SlowTime
from orchestrator.errors import UsageError
from orchestrator.keys.slow_disks import slow_disk_in
from orchestrator.planning.workloads import read_workload
from orchestrator.tier.slow_disk import SlowDisk
from tests.plans import a_workload

WORKLOAD = """
title: reads
generator: sysbench
script: point-select
dataset: sysbench
scales:
  smoke:
    dataset: {tables: 1, table_size: 1000}
    threads: 1
    measure: 60s
    warmup: 1s
    slow: SLOW
"""


@pytest.mark.parametrize(
    ("text", "disk"),
    [
        ("node-3=10%,60s", SlowDisk("node-3", "share", 10.0, 60.0)),
        ("node-1=2.5 %,1min", SlowDisk("node-1", "share", 2.5, 60.0)),
        ("node-3=10x,60s@30s", SlowDisk("node-3", "latency", 10.0, 60.0, 30.0)),
        ("node-3=stall,5s", SlowDisk("node-3", "stall", 0.0, 5.0)),
        (
            "node-3.wal=10%,60s",
            SlowDisk("node-3", "share", 10.0, 60.0, of_log=True),
        ),
    ],
)
def test_how_a_slow_disk_is_written(text: str, disk: SlowDisk) -> None:
    assert slow_disk_in(text) == disk


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("node-3", "expected NODE=HOW,TIME"),
        ("node-3=10%", "expected NODE=HOW,TIME"),
        ("=10%,60s", "expected NODE=HOW,TIME"),
        ("node-3=10%,60", "expected a time such as"),
        ("node-3=10%,60s@", "expected a quantity such as"),
        ("node-3=10%,0s", "lasts longer than"),
        ("node-3=0%,60s", "above 0 % and below 100 %"),
        ("node-3=100%,60s", "above 0 % and below 100 %"),
        ("node-3=nan%,60s", "above 0 % and below 100 %"),
        ("node-3=a%,60s", "a number before %"),
        ("node-3=1x,60s", "more than 1x"),
        ("node-3=infx,60s", "more than 1x"),
        ("node-3=slow,60s", "by a share"),
    ],
)
def test_what_is_no_slow_disk_is_refused(text: str, why: str) -> None:
    with pytest.raises(ValueError, match=why):
        slow_disk_in(text)


@pytest.mark.parametrize(
    "slow", ["node-3=10%,6s", '["node-3=10%,6s"]'], ids=["text", "list"]
)
def test_a_workload_has_it_in_its_file(slow: str) -> None:
    load = read_workload("reads", WORKLOAD.replace("SLOW", slow), "smoke")
    assert load.slow == (SlowDisk("node-3", "share", 10.0, 6.0),)


def test_a_mistake_in_a_file_says_where_it_is() -> None:
    with pytest.raises(UsageError) as raised:
        read_workload("reads", WORKLOAD.replace("SLOW", "node-3=1x,6s"), "smoke")
    (mistake,) = raised.value.mistakes
    assert "scales.smoke.slow" in mistake.where and "more than 1x" in mistake.what


def disks(*texts: str) -> list[SlowDisk]:
    return [slow_disk_in(text) for text in texts]


def test_without_a_time_of_its_own_a_disk_is_slow_in_the_middle() -> None:
    (part,) = slow_disks.parts(disks("node-3=10%,20s"), 60.0)
    assert (part.begin_s, part.end_s) == (20.0, 40.0)


@pytest.mark.parametrize(
    "texts",
    [
        ["node-3=10%,20s"],
        ["node-3=10%,20s", "node-2=stall,5s"],
        ["node-3=10%,20s@10s", "node-3=stall,5s@30s"],
    ],
)
def test_several_may_follow_or_overlap_on_several_nodes(texts: list[str]) -> None:
    assert list(slow_disks.mistakes(disks(*texts), 60.0)) == []


@pytest.mark.parametrize(
    ("texts", "why"),
    [
        (["node-3=10%,60s"], "within the window"),
        (["node-3=10%,20s@0s"], "within the window"),
        (["node-3=10%,20s@45s"], "within the window"),
        (["node-3=10%,20s", "node-3=stall,5s"], "twice at the same time"),
        (["node-3=10%,20s@5s", "node-3=stall,5s@30s"], "for 5 s in between"),
        (["node-3=10%,20s@500ms"], "500 ms before the slow disk are too few"),
        (["node-3=stall,500ms"], "a slow disk of 500 ms is too short"),
    ],
)
def test_what_cannot_be_in_one_window(texts: list[str], why: str) -> None:
    assert any(why in text for text in slow_disks.mistakes(disks(*texts), 60.0))


def test_a_disk_that_is_slow_from_the_first_second_on_is_not_slow_twice() -> None:
    (why,) = slow_disks.mistakes(disks("node-3=10%,20s@500ms"), 60.0)
    assert why.startswith("500 ms before the slow disk")


def test_a_slow_disk_in_words() -> None:
    texts = [slow_disks.described(slow_disk_in(text)) for text in (
        "node-3=10%,60s", "node-3=10x,60s", "node-3=stall,5s",
    )]  # fmt: skip
    assert texts == [
        "node-3 at 10 % of its IOPS and bytes/s for 60 s",
        "node-3 at 10 times its latency for 60 s",
        "node-3 stalled for 5 s",
    ]


def test_the_slow_time_is_from_the_first_to_the_last() -> None:
    overlapping = disks("node-3=10%,20s@10s", "node-2=stall,5s@12s")
    assert slow_disks.slow_time(overlapping, 60.0) == SlowTime(10.0, 30.0)
    assert slow_disks.slow_time([], 60.0) is None


def test_several_slow_disks_in_words() -> None:
    two = disks("node-3=10%,20s", "node-2=stall,5s@30s")
    text = slow_disks.all_described(two)
    assert text == (
        "node-3 at 10 % of its IOPS and bytes/s for 20 s and node-2 stalled for 5 s from 30 s on"
    )
    assert slow_disks.all_described([]) == ""


def test_a_workload_has_none_unless_it_says_so() -> None:
    assert a_workload().slow == ()


def test_whose_disk_is_slow_stands_in_words() -> None:
    texts = ["node-3=10%,20s", "node-3.wal=stall,5s"]
    assert slow_disks.all_described(disks(*texts)) == (
        "node-3 at 10 % of its IOPS and bytes/s for 20 s and node-3's WAL stalled for 5 s"
    )
    assert list(slow_disks.mistakes(disks(*texts), 60.0)) == []
    twice = disks("node-3.wal=10%,20s", "node-3.wal=stall,5s")
    (why,) = slow_disks.mistakes(twice, 60.0)
    assert why == "node-3's WAL would be slow twice at the same time"


def stalled(begin_s: float, lasts_s: float, node: str = "node-1") -> SlowDisk:
    return SlowDisk(node, "stall", 0.0, lasts_s, begin_s)


@pytest.mark.parametrize(
    ("slow", "mistakes"),
    [
        ([stalled(30.0, 29.9)], []),
        ([stalled(30.0, 30.0)], ["begin and end within the window of 60 s"]),
        ([stalled(0.0, 20.0)], ["begin and end within the window of 60 s"]),
        # So many seconds before are enough to compare with, and so many to be measured.
        ([stalled(SHORTEST_S, 20.0)], []),
        ([stalled(SHORTEST_S - 0.1, 20.0)], ["are too few to compare with"]),
        ([stalled(30.0, SHORTEST_S)], []),
        ([stalled(30.0, SHORTEST_S - 0.1)], ["is too short to be measured"]),
        # One follows the other, on one disk or on two.
        ([stalled(10.0, 10.0), stalled(20.0, 10.0)], []),
        ([stalled(10.0, 10.0), stalled(19.9, 10.0)], ["slow twice at the same time"]),
        ([stalled(10.0, 10.0), stalled(19.9, 10.0, "node-2")], []),
        (
            [stalled(10.0, 10.0), stalled(20.1, 10.0, "node-2")],
            ["no disk would be slow for 100 ms in between"],
        ),
        # The second ends within the first, behind which the third follows.
        (
            [stalled(10.0, 20.0), stalled(12.0, 5.0, "node-2"), stalled(30.0, 9.0)],
            [],
        ),
    ],
)
def test_times_of_slow_disks_are_possible_up_to_their_borders(
    slow: list[SlowDisk], mistakes: list[str]
) -> None:
    found = list(slow_disks.mistakes(slow, 60.0))
    assert len(found) == len(mistakes)
    for text, why in zip(found, mistakes, strict=True):
        assert why in text
