"""How long plans take, reckoned by hand from bytes and rates.

Goal: a study's time and cost are known before disks are rented for it. Method: the sums are written
out here with the study's numbers, and hold within a factor of 1.5 at either end.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from orchestrator.cli.common.options import Request
from orchestrator.cli.measure import plans
from orchestrator.design import costs, used_profiles
from orchestrator.facts import Varied
from orchestrator.model import Dataset, Plan, Profile, Run, Workload
from orchestrator.planning import durations, paces, planned_loads
from orchestrator.run.runs_ahead import spent_times
from orchestrator.tier import Burst, NodeDisks, OthersDisks
from orchestrator.tier.disks import ClassWanted
from tests.apps import an_app
from tests.fakes import fake_world
from tests.plans import a_plan, a_profile, a_workload, changed_plan
from tests.tiers import changed

ROWS = 30 * 15_000_000
GB = 115.2  # ROWS of 256 bytes
MEMORY_GB = 34.4  # 32 GiB


def study(cache: Path, profiles: str, database: str, **more: object) -> Plan:
    asked = {
        "workloads": ["insert"],
        "scale": "study",
        "nodes": 3,
        "repetitions": 5,
        **more,
    }
    request = Request(profiles=profiles.split(), database=database, **asked)  # type: ignore[arg-type]
    return plans.make_plan(an_app(cache), request)


def near(found: float | None, by_hand: float) -> bool:
    return found is not None and by_hand / 1.5 < found < by_hand * 1.5


def test_a_study_on_emulated_disks(tmp_path: Path) -> None:
    made = study(tmp_path, "premium ultra", "postgresql")
    assert ROWS * 256 == GB * 1e9 and len(made.runs) == 10
    windows_s = 10 * (300 + 1800)
    # Loaded once at 110 MB/s, three nodes' images copied at 1 GB/s for each run; the tiers' limits
    # are lifted while caches are filled.
    least_s = windows_s + GB / 0.110 + 10 * 3 * GB / 1
    # Loaded at 13 MB/s, copied at 100 MB/s, the memory filled twice at that.
    most_s = windows_s + GB / 0.013 + 10 * 3 * GB / 0.1 + 10 * 2 * MEMORY_GB / 0.1
    (caches,) = (
        step for step in durations.steps(made) if step.what == "filling caches"
    )
    assert caches.total.least_s == 0 and near(
        caches.total.most_s, 10 * 2 * MEMORY_GB / 0.1
    )
    assert near(made.estimate_s, least_s) and near(made.most_s, most_s)
    assert costs.rented(made) == ()


@pytest.mark.parametrize("keeps", [True, False])
def test_a_study_on_volumes_of_a_class(tmp_path: Path, keeps: bool) -> None:
    rented = {"platform": "kubernetes", "enforcement": "storage-class"}
    made = study(tmp_path, "ultra", "yugabytedb", **rented)
    found = planned_loads.loads(made, lambda *_: ("kept" if keeps else None, False))
    made = durations.timed(made, found)
    loads, restores = (1, 5) if keeps else (5, 0)
    windows_s, caches_s = 5 * (300 + 1800), 5 * MEMORY_GB / 0.25
    least_s = windows_s + caches_s / 2 + loads * GB / 0.050
    restores_s = restores * 2 * GB / 0.25  # read and written on the same disk
    most_s = windows_s + 2 * caches_s + loads * GB / 0.008 + restores_s
    assert near(made.estimate_s, least_s) and near(made.most_s, most_s)
    disks = next(one for one in costs.rented(made) if one.what == "disk of ultra")
    by_hand = 6 * 1841.25 / 3 / 730 * most_s / 3600
    assert disks.amount is not None and near(disks.amount, by_hand)


def test_the_whole_study_on_volumes_of_a_class(tmp_path: Path) -> None:
    """Three tiers × three workloads × five repetitions, each starting from a copy on its volume."""
    rented = {"platform": "kubernetes", "enforcement": "storage-class"}
    loads = ["point-select", "insert", "tpcc"]
    made = study(
        tmp_path, "premium premium-v2 ultra", "yugabytedb", workloads=loads, **rented
    )
    found = planned_loads.loads(
        made, lambda profile, load: (f"{profile.name} {load.dataset}", False)
    )
    made = durations.timed(made, found)
    runs, tpcc_gb = 45, 2000 * 0.105
    windows_s = runs * (300 + 1800)
    s_per_gb = 1 / 0.125 + 2 / 0.250  # of the three tiers together
    loaded_gb = 3 * (GB + tpcc_gb)
    copied_s = (
        2 * (10 * GB + 5 * tpcc_gb) * s_per_gb
    )  # read and written on the same disk
    caches_s = 15 * MEMORY_GB * s_per_gb
    payments_s = 5 * 2000 * 0.009 * s_per_gb  # read to check the data, of TPC-C
    # Starting and stopping takes 10 s and more.
    least_s = windows_s + loaded_gb / 0.050 + caches_s / 2 + payments_s / 3 + runs * 10
    # A start may take yugabyted's longest wait, renting a volume as long, and finding what of it
    # has changed two minutes.
    most_s = windows_s + loaded_gb / 0.008 + copied_s + 2 * caches_s + 2 * payments_s
    most_s += runs * (180 + 180 + 120)
    assert near(made.estimate_s, least_s) and near(made.most_s, most_s)
    disks = {
        one.what: one.amount
        for one in costs.rented(made)
        if one.what.startswith("disk")
    }
    by_hand = 6 * 613.75 / 730 * most_s / 3600
    assert near(disks["disk of ultra"], by_hand), (
        "two for each node: the run's and the copy"
    )


Find = Callable[[Profile, Workload], tuple[str | None, bool] | None]


@pytest.mark.parametrize(
    ("find", "loads"),
    [
        (lambda *_: ("shared", False), [(1, 1, 0, 6)]),
        (lambda *_: ("shared", True), [(0, 0, 1, 6)]),
        (lambda profile, _: (profile.name, False), [(1, 1, 0, 3), (1, 1, 0, 3)]),
        (lambda *_: (None, False), [(3, 3, 0, 0), (3, 3, 0, 0)]),
    ],
)
def test_each_data_set_is_loaded_as_often_as_it_is(
    find: Find, loads: list[tuple[int, ...]]
) -> None:
    plan = a_plan(("premium", "ultra"), repetitions=3)
    found = planned_loads.loads(plan, find)
    assert [
        (one.times, one.most_times, one.kept, one.restores) for one in found
    ] == loads


def test_what_a_warm_up_and_a_decision_may_add_is_in_the_most() -> None:
    plan = a_plan(repetitions=2)
    grown = durations.timed(changed_plan(plan, looks={2: 0.1, 6: 0.9}))
    assert grown.estimate_s == durations.timed(plan).estimate_s
    assert (grown.most_s or 0) - (plan.most_s or 0) > 4 * 5.0
    steady = replace(a_workload(), warmup_most_s=121.0)
    longer = durations.timed(replace(plan, workloads=(steady,)))
    assert (longer.most_s or 0) - (plan.most_s or 0) == pytest.approx(2 * 120)
    assert longer.estimate_s == plan.estimate_s


@pytest.mark.parametrize("memory_bytes", [None, 2**40])
def test_filling_caches_takes_no_longer_at_least_than_at_most(
    memory_bytes: int | None,
) -> None:
    """500 GiB at 10 MB/s are 15 hours, and reading ends after ten minutes. Of others' nodes, whose
    memory is not known, it may end at once."""
    load = replace(a_workload(), warm=True)
    load = replace(load, dataset=Dataset("sysbench-tables", {"bytes": 500 * 2**30}))
    profile = a_profile()
    node = profile.cluster.node
    if memory_bytes is None:
        node = None
    elif node is not None:
        node = replace(node, memory_bytes=memory_bytes)
    profile = replace(
        profile,
        tier=replace(profile.tier, disk=OthersDisks()),
        cluster=replace(profile.cluster, node=node),
    )
    plan = replace(a_plan(), profiles=(profile,), workloads=(load,))
    (caches,) = (
        step for step in durations.steps(plan) if step.what == "filling caches"
    )
    assert caches.total.most_s == 600
    assert caches.total.least_s == (0 if memory_bytes is None else 600)


# ------------------------------------------------------------------ each term by itself

RATE = 10e6  # bytes a second, of the disk of `a_profile`
DATA = 1.2e9  # bytes


def planned(
    like: str = "emulated",
    database: str = "postgresql",
    nodes: int = 1,
    copies: int = 1,
    runs: int = 1,
    load: Workload | None = None,
    **plan: Any,
) -> Plan:
    """So many runs of one workload with 1.2 GB on one tier, each from a copy that is kept."""
    profile = a_profile(nodes=nodes)
    cluster = replace(profile.cluster, database=database, replication_factor=copies)
    tier = changed(profile.tier, like=like, **plan.pop("tier", {}))
    profile = replace(profile, tier=tier, cluster=cluster)
    made = a_plan(repetitions=runs)
    workloads = (load or with_data(),)
    return changed_plan(made, profiles=(profile,), workloads=workloads, **plan)


def with_data(size_bytes: int = int(DATA), **more: Any) -> Workload:
    dataset = Dataset("sysbench-tables", {"bytes": size_bytes})
    return replace(a_workload(), dataset=dataset, **more)


def kept(*_: object) -> tuple[str, bool]:
    """Data sets that are kept from before, so that nothing is loaded."""
    return "kept", True


def span_of(what: str, plan: Plan, find: Find | None = None) -> tuple[float, float]:
    """Seconds of one step, at least and at most."""
    data_sets = None
    if find is not None:
        data_sets = planned_loads.loads(plan, find)
    (step,) = (
        step for step in durations.steps(plan, data_sets) if step.what.startswith(what)
    )
    return step.total.least_s, step.total.most_s


AROUND = (2.0, 15.0)  # PostgreSQL, with one node and one client


@pytest.mark.parametrize(
    ("plan", "least_s", "most_s"),
    [
        # Images are loaded without limits: at 110 to 10 MB/s.
        (planned(), DATA / 110e6 + 2, DATA / 10e6 + 15),
        # A real disk takes log and pages at its own rate, and pages once more when merged.
        (planned("mounted"), 2 * DATA / RATE + 2, 3 * DATA / RATE + 15),
        # Of three copies on three nodes each disk takes one; nodes start one after the other.
        (
            planned("mounted", nodes=3, copies=3),
            2 * DATA / RATE + 2 + 2,
            3 * DATA / RATE + 15 + 10,
        ),
        (
            planned("mounted", nodes=3),
            2 * DATA / 3 / RATE + 2 + 2,
            3 * DATA / 3 / RATE + 15 + 10,
        ),
        (
            planned("existing", "existing"),
            2 * DATA / RATE + 1,
            3 * DATA / RATE + 15,
        ),
    ],
)
def test_loading_by_hand(plan: Plan, least_s: float, most_s: float) -> None:
    shared = replace(plan.profiles[0].cluster, clients=1)
    plan = replace(plan, profiles=(replace(plan.profiles[0], cluster=shared),))
    assert span_of("loading", plan) == pytest.approx((least_s, most_s))


@pytest.mark.parametrize(
    ("plan", "least_s", "most_s"),
    [
        (planned(runs=3), 0.0, 3 * DATA * 1e-8),
        (planned(runs=3, nodes=3, copies=3), 0.0, 3 * 3 * DATA * 1e-8),
        # Of real disks one after the other: what has changed is found, read and written.
        (planned("mounted", runs=3), 0.0, 3 * (2 * DATA / RATE + 120)),
        (planned("mounted", runs=3, nodes=3), 0.0, 3 * (2 * DATA / 3 / RATE + 120)),
    ],
)
def test_restoring_by_hand(plan: Plan, least_s: float, most_s: float) -> None:
    assert span_of("restoring", plan, kept) == pytest.approx((least_s, most_s))


def test_copies_that_were_timed_here_are_made_as_often_as_runs_are_planned() -> None:
    """At least: further repetitions, of a decision that is open, may not come."""
    plan = planned(runs=2, looks={2: 0.1, 6: 0.9})
    profile = plan.profiles[0]
    name = paces.kept_as(paces.RESTORE, profile.tier, plan.platform, profile.cluster)
    seen = paces.Pace(paces.Span(1e-9, 2e-9), "measured here", DATA)
    found = durations.steps(plan, planned_loads.loads(plan, kept), {name: seen})
    (step,) = (step for step in found if step.what.startswith("restoring"))
    assert step.total.least_s == pytest.approx(2 * DATA * 1e-9)
    assert step.total.most_s == pytest.approx(6 * DATA * 2e-9)


MEMORY = 2**28  # bytes of a node


@pytest.mark.parametrize(
    ("like", "size_bytes", "least_s", "most_s"),
    [
        # No more is read than there is, or than fits; limits are lifted for images.
        ("emulated", MEMORY, 0.0, 5 + 2 * MEMORY / 1e8),
        ("emulated", MEMORY // 2, 0.0, 5 + MEMORY / 1e8),
        ("mounted", MEMORY, 0.5 * MEMORY / RATE, 5 + 2 * MEMORY / RATE),
        ("mounted", 2 * MEMORY, 0.5 * MEMORY / RATE, 5 + 2 * MEMORY / RATE),
        ("mounted", MEMORY // 2, 0.25 * MEMORY / RATE, 5 + MEMORY / RATE),
    ],
)
def test_filling_caches_by_hand(
    like: str, size_bytes: int, least_s: float, most_s: float
) -> None:
    plan = planned(like, load=with_data(size_bytes, warm=True))
    assert span_of("filling caches", plan) == pytest.approx((least_s, most_s))


@pytest.mark.parametrize(
    ("like", "warehouses", "least_s", "most_s"),
    [
        ("mounted", 0, 0.0, 0.0),
        ("mounted", 20, 0.0, 10.0),
        # 1.5 s for each of twenty, and 9 MB of payments for each of all.
        ("mounted", 21, 15 + 21 * 9e6 / RATE / 3, 60 + 2 * 21 * 9e6 / RATE),
        ("emulated", 21, 15.0, 60 + 2 * 21 * 9e6 / 1e8),
    ],
)
def test_checking_the_data_by_hand(
    like: str, warehouses: int, least_s: float, most_s: float
) -> None:
    plan = planned(like, load=tpcc(warehouses))
    assert span_of("checking", plan) == pytest.approx((least_s, most_s))


GATE = (7.5, 50.0)
BURST = Burst(iops=300, bytes_per_s=None, duration_s=100.0)


@pytest.mark.parametrize(
    ("plan", "least", "most", "drained_s"),
    [
        # `least`, `most`: gates. Those of images may be kept from before; none is of others' disks.
        (planned(), 0, 1, 0.0),
        (planned(nodes=3), 0, 1, 0.0),
        (planned(nodes=3, platform="kubernetes"), 0, 3, 0.0),
        (planned("existing"), 0, 0, 0.0),
        # Of a real disk before the first run and after the last, and between them as asked.
        (planned("mounted", runs=4), 2, 2, 0.0),
        (planned("mounted", runs=4, gate_every=4), 2, 2, 0.0),
        (planned("mounted", runs=5, gate_every=4), 3, 3, 0.0),
        (planned("mounted", runs=4, gate_every=1), 5, 5, 0.0),
        (planned(runs=4, gate_every=1), 0, 1, 0.0),
        # Draining takes up to half as long again as the burst is declared to last, and 10 s.
        (planned("mounted", tier={"burst": BURST}), 2, 2, 0.0),
        (planned("mounted", drain=True), 2, 2, 0.0),
        (planned("mounted", tier={"burst": BURST}, drain=True), 2, 2, 160.0),
        (
            planned("mounted", runs=3, gate_every=1, tier={"burst": BURST}, drain=True),
            4,
            4,
            3 * 160.0,
        ),
    ],
)
def test_truth_gates_by_hand(
    plan: Plan, least: int, most: int, drained_s: float
) -> None:
    least_s, most_s = GATE
    expected = (least * least_s, most * most_s + drained_s)
    assert span_of("disk checks", plan) == pytest.approx(expected)


def on_kubernetes(*clusters: int, load: Workload | None = None) -> Plan:
    """A run of each profile, all with one tier, on so many nodes."""
    made = planned(platform="kubernetes", load=load)
    profiles: list[Profile] = []
    runs: list[Run] = []
    for number, nodes in enumerate(clusters, start=1):
        profile = planned(nodes=nodes).profiles[0]
        profiles.append(replace(profile, name=f"p{number}"))
        workload = made.workloads[0].name
        run = replace(made.runs[0], number=number, profile=f"p{number}")
        runs.append(replace(run, workload=workload))
    return replace(made, profiles=tuple(profiles), runs=tuple(runs))


def on_nodes(count: int) -> Workload:
    """A workload that runs on so many nodes, as `--vary nodes` makes it."""
    value = Varied("insert", "nodes", str(count), count)
    return replace(with_data(), name=f"on {count}", varied=value)


BY_FIO = replace(with_data(), database="none")


@pytest.mark.parametrize(
    ("plan", "most"),
    [
        # Images are checked on the machine of each node: of the largest cluster on them.
        (on_kubernetes(3, 1), 3),
        (on_kubernetes(1, 3), 3),
        (on_kubernetes(1, load=on_nodes(3)), 3),
        # A disk that is measured alone has one node, whatever the profile says.
        (on_kubernetes(3, load=BY_FIO), 1),
    ],
)
def test_a_tier_is_checked_on_the_nodes_of_the_largest_cluster_that_runs_on_it(
    plan: Plan, most: int
) -> None:
    _, most_s = GATE
    assert span_of("disk checks", plan) == pytest.approx((0, most * most_s))


def test_each_set_of_real_disks_has_a_check_of_its_own() -> None:
    """The nodes of one tier have its first disk in one run, and all three in the other."""
    pattern = {"node-{node}": NodeDisks("/dev/nvme{node}n1")}
    made = planned("mounted", nodes=3, tier={"disks": pattern})
    profile = used_profiles.on_nodes(made.profiles[0], 3)
    loads = (on_nodes(1), on_nodes(3))
    runs: list[Run] = []
    for number, load in enumerate(loads, start=1):
        runs.append(replace(made.runs[0], number=number, workload=load.name))
    plan = replace(made, profiles=(profile,), workloads=loads, runs=tuple(runs))
    least_s, most_s = GATE
    # Each disk is checked before and after.
    checks = 2 * (1 + 3)
    expected = (checks * least_s, checks * most_s)
    assert span_of("disk checks", plan) == pytest.approx(expected)


def test_a_volume_is_rented_for_each_run_and_each_gate() -> None:
    bought = ClassWanted("fast", nodes=3)
    plan = planned("storage-class", runs=2, tier={"storage_class": bought})
    least_s, most_s = AROUND
    around = span_of("starting and stopping", plan)
    assert around == pytest.approx((2 * least_s, 2 * (most_s + 180)))
    least_s, most_s = GATE
    gates = span_of("disk checks", plan)
    assert gates == pytest.approx((3 * 2 * least_s, 3 * 2 * (most_s + 180)))


def test_what_was_seen_of_one_disk_is_believed_of_those_alike() -> None:
    """Images lie on this machine's disk, whatever tier they play; real disks are their own."""

    def name(what: str, tier: str, like: str) -> str:
        return paces.kept_as(what, changed(a_profile(tier).tier, like=like), "docker")

    for what in (paces.RESTORE, "load tpcc"):
        of_images = {name(what, tier, "emulated") for tier in ("premium", "ultra")}
        assert len(of_images) == 1
        of_disks = {name(what, tier, "mounted") for tier in ("premium", "ultra")}
        assert len(of_disks) == 2
    for what in (paces.GATES, paces.AROUND_RUN):
        assert name(what, "premium", "emulated") != name(what, "ultra", "emulated")


