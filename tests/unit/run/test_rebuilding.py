"""When a node is lost, what is given to the load meanwhile, and what becomes of one not back."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest

from orchestrator.errors import NodeError, UsageError, VoidError
from orchestrator.load_generators.sysbench.generator import Sysbench
from orchestrator.model import Cluster, Node, Plan, Profile, Workload
from orchestrator.parts import ClientLoad, DatabaseAbilities, Parts
from orchestrator.powers import World
from orchestrator.run.record.run_context import Draft, RunContext
from orchestrator.run.window import rebuilding
from tests.fake_parts import FakeDatabase, fake_parts
from tests.fakes import FakeClock, FarPlatform, Log, fake_world
from tests.plans import a_plan

NODES = tuple(Node(f"node-{n}", "database", f"c-{n}", process_id=n) for n in (1, 2, 3))
CLUSTER = Cluster("postgresql", "17", NODES, (), "net")
LOST_AFTER_S, PER_S = 15.0, "network_bytes_per_s"


@dataclass
class Rebuilding(FakeDatabase):
    """A database whose node is back after so long, if that is before its deadline."""

    clock: FakeClock
    takes_s: float
    log: Log = field(default_factory=Log)
    lost: list[tuple[str, float]] = field(default_factory=list)

    @property
    def abilities(self) -> DatabaseAbilities:
        return DatabaseAbilities(rebuilt_nodes=self)

    def start_anew(self, node: Node, cluster: Cluster, world: World) -> Node:
        self.lost.append((node.name, world.clock.now()))
        return replace(node, container_id="new", process_id=99)

    def await_rebuilt(self, cluster: Cluster, world: World, deadline_s: float) -> None:
        self.clock.sleep(min(self.takes_s, deadline_s))
        if self.takes_s > deadline_s:
            raise NodeError("1 of 2 standbys have caught up", evidence="its log")


def planned(**changes: Any) -> Plan:
    plan = a_plan()
    (load,), (profile,) = plan.workloads, plan.profiles
    three = replace(
        profile, cluster=replace(profile.cluster, nodes=3, replication_factor=3)
    )
    loads = (
        replace(load, measure_s=60.0, **{"lost_after_s": LOST_AFTER_S, **changes}),
    )
    return replace(plan, workloads=loads, profiles=(three,))


def run_of(folder: Path, takes_s: float) -> tuple[RunContext, Rebuilding]:
    clock, plan = FakeClock(), planned()
    world = fake_world(clock=clock)
    database = Rebuilding(clock, takes_s)
    parts = replace(fake_parts(Log()), databases={"postgresql": database})
    draft = Draft(nodes=[replace(node, machine="here") for node in NODES])
    here: Any = RunContext(plan, plan.runs[0], parts, Any, folder, world, draft, {})  # type: ignore[arg-type]
    return here, database


def carried(here: RunContext, load: Callable[[World], None]) -> tuple[Node, ...]:
    """Which nodes a load is given that does so."""
    asked = ClientLoad(here.workload, CLUSTER, NODES[0], here.raw, here.world)
    with rebuilding.losing(here, asked) as accompanied:
        load(accompanied.world)
    return accompanied.cluster.nodes


def test_the_last_node_is_lost_in_the_window_and_sampled_as_what_it_is_then(
    tmp_path: Path,
) -> None:
    here, database = run_of(tmp_path, takes_s=20.0)
    begin_s = here.world.clock.now() - LOST_AFTER_S
    assert carried(here, lambda world: world.window_begins(begin_s)) == NODES[:2]
    ((name, lost_s),) = database.lost
    assert name == "node-3" and lost_s == pytest.approx(begin_s + LOST_AFTER_S)
    times = json.loads((here.raw / "rebuild.json").read_text())
    assert times == {"lost_s": lost_s, "back_s": lost_s + 20, "written_bytes": 0.0}
    assert [node.process_id for node in here.draft.nodes] == [1, 2, 99]
    assert {node.machine for node in here.draft.nodes} == {"here"}


def test_one_that_is_not_back_at_the_windows_end_makes_the_run_void(
    tmp_path: Path,
) -> None:
    here, _ = run_of(tmp_path, takes_s=46.0)
    end_s = here.world.clock.now() - LOST_AFTER_S + 60.0
    with pytest.raises(VoidError, match="node-3 was lost, and was not back") as raised:
        carried(here, lambda world: world.window_begins(end_s - 60.0))
    assert "1 of 2 standbys" in raised.value.what and raised.value.evidence == "its log"
    assert (
        "end of the node's log" in raised.value.advice
        and "`measure`" in raised.value.advice
    )
    assert here.world.clock.now() == pytest.approx(end_s)
    assert not (here.raw / "rebuild.json").exists()


def test_no_figures_of_a_rebuild_make_it_void_too(tmp_path: Path) -> None:
    """As where the load has ended while the disk was being emptied, or before its window."""
    with pytest.raises(VoidError, match="its rebuild was not over"):
        carried(run_of(tmp_path, takes_s=1.0)[0], lambda _: None)


def test_the_error_of_a_load_is_told_and_not_that_of_the_rebuild(
    tmp_path: Path,
) -> None:
    def dies(world: World) -> None:
        world.window_begins(world.clock.now() - LOST_AFTER_S)
        raise NodeError("node-1 is exited")

    with pytest.raises(NodeError, match="node-1 is exited"):
        carried(run_of(tmp_path, takes_s=50.0)[0], dies)


def test_other_workloads_lose_nothing(tmp_path: Path) -> None:
    here, database = run_of(tmp_path, takes_s=1.0)
    here = replace(here, plan=planned(lost_after_s=None))
    assert carried(here, lambda world: world.window_begins(0.0)) == NODES
    assert database.lost == []


@pytest.mark.parametrize(
    ("why", "changes"),
    [
        (
            "`database: postgresql` cannot rebuild a node",
            {"database": FakeDatabase(Log())},
        ),
        ("fewer than 3 nodes", {"nodes": 2}),
        ("containers of this computer", {"platform": FarPlatform()}),
        ("`network` shapes links", {"network_bytes_per_s": 10**8}),
        (
            "no record of each transaction",
            {"generator": fake_parts(Log()).load_generators},
        ),
        ("`--confirm`", {"confirm_s": 24.0}),
        ("shorter than `measure`", {"lost_after_s": 60.0}),
        ("shorter than `measure`", {"lost_after_s": 0.0}),
    ],
)
def test_what_cannot_be_is_refused_before_anything_starts(
    why: str, changes: Any
) -> None:
    with pytest.raises(UsageError, match="no node can be lost and rebuilt") as raised:
        rebuilding.check(*checked(**changes))
    assert why in raised.value.what
    rebuilding.check(*checked())


def checked(**changes: Any) -> tuple[Workload, Profile, Parts, World]:
    parts = fake_parts(Log())
    database = changes.pop("database", Rebuilding(FakeClock(), 1.0))
    generators = changes.pop("generator", {"sysbench": Sysbench()})
    parts = replace(
        parts, databases={"postgresql": database}, load_generators=generators
    )
    world = fake_world(
        **{name: changes.pop(name) for name in ("platform",) if name in changes}
    )
    plan = planned(
        **{k: v for k, v in changes.items() if k.endswith("_s") and k != PER_S}
    )
    (load,), (profile,) = plan.workloads, plan.profiles
    own = {k: v for k, v in changes.items() if k in ("nodes", PER_S)}
    return load, replace(profile, cluster=replace(profile.cluster, **own)), parts, world
