"""Several clients: each transaction once, one start, one window, one clock, one fate.

Goal: a load by N clients has the figures of one client that did all of it. Method: recorder files
that are split at random; clients that keep another time; shares that end as they are told to.
"""

from __future__ import annotations

import json
import re
import shlex
import struct
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from orchestrator.errors import LoadError, NodeError, UsageError
from orchestrator.facts import GeneratorFacts
from orchestrator.load_generators import sysbench
from orchestrator.load_generators.benchbase import BenchBase, config
from orchestrator.load_generators.common import several
from orchestrator.load_generators.common.client import client_container, compare_clocks
from orchestrator.load_generators.sysbench_stock import SysbenchStock
from orchestrator.model import CLIENT, TLS_IF_OFFERED, Cluster, Endpoint, Node, Phase, Tls, Workload
from orchestrator.parts import Result, Share
from orchestrator.powers import World
from tests import benchbase
from tests.fakes import FakeClock, FakePlatform, Talk, fake_world
from tests.plans import a_profile, a_workload

SYSBENCH = sysbench.Sysbench()
CLUSTER = Cluster("postgresql", "17", (), (Endpoint("h", 1, 1, "u", "secret", "d"),), "net")
CLIENTS = tuple(Node(f"client-{k}", "client", f"t-client-{k}") for k in (1, 2, 3))
TYPES = ["new_order", "payment", "delivery"]
SQLSTATES = (0, int("40001", 36), int("57014", 36))

# start_ns, latency_us, queue_us, sqlstate, type, outcome, retries
Row = tuple[int, int, int, int, int, int, int]
ROWS = st.lists(
    st.tuples(
        st.integers(10**18, 10**18 + 20 * 10**9),
        st.integers(0, 10**7),
        st.integers(0, 10**6),
        st.sampled_from(SQLSTATES),
        st.integers(0, 2),
        st.integers(0, 2),
        st.integers(0, 5),
    ),
    min_size=1,
    max_size=60,
)


def left(out: Path, threads: Sequence[Sequence[Row]], **described: Any) -> Path:
    """The folder of a client whose threads recorded these rows."""
    out.mkdir(exist_ok=True)
    (out / "recorder.json").write_text(json.dumps({"types": TYPES, "mode": described}))
    for number, rows in enumerate(threads):
        content = b"".join(struct.pack("<qIIIBBH", *row) for row in rows)
        (out / f"latency-{number}.bin").write_bytes(content)
        error = {"type": "payment", "sqlstate": "40001", "count": 2, "message": "m"}
        errors = {"thread": number, "retried": [error], "failed": [], "unstarted": 1}
        (out / f"errors-{number}.json").write_text(json.dumps(errors))
    total = sum(map(len, threads))
    (out / "sysbench.out").write_text(f"sysbench 1.0.20\n    transactions:    {total}   (1.00)\n")
    return out


def noted(out: Path, names: Sequence[str], **more: Any) -> None:
    notes = {name: {"threads": 1, "began_s": 1.0, "shifted_s": 0.0, **more} for name in names}
    (out / "clients.json").write_text(json.dumps(notes))


@given(ROWS, st.lists(st.integers(0, 2), min_size=60, max_size=60))
@settings(max_examples=40, deadline=None)
def test_however_records_are_split_among_clients_they_are_those_of_one(
    rows: list[Row], owners: list[int]
) -> None:
    parts = [
        [row for row, owner in zip(rows, owners, strict=False) if owner == k] for k in (0, 1, 2)
    ]
    window = (1e9 + 5.0, 1e9 + 15.0)
    workload = replace(a_workload(), threads=3)
    with TemporaryDirectory() as folder:
        out = Path(folder)
        one = SYSBENCH.read(workload, left(out / "one", parts, arrival_rate_per_s=30.0), *window)
        for client, part in zip(CLIENTS, parts, strict=True):
            left(out / client.name, [part], arrival_rate_per_s=10.0)
        noted(out, [client.name for client in CLIENTS])
        together = several.read(SYSBENCH, workload, CLIENTS, out, *window)
        merged, of_one = plain(together.latencies), plain(one.latencies)
    assert len(of_one) == len(rows)
    pd.testing.assert_frame_equal(merged, of_one)
    assert together.measurements == one.measurements
    pd.testing.assert_frame_equal(together.intervals, one.intervals)
    known, expected = together.facts.recorded(), one.facts.recorded()
    clients = known.pop("clients")
    assert known.pop("start_skew_s") == 0.0
    assert known == expected
    assert [entry["recorded_transactions"] for entry in clients.values()] == list(map(len, parts))


