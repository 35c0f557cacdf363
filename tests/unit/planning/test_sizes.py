"""Sizes by memory, and repetitions and windows by the time there is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from orchestrator.cli.common.options import Request
from orchestrator.cli.measure import plans
from orchestrator.design import factors
from orchestrator.errors import UsageError
from orchestrator.model import NodeSize, Plan, Workload
from orchestrator.planning import data_sizes, fit_to_time, sizes
from tests.apps import an_app
from tests.campaigns import build_profile, build_workload
from tests.fakes import this_machine_has
from tests.plans import a_plan, a_workload, changed_plan
from tests.tiers import changed

GIB = 2**30
TPCC, SELECT = build_workload("tpcc"), build_workload("point-select")


@pytest.mark.parametrize(
    ("machines", "nodes", "beside", "cpus", "memory_gib"),
    [
        (
            [(8, 32 * GIB)] * 3,
            3,
            False,
            8,
            25.6,
        ),  # each has a machine, and the client another
        ([(8, 32 * GIB)] * 3, 3, True, 7, 25.6),
        ([(2, 24 * GIB)], 1, True, 1, 19.2),
        ([(8, 32 * GIB)], 3, True, 2, 32 * 0.8 / 3),
        ([(8, 32 * GIB), (4, 16 * GIB)], 2, False, 4, 12.8),  # the smallest counts
    ],
)
def test_a_node_leaves_a_fifth_of_its_machines_memory_and_a_processor_to_the_client(
    machines: list[tuple[int, int]],
    nodes: int,
    beside: bool,
    cpus: float,
    memory_gib: float,
) -> None:
    size = sizes.of_machines(machines, nodes, 9 * GIB, beside)
    assert size.cpus == cpus and size.disk_bytes == 9 * GIB
    assert memory_gib * GIB - 2**20 <= size.memory_bytes <= memory_gib * GIB


@pytest.mark.parametrize(
    "text",
    [
        "4",
        "4,16,200",
        "0,16GiB,200GiB",
        "4,0GiB,200GiB",
        "4,16GiB,0GiB",
        "4,16GiB,200GiB,1",
        "inf,1GiB,1GiB",
    ],
)
def test_a_size_of_a_node_has_three_parts_with_units(text: str) -> None:
    with pytest.raises(ValueError, match=r".+"):
        sizes.node_size(text)


@pytest.mark.parametrize("cpus", [0.5, 1.0, 4.0])
def test_a_node_may_have_a_part_of_a_processor(cpus: float) -> None:
    assert sizes.node_size(f"{cpus},4GiB,20GiB") == NodeSize(cpus, 4 * GIB, 20 * GIB)


@pytest.mark.parametrize("text", ["4", "4zz", "x", "4 times"])
def test_both_forms_of_a_size_of_data_are_told(text: str) -> None:
    with pytest.raises(ValueError, match=r"GiB.*times the nodes' memory, such as 4x"):
        factors.data_size(text)


@pytest.mark.parametrize("text", ["0x", "4", "-1x", "x", "0GiB", "4 times"])
def test_a_size_of_data_has_a_unit_or_is_a_multiple(text: str) -> None:
    with pytest.raises(ValueError, match=r".+"):
        factors.data_size(text)


def test_data_are_a_multiple_of_what_the_nodes_hold_in_memory() -> None:
    """Three nodes with replication 3 hold each row three times; the disk has room for three times
    what is loaded."""
    profile = build_profile("premium")
    node = NodeSize(2.0, 4 * GIB, 9 * GIB)
    spread = replace(profile.cluster, node=node, nodes=3, replication_factor=1)
    for cluster, wanted in (
        (spread, 48 * GIB),
        (replace(spread, replication_factor=3), 16 * GIB),
    ):
        (sized,), loads, notes = sizes.with_data(
            [replace(profile, cluster=cluster)], [TPCC, SELECT], factors.data_size("4x")
        )
        for load in loads:
            assert wanted <= (data_sizes.data_bytes(load) or 0) <= 1.01 * wanted
        assert sized.cluster.node is not None
        assert (
            sized.cluster.node.disk_bytes >= 3 * 16 * GIB
        )  # a node has 16 GiB of it in both
        assert [note.kind for note in notes] == ["data as asked"] * 2


def test_a_load_begins_with_no_rows_whatever_is_asked_for() -> None:
    parameters = {"tables": 4, "rows": 0}
    empty = replace(SELECT, dataset=replace(SELECT.dataset, parameters=parameters))
    full = replace(
        SELECT, dataset=replace(SELECT.dataset, parameters={**parameters, "rows": 10})
    )
    _, loads, notes = sizes.with_data(
        [build_profile("premium")], [empty, full], factors.data_size("1GiB")
    )
    assert loads[0] == empty and len(notes) == 1
    assert (data_sizes.data_bytes(loads[1]) or 0) == pytest.approx(GIB, rel=0.01)


def with_parameters(**parameters: int) -> Workload:
    return replace(SELECT, dataset=replace(SELECT.dataset, parameters=parameters))


@pytest.mark.parametrize(
    ("load", "data_bytes"),
    [
        (with_parameters(bytes=7, warehouses=2), 7),
        (with_parameters(warehouses=2), 210_000_000),
        (with_parameters(tables=3, rows=10), 7680),
        (with_parameters(tables=3, table_size=10), 7680),
        (with_parameters(tables=3), None),
        (with_parameters(rows=10), None),
        # Jobs of fio have a number of threads and no rows.
        (with_parameters(threads=4), 0),
        (replace(with_parameters(), database="fio"), 0),
        (with_parameters(), None),
    ],
)
def test_what_the_data_of_a_load_take(load: Workload, data_bytes: int | None) -> None:
    assert data_sizes.data_bytes(load) == data_bytes


def test_what_is_on_nodes_and_restored_is_known_or_as_much_as_disks_hold() -> None:
    """Three nodes with two copies, whose disks are sized for 250 GiB."""
    node = NodeSize(8.0, GIB, 250 * GIB)
    profile = build_profile("premium")
    cluster = replace(profile.cluster, nodes=3, replication_factor=2, node=node)
    profile = replace(profile, cluster=cluster)
    known = with_parameters(bytes=6 * GIB)
    assert data_sizes.loaded_bytes(profile, known) == (6 * GIB, 6 * GIB)
    assert data_sizes.bytes_on_node(profile, known) == (4 * GIB, 4 * GIB)
    # Emulated disks are copied for all nodes, real ones node by node.
    assert data_sizes.restored_bytes(profile, known) == 12 * GIB
    real = replace(profile, tier=changed(profile.tier, like="mounted"))
    assert data_sizes.restored_bytes(real, known) == 4 * GIB
    unknown = with_parameters(rows=10)
    assert data_sizes.bytes_on_node(profile, unknown) == (0, 250 * GIB)
    assert data_sizes.loaded_bytes(profile, unknown) == (0, 750 * GIB)
    of_others = replace(profile, cluster=replace(cluster, node=None))
    assert data_sizes.bytes_on_node(of_others, unknown) == (0, 0)


@pytest.mark.parametrize(
    ("nodes", "copies", "disk_gib"), [(1, 1, 40), (3, 1, 20), (3, 3, 40), (4, 3, 30)]
)
def test_disks_have_room_for_their_nodes_part_of_all_copies(
    nodes: int, copies: int, disk_gib: int
) -> None:
    """Twice what is loaded, in whole GiB; a disk that is larger stays."""
    profile = build_profile("premium")
    node = NodeSize(8.0, GIB, 20 * GIB)
    cluster = replace(
        profile.cluster, nodes=nodes, replication_factor=copies, node=node
    )
    profile = replace(profile, cluster=cluster)
    loaded = 40 * GIB / sizes.DISK_PER_DATA
    (made,) = sizes.with_room([profile], loaded)
    assert made.cluster.node is not None
    assert made.cluster.node.disk_bytes == disk_gib * GIB
    of_others = replace(profile, cluster=replace(cluster, node=None))
    assert sizes.with_room([of_others], loaded) == (of_others,)


def test_the_largest_memory_counts_and_bytes_count_once() -> None:
    profile = build_profile("premium")
    assert profile.cluster.node is not None
    larger = replace(
        profile.cluster.node, memory_bytes=2 * profile.cluster.node.memory_bytes
    )
    other = replace(profile, name="b", cluster=replace(profile.cluster, node=larger))
    (_, both, _), (_, alone, _) = (
        sizes.with_data(profiles, [TPCC], factors.data_size("3x"))
        for profiles in ([profile, other], [other])
    )
    assert both == alone
    _, (load,), _ = sizes.with_data([profile], [TPCC], factors.data_size("21 GB"))
    assert load.dataset.parameters["warehouses"] == 200


def planned(workloads: Sequence[Workload], repetitions: int) -> Plan:
    """Nine seconds around each window."""
    plan = changed_plan(a_plan(), workloads=tuple(workloads), repetitions=repetitions)
    each_s = sum(load.warmup_s + load.measure_s + 9.0 for load in workloads)
    return replace(
        plan, estimate_s=each_s * repetitions / 2, most_s=each_s * repetitions
    )


@pytest.mark.parametrize(
    ("budget_s", "repetitions", "measure_s"),
    [
        (1e9, 20, 300.0),
        (7 * 369.0, 7, 300.0),
        (5 * 369.0, 5, 300.0),
        (4 * 369.0, 5, 225.0),
        (5 * 84.0, 5, 60.0),
        (4 * 84.0, 4, 60.0),
        (2 * 84.0, 2, 60.0),
    ],
)
def test_most_repetitions_fit_and_windows_shrink_for_five(
    budget_s: float, repetitions: int, measure_s: float
) -> None:
    load = replace(a_workload(), warmup_s=60.0, measure_s=300.0)
    plan = fit_to_time.fitted(budget_s, [load], planned)
    assert plan.repeats.repetitions == repetitions
    assert plan.workloads[0].measure_s == pytest.approx(measure_s, abs=16)
    assert plan.most_s is not None and plan.most_s <= budget_s


def test_too_little_time_is_refused_with_what_two_repetitions_take() -> None:
    load = replace(a_workload(), warmup_s=60.0, measure_s=300.0)
    with pytest.raises(UsageError, match=r"two repetitions take 84 s to 2\.80 min"):
        fit_to_time.fitted(100.0, [load], planned)


def test_a_campaign_by_time_says_what_it_finds(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """t(97.5 %) + t(80 %) of 19 degrees are 2.093 + 0.861; times 3 % and √(2 ÷ 20) is 2.8 %."""
    this_machine_has(monkeypatch, cpus=8)
    request = Request(
        profiles=["premium", "ultra"], workloads=["tpcc"], scale="smoke", time="9h"
    )
    plan = plans.make_plan(an_app(tmp_path), request)
    (text,) = [note.text for note in plan.notes if note.kind == "planned in time"]
    assert "20 repetitions of windows of 7 s end within 9h" in text
    assert text.endswith("they find a change of 3 % four times in five")
    growing = plans.make_plan(
        an_app(tmp_path), replace(request, repetitions=5, until="decided")
    )
    assert (growing.repeats.repetitions, max(growing.repeats.looks)) == (5, 20)
    with pytest.raises(UsageError, match="--time plans windows"):
        plans.make_plan(an_app(tmp_path), replace(request, windows="many"))
