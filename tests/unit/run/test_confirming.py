"""The order and the times in which limits are changed behind a window, on a made-up clock."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest

from orchestrator.facts import TriedLimit
from orchestrator.load_generators.sysbench.generator import Sysbench
from orchestrator.model import Node
from orchestrator.parts import Disks
from orchestrator.powers import ContainerLimits
from orchestrator.run.record.run_context import Draft, RunContext
from orchestrator.run.window import confirming
from orchestrator.run.window.confirming import (
    CHANGES,
    LESS,
    MOST_PAIRS,
    Changes,
    Lever,
    drawn_order,
)
from orchestrator.run.window.window_followers import Follower
from tests.fake_parts import FakeTier, fake_parts
from tests.fakes import FakeClock, FakeContainer, FakePlatform, Log, fake_world
from tests.plans import a_plan

BEGIN_S, LASTS_S = 2_000.0, 10.0
TRIALS_S = 4 * MOST_PAIRS * LASTS_S  # of two limits


@dataclass
class Waiting(threading.Event):
    """A stop that comes at a moment of the made-up clock, or never; waiting moves that clock."""

    clock: FakeClock
    at_s: float = float("inf")

    def __post_init__(self) -> None:
        super().__init__()

    def wait(self, timeout: float | None = None) -> bool:
        self.clock.sleep(min(timeout or 0.0, max(0.0, self.at_s - self.clock.now())))
        return self.clock.now() >= self.at_s


@dataclass
class Levers:
    clock: FakeClock
    takes_s: float = 0.0
    set: list[tuple[float, str, float]] = field(default_factory=list)

    def of(self, name: str) -> Callable[[float], None]:
        def lever(times: float) -> None:
            self.set.append((self.clock.now() - BEGIN_S, name, times))
            self.clock.sleep(self.takes_s)

        return lever


def changed(
    stop_after_s: float = float("inf"), takes_s: float = 0.0
) -> tuple[Changes, Levers]:
    """What was changed for `TRIALS_S` from `BEGIN_S` on, if the load does not end before."""
    clock = FakeClock()
    levers = Levers(clock, takes_s)
    (workload,) = a_plan().workloads[:1]
    changes = Changes(
        {name: Lever(levers.of(name)) for name in ("IOPS", "node CPU")},
        replace(workload, measure_s=0.0, confirm_s=TRIALS_S),
        lambda: levers.set.append((clock.now() - BEGIN_S, "window over", 1.0)),
        Follower(clock, Waiting(clock, BEGIN_S + stop_after_s)),
    )
    changes.follow(BEGIN_S)
    return changes, levers


def test_each_limit_goes_up_and_down_in_pairs_as_often_as_there_is_time() -> None:
    changes, levers = changed()
    assert levers.set[0] == (0.0, "window over", 1.0)
    pairs = set()
    for number in range(0, len(changes.kept), 2):
        high, low = sorted(
            changes.kept[number : number + 2], key=lambda one: -one["times"]
        )
        assert high["limit"] == low["limit"]
        assert (high["times"], low["times"]) == (1.25, 0.75)
        pairs.add((number // 4, high["limit"]))
    rounds = len(changes.kept) // 4
    assert rounds == MOST_PAIRS
    assert len(pairs) == 2 * rounds  # each limit once a round
    changing = [
        (after_s, times) for after_s, _, times in levers.set[1:] if times != 1.0
    ]
    assert [after_s for after_s, _ in changing] == [
        pytest.approx(LASTS_S * number) for number in range(4 * rounds)
    ]


LEVELS: dict[TriedLimit, tuple[float, ...]] = {
    "IOPS": CHANGES,
    "bandwidth": CHANGES,
    "node CPU": CHANGES,
}


def test_places_of_pairs_and_the_order_within_each_are_drawn() -> None:
    """So no rhythm of the system is that of the trials."""
    orders = [drawn_order(LEVELS, 480.0, seed) for seed in range(200)]
    assert drawn_order(LEVELS, 480.0, 7) == orders[7]
    first = Counter(order[0] for order in orders)
    assert set(first) == {(name, times) for name in LEVELS for times in CHANGES}
    assert max(first.values()) < 60
    high_first = sum(order[6].times > order[7].times for order in orders)
    assert 70 < high_first < 130


@pytest.mark.parametrize(
    ("lasts_s", "pairs"), [(6.0, 2), (12.0, 2), (24.0, 4), (480.0, 8)]
)
def test_changes_last_for_a_second_at_least_and_there_are_at_most_eight_pairs(
    lasts_s: float, pairs: int
) -> None:
    assert len(drawn_order(LEVELS, lasts_s, 1)) == 2 * len(LEVELS) * pairs


def test_only_the_time_in_which_a_change_held_counts() -> None:
    changes, levers = changed()
    back = [after_s for after_s, _, times in levers.set[1:] if times == 1.0]
    assert back
    for one, back_s in zip(changes.kept, back, strict=True):
        assert one["end_s"] - one["start_s"] == pytest.approx(7.0)
        assert one["end_s"] - BEGIN_S == pytest.approx(back_s)


@pytest.mark.parametrize("stop_after_s", [0.0, 4.0, 23.0, TRIALS_S - 2])
def test_a_load_that_ends_before_leaves_all_limits_as_declared(
    stop_after_s: float,
) -> None:
    changes, levers = changed(stop_after_s)
    last = {name: times for _, name, times in levers.set}
    assert set(last.values()) <= {1.0}
    assert len(changes.kept) == int(stop_after_s // LASTS_S)


@pytest.mark.parametrize(
    ("takes_s", "is_noted"), [(2.4, True), (2.5, False), (3.0, False)]
)
def test_a_change_that_came_late_is_not_noted(takes_s: float, is_noted: bool) -> None:
    """It has a quarter of its 10 s to be made."""
    changes, _ = changed(takes_s=takes_s)
    assert bool(changes.kept) is is_noted


# ------------------------------------------------------------------ what is changed of clients


@dataclass
class Limited(FakeContainer):
    """Its engine says how many processors it may use; `told` has what was changed."""

    own_cpus: float | None = None
    told: list[float | None] = field(default_factory=list)

    @property
    def limits(self) -> ContainerLimits:
        return ContainerLimits(self.lift_limits, self.limit_cpus, self.find_cpus)

    def lift_limits(self) -> None:
        """Nothing: no test does."""

    def limit_cpus(self, cpus: float | None) -> None:
        self.told.append(cpus)

    def find_cpus(self) -> float | None:
        return self.own_cpus


class Limits(FakePlatform):
    def __init__(self, own_cpus: float | None) -> None:
        super().__init__(Log())
        self.limited: dict[str, Limited] = {}
        for name in ("client-1", "client-2", "node-1"):
            self.limited[name] = Limited(name, self, own_cpus=own_cpus)

    def container(self, name: str) -> Limited:
        return self.limited[name]


HOST = Node("host", "host", cpus=4.0, machine="here")
CLIENTS = [Node(f"client-{n}", "client", f"client-{n}", machine="here") for n in (1, 2)]


def test_clients_without_a_limit_share_their_machine_and_can_only_have_less() -> None:
    platform = Limits(own_cpus=None)
    lever = confirming.cpus_of_clients(
        CLIENTS, [HOST, *CLIENTS], fake_world(platform=platform)
    )
    assert lever is not None and lever.levels == LESS
    for times in (0.75, 1.0):
        lever.set(times)
    for client in CLIENTS:
        assert platform.limited[client.name].told == [1.5, None]


def test_a_client_with_a_limit_of_its_own_can_have_more() -> None:
    platform = Limits(own_cpus=0.2)
    lever = confirming.cpus_of_clients(
        CLIENTS[:1], [HOST, *CLIENTS], fake_world(platform=platform)
    )
    assert lever is not None and lever.levels == (1.25, 0.75)
    for times in (1.25, 1.0):
        lever.set(times)
    assert platform.limited["client-1"].told == [0.25, 0.2]


def test_clients_of_which_one_has_no_limit_can_only_have_less() -> None:
    platform = Limits(own_cpus=None)
    platform.limited["client-1"].own_cpus = 0.2
    lever = confirming.cpus_of_clients(
        CLIENTS, [HOST, *CLIENTS], fake_world(platform=platform)
    )
    assert lever is not None and lever.levels == LESS
    lever.set(0.75)
    assert platform.limited["client-1"].told == [pytest.approx(0.15)]
    assert platform.limited["client-2"].told == [1.5]


def test_nothing_is_changed_of_a_client_whose_machine_is_not_known() -> None:
    elsewhere = replace(CLIENTS[0], machine="there")
    assert (
        confirming.cpus_of_clients(
            [elsewhere], [HOST], fake_world(platform=Limits(None))
        )
        is None
    )


@pytest.mark.parametrize(
    ("threads", "fewer"), [(2, 1), (3, 2), (4, 3), (6, 4), (600, 450)]
)
def test_sessions_can_be_a_quarter_fewer_and_at_least_one(
    threads: int, fewer: int
) -> None:
    """Of two threads a quarter is half a one: as many as before would try nothing."""
    workload = replace(a_plan().workloads[0], threads=threads, options={})
    lever = confirming.sessions(Sysbench(), workload, CLIENTS, fake_world())
    assert lever is not None and lever.levels == (1.0, fewer / threads)


def test_sessions_cannot_be_fewer_of_one_or_at_a_pace() -> None:
    workload = replace(a_plan().workloads[0], threads=6, options={})
    world, generator = fake_world(), Sysbench()
    at_a_rate = replace(workload, options={"arrival_rate": 10})
    one_thread = replace(workload, threads=1)
    for other in (at_a_rate, one_thread):
        assert confirming.sessions(generator, other, CLIENTS, world) is None


# ------------------------------------------------------------------ what is changed in a run

NODE = Node("node-1", "database", "node-1", cpus=2.0, machine="here")


def in_a_run(folder: Path, platform: FakePlatform) -> dict[TriedLimit, Lever]:
    """The levers of a run with one node, of which the first of two clients makes the load."""
    world = fake_world(platform=platform)
    parts = fake_parts(Log())
    tier = FakeTier(Log(), restores=False)
    tier.changeable = ("IOPS",)
    parts = replace(
        parts, tiers={"emulated": tier}, load_generators={"sysbench": Sysbench()}
    )
    plan = a_plan()
    draft = Draft(nodes=[HOST, NODE, *CLIENTS])
    here: Any = RunContext(plan, plan.runs[0], parts, Any, folder, world, draft, {})  # type: ignore[arg-type]
    as_started = [replace(node, machine="") for node in (NODE, CLIENTS[0])]
    return confirming._levers(here, Disks((), {}), as_started)


def test_a_run_changes_its_tier_its_nodes_its_own_clients_and_its_sessions(
    tmp_path: Path,
) -> None:
    platform = Limits(own_cpus=None)
    levers = in_a_run(tmp_path, platform)
    assert list(levers) == ["IOPS", "node CPU", "client CPU", "sessions"]
    levers["node CPU"].set(1.25)
    levers["client CPU"].set(0.75)
    told = {name: limited.told for name, limited in platform.limited.items()}
    assert told == {"node-1": [2.5], "client-1": [3.0], "client-2": []}


def test_a_run_changes_no_processors_where_the_platform_cannot(tmp_path: Path) -> None:
    levers = in_a_run(tmp_path, FakePlatform(Log()))
    assert list(levers) == ["IOPS", "sessions"]