def plain(tables: Any) -> pd.DataFrame:
    """In one order, whatever rows with the same start were found first."""
    text: pd.DataFrame = pd.concat(tables).astype({"type": str, "sqlstate": str})
    return text.sort_values(list(text.columns), ignore_index=True)


def test_times_of_a_client_whose_clock_is_ahead_are_brought_back(tmp_path: Path) -> None:
    row = (10**18, 5, 0, 0, 0, 0, 0)
    ahead = (10**18 + 3 * 10**9, *row[1:])
    left(tmp_path / "client-1", [[row]])
    left(tmp_path / "client-2", [[ahead]])
    notes = {
        "client-1": {"began_s": 1e9, "shifted_s": 0.0},
        "client-2": {"began_s": 1e9 + 0.25, "shifted_s": 3.0},
    }
    (tmp_path / "clients.json").write_text(json.dumps(notes))
    result = several.read(SYSBENCH, a_workload(), CLIENTS[:2], tmp_path, 1e9 - 1, 1e9 + 1)
    (table,) = result.latencies or ()
    assert table["start_s"].tolist() == pytest.approx([1e9, 1e9], abs=1e-6)
    assert result.facts.start_skew_s == pytest.approx(0.25)


def test_what_benchbase_left_of_two_clients_is_the_sum(tmp_path: Path) -> None:
    generator, captured = BenchBase(), benchbase.WITH_ATTEMPTS
    table, facts = generator.records(captured)
    for client in CLIENTS[:2]:
        (tmp_path / client.name).symlink_to(captured)
    noted(tmp_path, ["client-1", "client-2"])
    begin_s = float(table["start_s"].min())
    window = (begin_s, begin_s + 60.0)
    workload = replace(benchbase.WORKLOAD, threads=2 * benchbase.WORKLOAD.threads)
    one = generator.read(benchbase.WORKLOAD, captured, *window)
    two = several.read(generator, workload, CLIENTS[:2], tmp_path, *window)
    counted = ("transactions", "nopm", "rollbacks", "failures", "retries", "throughput_per_s")
    before, after = (
        {(m.metric, m.scope): m.value for m in result.measurements} for result in (one, two)
    )
    assert before.keys() <= after.keys()  # twice as many have more percentiles
    for key, value in before.items():
        assert after[key] == pytest.approx(2 * value if key[0] in counted else value)
    assert two.facts.more["outcomes_known"] is True
    assert two.facts.recorded_transactions == 2 * (facts.recorded_transactions or 0)


# ------------------------------------------------------------------ shares


@pytest.mark.parametrize(("threads", "count", "each"), [(7, 3, [3, 2, 2]), (4, 4, [1, 1, 1, 1])])
def test_threads_and_rate_are_shared_whole(threads: int, count: int, each: list[int]) -> None:
    workload = replace(a_workload(), threads=threads, options={"seed": 1, "arrival_rate": 100.0})
    shares = list(several.shares(workload, count))
    assert [one.threads for one in shares] == each
    rates = [float(one.options["arrival_rate"]) for one in shares]
    assert sum(rates) == pytest.approx(100.0)
    assert rates == pytest.approx([100.0 * own / threads for own in each])
    assert {one.options["seed"] for one in shares} == {1}