@pytest.mark.parametrize(("times", "narrows"), [(4.0, True), (4.001, False)])
def test_a_pace_is_believed_of_four_times_as_much_as_was_seen(
    times: float, narrows: bool
) -> None:
    seen = paces.Pace(paces.Span(2.0, 3.0), "measured here", amount=100.0)
    default = paces.Pace(paces.Span(1.0, 9.0), "default")
    found = paces.pace_of({"load": seen}, "load", default, times * 100.0)
    assert (found == seen) is narrows
    if not narrows:
        assert found.span == default.span


# ------------------------------------------------------------------ rates that were seen here


def tpcc(warehouses: int) -> Workload:
    return replace(a_workload(), dataset=Dataset("tpcc", {"warehouses": warehouses}))


LOADED = paces.kept_as("load tpcc", a_profile().tier, "", a_profile().cluster)


def loaded(world_cache: Path, took_s: float) -> None:
    spent_times.keep(LOADED, took_s, fake_world(cache=world_cache), 4 * 105e6)


def test_rates_are_learnt_with_room_beyond_them(tmp_path: Path) -> None:
    assert spent_times.learnt_paces(tmp_path) == {}
    loaded(tmp_path, 10.0)
    loaded(tmp_path, 30.0)
    pace = spent_times.learnt_paces(tmp_path)[LOADED]
    assert pace.span.least_s == pytest.approx(1 / (42e6 * 1.5))
    assert pace.span.most_s == pytest.approx(1.5 / 14e6)
    assert pace.source.startswith("measured here, last on ")


