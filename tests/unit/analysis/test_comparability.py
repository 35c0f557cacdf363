"""What makes two runs unlike, and what may differ between them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from orchestrator.analysis.campaigns import machine_differences
from orchestrator.analysis.differences import Difference
from orchestrator.analysis.results import Results
from orchestrator.analysis.subjects import Subject, Topic
from orchestrator.model import ClusterSpec, NodeSize, Record
from orchestrator.tier.slow_disk import SlowDisk
from tests.campaign_tables import GIB
from tests.campaigns import build_campaign, build_tier
from tests.doubted import between, facts, phrases
from tests.plans import a_plan

SLOW = (SlowDisk("node-3", "share", 10.0, 20.0),)


def record() -> Record:
    return build_campaign(repetitions=1, frames=False).runs[0].record


def clustered(**changes: Any) -> Record:
    cluster: ClusterSpec = replace(record().profile.cluster, **changes)
    return replace(record(), profile=replace(record().profile, cluster=cluster))


@pytest.mark.parametrize(
    ("other", "phrase"),
    [
        (
            lambda: clustered(database="yugabytedb"),
            "database postgresql against yugabytedb",
        ),
        (lambda: clustered(nodes=1), "number of nodes 3 against 1"),
        (lambda: clustered(clients=2), "number of load clients 1 against 2"),
        (
            lambda: clustered(client="beside"),
            "place of load clients outside against beside",
        ),
        (
            lambda: clustered(network_bytes_per_s=12_500_000),
            "network not given against 100 Mbit/s",
        ),
        (lambda: clustered(replication_factor=1), "replication factor 3 against 1"),
        (
            lambda: clustered(node=NodeSize(4.0, GIB, 250 * GIB)),
            "CPUs per node 8.0 against 4.0",
        ),
        (
            lambda: clustered(node=NodeSize(8.0, 2 * GIB, 250 * GIB)),
            "memory per node 1 GiB against 2 GiB",
        ),
        (lambda: clustered(settings={"jit": "on"}), "setting jit not given against on"),
        (
            lambda: replace(record(), workload=replace(record().workload, threads=8)),
            "workload's threads 60 against 8",
        ),
        (
            lambda: replace(record(), workload=replace(record().workload, slow=SLOW)),
            "workload's slow not given against node-3 at 10 % of its IOPS and bytes/s for 20 s",
        ),
        (
            lambda: facts(durability={"fsync": "off", "synchronous_commit": "on"})(
                record()
            ),
            "running database's durability.fsync on against off",
        ),
        (
            lambda: replace(
                record(),
                facts={**record().facts, "database_before": {"data_bytes": 5 * GIB}},
            ),
            "data before the run 6 GiB against 5 GiB",
        ),
    ],
)
def test_what_makes_runs_unlike(other: Callable[[], Record], phrase: str) -> None:
    assert phrase in phrases(record(), other())


def test_what_is_tried_out_behind_the_window_makes_no_runs_unlike() -> None:
    tried = replace(record(), workload=replace(record().workload, confirm_s=120.0))
    assert phrases(record(), tried) == ()


def test_runs_of_another_isolation_or_planner_are_unlike() -> None:
    left = facts(execution={"isolation": "repeatable read", "yb_enable_cbo": "off"})(
        record()
    )
    right = facts(execution={"isolation": "read committed", "yb_enable_cbo": "off"})(
        record()
    )
    phrase = (
        "running database's execution.isolation repeatable read against read committed"
    )
    assert phrases(left, right) == (phrase,)
    assert phrases(record(), right) == ()  # of records that do not hold it


@pytest.mark.parametrize(
    ("left", "right", "differ"),
    [(True, False, True), (True, True, False), (None, False, False)],
)
def test_statements_that_travelled_otherwise_make_runs_unlike(
    left: bool | None, right: bool | None, differ: bool
) -> None:
    """A generator that does not say it is not held against one that does."""
    one, two = (
        replace(
            record(),
            facts={**record().facts, "generator": {"statements_batched": batched}},
        )
        for batched in (left, right)
    )
    phrase = "load generator's batching of statements True against False"
    assert phrases(one, two) == ((phrase,) if differ else ())


def test_the_tier_and_the_size_of_its_disk_may_differ() -> None:
    tier = build_tier("ultra")
    disk = NodeSize(8.0, GIB, 1_000 * GIB)
    other = clustered(node=disk)
    other = replace(other, profile=replace(other.profile, name="ultra", tier=tier))
    grown = facts(data_bytes=7 * GIB, since_reset={"xact_commit": 5})(other)
    assert phrases(record(), grown) == ()


def test_a_difference_names_its_subject_and_both_values() -> None:
    other = clustered(nodes=1)
    assert between(record(), other) == (
        Difference(Subject(Topic.CLUSTER, "nodes"), left=3, right=1),
    )
    weaker = facts(durability={"fsync": "off", "synchronous_commit": "on"})(record())
    assert between(record(), weaker) == (
        Difference(Subject(Topic.RUNNING, "durability.fsync"), left="on", right="off"),
    )


@pytest.mark.parametrize(
    ("size_bytes", "are_unlike"),
    [(95 * GIB, False), (94.9 * GIB, True), (105 * GIB, False), (105.3 * GIB, True)],
)
def test_loads_of_the_same_rows_differ_by_up_to_a_twentieth(
    size_bytes: float, are_unlike: bool
) -> None:
    """A twentieth of the larger one; the other side has 100 GiB."""

    def loaded(data_bytes: float) -> Record:
        before = {"database_before": {"data_bytes": data_bytes}}
        return replace(record(), facts={**record().facts, **before})

    assert bool(between(loaded(100 * GIB), loaded(size_bytes))) is are_unlike


# ------------------------------------------------------------------ memory of several machines


def on_machines(*sizes_bytes: float) -> Results:
    """A campaign from one machine, with others beside it, of this memory each."""
    machines: list[dict[str, Any]] = []
    for size_bytes in sizes_bytes:
        machines.append({"hostname": "a", "memory_bytes": size_bytes})
    first, *others = machines
    return Results("day-1", a_plan(), {"host": first, "other_machines": others}, ())


@pytest.mark.parametrize(
    ("sizes", "are_unlike"),
    [
        ([64.0, 64.0], False),
        # A kernel keeps some for itself, and not always as much.
        ([64.0, 63.9], False),
        ([64.0, 63.9, 64.1, 64.05], False),
        ([64 * 1.01, 64.0], False),
        ([64 * 1.0101, 64.0], True),
        ([64.0, 32.0], True),
        ([32.0, 64.0, 48.0], True),
    ],
)
def test_machines_are_alike_by_the_smallest_and_the_largest_of_them(
    sizes: list[float], are_unlike: bool
) -> None:
    """On both sides, whatever order they are in; one side has two machines of 64 GiB."""
    alike = on_machines(64.0 * GIB, 64.0 * GIB)
    other = on_machines(*[size * GIB for size in sizes])
    for before, after in ((alike, other), (other, alike)):
        unlike = list(machine_differences.unlike_machines(before, after, across=False))
        assert bool(unlike) == are_unlike, unlike
    assert list(machine_differences.unlike_machines(other, other, across=False)) == []