def test_terminals_of_benchbase_that_think_are_shared_whole() -> None:
    workload = benchbase.WORKLOAD
    thinking = replace(workload, options={**workload.options, "think": "spec"}, threads=3)
    alone = config.settings(thinking).terminals
    each = [
        config.settings(one, part, 3).terminals
        for part, one in enumerate(several.shares(thinking, 3), start=1)
    ]
    assert sum(each) == alone and max(each) - min(each) <= 1


def test_a_load_that_several_clients_cannot_carry_is_refused() -> None:
    spec = replace(a_profile().cluster, clients=3)
    enough = replace(a_workload(), threads=3)
    several.check(SYSBENCH, enough, spec)
    several.check(BenchBase(), enough, spec)
    several.check(SysbenchStock(), enough, replace(spec, clients=1))
    for generator, workload, what in (
        (SysbenchStock(), enough, "keeps no record of each transaction"),
        (SYSBENCH, a_workload(), "it has 2 threads"),
    ):
        with pytest.raises(UsageError, match=what):
            several.check(generator, workload, spec)


# ------------------------------------------------------------------ clocks


@dataclass
class Answers:
    """A shell in a client whose clock is ahead, as `date +%s.%N` answers. `trip_s`: of each
    question, half before and half after the answer is made."""

    clock: FakeClock
    ahead_s: float
    trips_s: Iterator[float]
    _said: str = ""

    def send(self, _: str) -> None:
        trip_s = next(self.trips_s)
        self.clock.sleep(trip_s / 2)
        self._said = f"{self.clock.now() + self.ahead_s:.9f}"
        self.clock.sleep(trip_s / 2)

    def receive(self, _: float) -> str:
        return self._said


@dataclass
class Elsewhere(FakePlatform):
    """Clients on machines of their own, whose clocks are ahead by so much."""

    clock: FakeClock = field(default_factory=FakeClock)
    ahead_s: dict[str, float] = field(default_factory=dict)
    stopped: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        super().__init__()

    @contextmanager
    def conversation(self, container: str, argv: Sequence[str]) -> Iterator[Any]:
        yield Answers(self.clock, self.ahead_s.get(container, 0.0), iter([0.05, 0.002] * 5))

    def stop(self, container: str, timeout_s: float) -> None:
        self.stopped.append(container)


def test_the_clock_of_a_client_is_known_to_half_the_shortest_round_trip() -> None:
    platform = Elsewhere(ahead_s={"t-client-1": 2.5})
    world = fake_world(platform=platform, clock=platform.clock)
    offset = compare_clocks(CLIENTS[0], world)
    assert offset is not None
    assert offset.offset_s == pytest.approx(2.5, abs=1e-6)
    assert offset.uncertainty_s == pytest.approx(0.001)
    assert offset.shift_s == offset.offset_s
    same = compare_clocks(CLIENTS[1], world)
    assert same is not None and same.shift_s == 0.0


def test_a_client_without_a_usable_date_has_no_known_clock() -> None:
    class Short(Elsewhere):
        @contextmanager
        def conversation(self, container: str, argv: Sequence[str]) -> Iterator[Any]:
            yield Said()

    class Said:
        def send(self, line: str) -> None: ...

        def receive(self, timeout_s: float) -> str:
            return "1763827200.%N"

    assert compare_clocks(CLIENTS[0], fake_world(platform=Short())) is None
    assert compare_clocks(CLIENTS[0], fake_world()) is None  # does not answer at all


# ------------------------------------------------------------------ one run


class Load:
    """A load generator whose clients do what `carry` says."""

    name = "sysbench"

    def __init__(self, carry: Callable[[Share, Workload, World], tuple[Phase, Phase]]) -> None:
        self._carry = carry

    def run_share(
        self,
        workload: Workload,
        share: Share,
        cluster: Cluster,
        client: Node,
        out: Path,
        world: World,
    ) -> tuple[Phase, Phase]:
        return self._carry(share, workload, world)

    def records(self, out: Path) -> tuple[Any, GeneratorFacts]:
        raise NotImplementedError

    def merged(self, several: Sequence[Any], shifts_s: Sequence[float]) -> Any:
        raise NotImplementedError

    def result(
        self, workload: Workload, records: Any, facts: GeneratorFacts, start_s: float, end_s: float
    ) -> Result:
        raise NotImplementedError