@pytest.mark.parametrize(
    ("warehouses", "fastest", "slowest"),
    [
        (16, 42e6 * 1.5, 14e6 / 1.5),
        # 42 GB do not fit where 0.4 GB did: no narrower than if nothing had been seen.
        (400, 110e6, 14e6 / 1.5),
    ],
)
def test_what_was_seen_of_little_data_narrows_nothing_of_much(
    tmp_path: Path, warehouses: int, fastest: float, slowest: float
) -> None:
    loaded(tmp_path, 10.0)
    loaded(tmp_path, 30.0)
    plan = replace(a_plan(), workloads=(tpcc(warehouses),))
    steps = durations.steps(plan, None, spent_times.learnt_paces(tmp_path))
    step = next(one for one in steps if "load" in one.what)
    assert "measured here" in step.source
    around = paces.AROUND["postgresql"].span
    all_bytes = warehouses * 105e6
    assert step.total.least_s == pytest.approx(all_bytes / fastest + around.least_s)
    assert step.total.most_s == pytest.approx(all_bytes / slowest + around.most_s)


def test_the_slowest_load_of_tpcc_by_hand() -> None:
    plan = replace(a_plan(), workloads=(tpcc(2000),))
    step = next(one for one in durations.steps(plan) if "load" in one.what)
    # 210 GB at 10 MB/s are 5.8 hours, and the cluster that loads starts and stops once.
    assert step.total.most_s == pytest.approx(21_000, rel=0.001)


@pytest.mark.parametrize(
    "content",
    ["", "[", "[]", '{"gate": 3}', '{"gate": [{"amount": -1}]}',
     '{"gate": [{"amount": 1, "took_s": 1e400, "time_s": 1}]}', "\xff"],
)  # fmt: skip
def test_a_damaged_file_of_durations_is_none(tmp_path: Path, content: str) -> None:
    (tmp_path / "durations.json").write_bytes(content.encode("latin-1"))
    assert spent_times.learnt_paces(tmp_path) == {}
    loaded(tmp_path, 10.0)
    assert list(spent_times.learnt_paces(tmp_path)) == [LOADED]