def carried(load: Load, world: World, out: Path) -> tuple[Phase, Phase]:
    workload = replace(a_workload(), threads=6)
    generator: Any = load
    return several.run(generator, workload, CLUSTER, CLIENTS, out, world)


def test_all_begin_at_one_moment_and_only_what_all_measured_counts(tmp_path: Path) -> None:
    platform = Elsewhere(ahead_s={"t-client-2": 100.0})
    windows: list[float] = []
    world = fake_world(platform=platform, clock=platform.clock)
    world = replace(world, window_begins=windows.append)
    firsts: dict[int, int] = {}
    begun_s: dict[int, float] = {}

    def carry(share: Share, workload: Workload, own: World) -> tuple[Phase, Phase]:
        firsts[share.number] = share.first_thread
        start_s = begun_s[share.number] = share.begin()
        middle_s = start_s + workload.warmup_s + 0.1 * share.number  # each is a little later
        own.window_begins(middle_s)
        return Phase("warm-up", start_s, middle_s), Phase("measure", middle_s, start_s + 5.0)

    warmup, measure = carried(Load(carry), world, tmp_path)
    assert firsts == {1: 0, 2: 2, 3: 4}
    assert begun_s[1] == begun_s[3] == pytest.approx(begun_s[2] - 100.0, abs=0.06)  # by its own
    assert warmup.start_s == pytest.approx(begun_s[1])
    assert measure.start_s == warmup.end_s == pytest.approx(begun_s[1] + 1.3)
    assert measure.end_s == pytest.approx(begun_s[1] + 5.0)
    assert windows == [pytest.approx(measure.start_s)]
    notes = json.loads((tmp_path / "clients.json").read_text())
    assert [one["shifted_s"] for one in notes.values()] == [
        0.0,
        pytest.approx(100.0, abs=0.06),
        0.0,
    ]
    assert {one["threads"] for one in notes.values()} == {2}


def test_the_window_of_a_steady_warm_up_begins_when_all_are_steady_at_once(tmp_path: Path) -> None:
    platform = Elsewhere(ahead_s={"t-client-2": 100.0})
    world = fake_world(platform=platform, clock=platform.clock)
    in_turn = [threading.Event() for _ in range(4)]
    said: list[tuple[int, float | None]] = []

    def carry(share: Share, workload: Workload, own: World) -> tuple[Phase, Phase]:
        start_s = share.begin()
        # The first is steady before the second is, and no more when the third becomes so.
        for turn, number, steady in ((0, 1, True), (1, 2, True), (2, 1, False), (3, 3, True)):
            if share.number == number:
                if turn:
                    in_turn[turn - 1].wait(30)
                said.append((number, share.agree(steady)))
                in_turn[turn].set()
        in_turn[3].wait(30)
        while (all_steady_s := share.agree(True)) is None:
            pass
        return Phase("warm-up", start_s, all_steady_s), Phase("measure", all_steady_s, start_s + 50)

    warmup, measure = carried(Load(carry), world, tmp_path)
    assert said == [(1, None), (2, None), (1, None), (3, None)]
    assert measure.start_s - warmup.start_s < 50
    notes = json.loads((tmp_path / "clients.json").read_text())
    assert len({round(one["measured_from_s"], 6) for one in notes.values()}) == 1


def test_the_first_failure_ends_all_clients_and_names_its_own(tmp_path: Path) -> None:
    platform = Elsewhere()

    def carry(share: Share, workload: Workload, own: World) -> tuple[Phase, Phase]:
        if share.number == 2:
            raise LoadError("sysbench ended with exit code 1", "look", "its last line")
        share.begin()  # for which the second never becomes ready
        raise AssertionError("began alone")

    with pytest.raises(LoadError, match=r"^client-2: sysbench ended with exit code 1$") as raised:
        carried(Load(carry), fake_world(platform=platform), tmp_path)
    assert (raised.value.advice, raised.value.evidence) == ("look", "its last line")
    assert {client.container for client in CLIENTS} <= set(platform.stopped)


def test_a_node_that_dies_is_no_failure_of_a_client(tmp_path: Path) -> None:
    def carry(share: Share, workload: Workload, own: World) -> tuple[Phase, Phase]:
        raise NodeError("node-1 died")

    with pytest.raises(NodeError, match=r"^node-1 died$"):
        carried(Load(carry), fake_world(platform=Elsewhere()), tmp_path)


def test_clients_that_never_measured_together_measured_nothing(tmp_path: Path) -> None:
    def carry(share: Share, workload: Workload, own: World) -> tuple[Phase, Phase]:
        at_s = 100.0 * share.number
        return Phase("warm-up", at_s, at_s + 1), Phase("measure", at_s + 1, at_s + 5)

    with pytest.raises(LoadError, match=r"never measured at the same time: .* 195\.0 s"):
        carried(Load(carry), fake_world(platform=Elsewhere()), tmp_path)


# ------------------------------------------------------------------ one client on another machine


class Far(Elsewhere):
    def folder(self, cache: Path) -> Path:
        return Path("/var/lib/tierbench")


class Alone:
    """A load generator with one client, which measures for 5 s by the clock it is given."""

    name = "sysbench"
    recorded = pd.DataFrame({"start_s": [1101.5, 1102.0]})

    def run(
        self, workload: Workload, cluster: Cluster, client: Node, out: Path, world: World
    ) -> tuple[Phase, Phase]:
        now_s = world.clock.now()
        world.window_begins(now_s + 1)
        return Phase("warm-up", now_s, now_s + 1), Phase("measure", now_s + 1, now_s + 6)

    def read(
        self, workload: Workload, out: Path, start_s: float, end_s: float
    ) -> tuple[str, float]:
        return "read as it is", start_s

    def records(self, out: Path) -> tuple[Any, GeneratorFacts]:
        return self.recorded, GeneratorFacts(recorded_transactions=2, began_s=1101.0)

    def merged(self, several: Sequence[Any], shifts_s: Sequence[float]) -> Any:
        return pd.concat([one - shift_s for one, shift_s in zip(several, shifts_s, strict=True)])

    def result(
        self, workload: Workload, records: Any, facts: GeneratorFacts, start_s: float, end_s: float
    ) -> Result:
        return Result((), None, [records], facts)

    def run_share(self, *_: Any) -> tuple[Phase, Phase]:
        raise NotImplementedError


def test_the_clock_of_the_only_client_is_compared_if_it_is_elsewhere(tmp_path: Path) -> None:
    platform, windows = Far(ahead_s={"t-client": 100.0}), list[float]()
    world = fake_world(platform=platform, clock=platform.clock)
    world = replace(world, window_begins=windows.append)
    generator: Any = Alone()
    client = Node("client", "client", "t-client")
    warmup, measure = several.run(generator, a_workload(), CLUSTER, [client], tmp_path, world)
    began_s = warmup.start_s
    assert began_s == pytest.approx(platform.clock.now(), abs=1.0), "by this computer's clock"
    assert windows == [measure.start_s] and measure.duration_s == pytest.approx(5.0)
    result = several.read(
        generator, a_workload(), [client], tmp_path, measure.start_s, measure.end_s
    )
    (table,) = result.latencies or ()
    assert table["start_s"].tolist() == [pytest.approx(1001.5), pytest.approx(1002.0)]
    (note,) = result.facts.clients.values()
    for when in ("clock_offset_s", "clock_offset_after_s", "shifted_s"):
        assert note[when] == pytest.approx(100.0)
    assert note["recorded_transactions"] == 2 and note["began_s"] == pytest.approx(1001.0)


def test_a_client_here_has_the_clock_of_this_computer(tmp_path: Path) -> None:
    platform = Elsewhere(ahead_s={"t-client": 100.0})
    world = fake_world(platform=platform, clock=platform.clock)
    generator: Any = Alone()
    client = Node("client", "client", "t-client")
    before_s = platform.clock.now()
    warmup, measure = several.run(generator, a_workload(), CLUSTER, [client], tmp_path, world)
    assert warmup.start_s == before_s == platform.clock.now(), "nothing was asked"
    assert not list(tmp_path.iterdir())
    read: Any = several.read(generator, a_workload(), [client], tmp_path, measure.start_s, 9.0)
    assert read == ("read as it is", measure.start_s)


def test_a_generator_that_keeps_no_records_is_read_as_it_is(tmp_path: Path) -> None:
    class Totals:
        name, run = "sysbench-stock", Alone.run

        def read(self, *_: Any) -> Result:
            return Result((), None, None, GeneratorFacts(version="1.0.20"))

    platform = Far(ahead_s={"t-client": 100.0})
    world = fake_world(platform=platform, clock=platform.clock)
    generator: Any = Totals()
    client = Node("client", "client", "t-client")
    _, measure = several.run(generator, a_workload(), CLUSTER, [client], tmp_path, world)
    facts = several.read(generator, a_workload(), [client], tmp_path, measure.start_s, 9e9).facts
    assert facts.version == "1.0.20" and facts.clients["client"]["shifted_s"] == 0.0
    assert facts.clients["client"]["clock_offset_s"] == pytest.approx(100.0)


class Writes(FakePlatform):
    """Clients whose shell writes what it is sent, and says so."""

    class Talk(Talk):
        def receive(self, timeout_s: float) -> str:
            return "written"

    @contextmanager
    def conversation(self, container: str, argv: Sequence[str]) -> Iterator[Any]:
        self.talks.append(self.Talk(container, tuple(argv)))
        yield self.talks[-1]


def test_sysbench_tells_its_threads_when_all_begin_and_end(tmp_path: Path) -> None:
    platform = Writes(answer=lambda _, argv: "Threads started!\n" if "run" in argv else "")
    world = fake_world(platform=platform)
    share = Share(2, 3, first_thread=4, begin=lambda: 2_000.0, agree=lambda _: None)
    phases = SYSBENCH.run_share(a_workload(), share, CLUSTER, CLIENTS[1], tmp_path, world)
    assert [(one.start_s, one.end_s) for one in phases] == [(2000, 2001), (2001, 2005)]
    command = shlex.split((tmp_path / "command.txt").read_text())
    own = ("--first-thread=4", "--part=2/3", "--begins-file=/tmp/tierbench-begins")
    assert set(own) <= set(command)
    (talk,) = platform.talks
    assert (talk.container, talk.argv[-1]) == ("t-client-2", "/tmp/tierbench-begins")
    assert talk.sent == ["2000.000000 2005.000000"]
    assert re.search(r"--time=125\b", " ".join(command))  # at most, if the others keep it waiting


def test_each_client_has_a_placement_and_a_folder_of_its_own(tmp_path: Path) -> None:
    platform = FakePlatform()
    generator: Any = Startable()
    world = fake_world(platform=platform)
    with several.running(generator, 2, "net", tmp_path, world, TLS_IF_OFFERED) as clients:
        assert [client.name for client in clients] == ["client-1", "client-2"]
    for name in ("client-1", "client-2"):
        spec = platform.specs[f"tierbench-{name}"]
        assert spec.placement == name
        assert str(tmp_path / name) in {mount.source for mount in spec.mounts}
    with several.running(generator, 1, "net", tmp_path, world, TLS_IF_OFFERED) as (only,):
        assert only.name == "client"
    assert platform.specs["tierbench-client"].placement == "client-1"


class Startable:
    """A load generator whose image is there."""

    name = "sysbench"

    def client(
        self, network: str, out: Path, world: World, tls: Tls, name: str = CLIENT
    ) -> AbstractContextManager[Node]:
        return client_container("image", network, out, world, tls, name=name)
