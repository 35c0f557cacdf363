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
from contextlib import contextmanager
from dataclasses import fields, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pandas as pd
import pytest
from hypothesis import given, settings, strategies as st

from orchestrator.errors import LoadError, NodeError, UsageError
from orchestrator.extensions.benchbase import config
from orchestrator.extensions.benchbase.generator import BenchBase
from orchestrator.extensions.sysbench_stock.generator import SysbenchStock
from orchestrator.facts import GeneratorFacts, WeightedMean
from orchestrator.load_generators.sysbench import generator as sysbench
from orchestrator.model import Phase, Workload
from orchestrator.parts import ClientLoad, Recorded, Result, Share
from orchestrator.planning import client_shares
from orchestrator.powers import World
from orchestrator.run.clients import merged_facts, several_clients
from tests import benchbase
from tests.clients_elsewhere import CLIENTS, CLUSTER, Elsewhere
from tests.fakes import FakePlatform, Talk, fake_world
from tests.plans import a_profile, a_workload

SYSBENCH = sysbench.Sysbench()
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
    (out / "sysbench.out").write_text(
        f"sysbench 1.0.20\n    transactions:    {total}   (1.00)\n"
    )
    return out


def noted(out: Path, names: Sequence[str], **more: Any) -> None:
    notes = {
        name: {"threads": 1, "began_s": 1.0, "shifted_s": 0.0, **more} for name in names
    }
    (out / "clients.json").write_text(json.dumps(notes))


@given(ROWS, st.lists(st.integers(0, 2), min_size=60, max_size=60))
@settings(max_examples=40, deadline=None)
def test_however_records_are_split_among_clients_they_are_those_of_one(
    rows: list[Row], owners: list[int]
) -> None:
    parts = [
        [row for row, owner in zip(rows, owners, strict=False) if owner == k]
        for k in (0, 1, 2)
    ]
    window = (1e9 + 5.0, 1e9 + 15.0)
    workload = replace(a_workload(), threads=3)
    with TemporaryDirectory() as folder:
        out = Path(folder)
        one = SYSBENCH.read(
            workload, left(out / "one", parts, arrival_rate_per_s=30.0), *window
        )
        for client, part in zip(CLIENTS, parts, strict=True):
            left(out / client.name, [part], arrival_rate_per_s=10.0)
        noted(out, [client.name for client in CLIENTS])
        together = several_clients.read(SYSBENCH, workload, out, *window)
        merged, of_one = plain(together.latencies), plain(one.latencies)
    assert len(of_one) == len(rows)
    pd.testing.assert_frame_equal(merged, of_one)
    assert together.measurements == one.measurements
    pd.testing.assert_frame_equal(together.intervals, one.intervals)
    known, expected = together.facts.recorded(), one.facts.recorded()
    clients = known.pop("clients")
    assert known.pop("start_skew_s") == 0.0
    assert known == expected
    assert [entry["recorded_transactions"] for entry in clients.values()] == list(
        map(len, parts)
    )


def test_one_client_elsewhere_leaves_its_files_in_the_runs_folder(
    tmp_path: Path,
) -> None:
    """Only several have a folder each."""
    row = (10**18, 5, 0, 0, 0, 0, 0)
    left(tmp_path, [[row]])
    noted(tmp_path, ["client-1"])
    window_s = (1e9 - 1, 1e9 + 1)
    result = several_clients.read(SYSBENCH, a_workload(), tmp_path, *window_s)
    assert result.facts.recorded_transactions == 1
    assert list(result.facts.clients) == ["client-1"]


def plain(tables: Any) -> pd.DataFrame:
    """In one order, whatever rows with the same start were found first."""
    text: pd.DataFrame = pd.concat(tables).astype({"type": str, "sqlstate": str})
    return text.sort_values(list(text.columns), ignore_index=True)


def test_times_of_a_client_whose_clock_is_ahead_are_brought_back(
    tmp_path: Path,
) -> None:
    row = (10**18, 5, 0, 0, 0, 0, 0)
    ahead = (10**18 + 3 * 10**9, *row[1:])
    left(tmp_path / "client-1", [[row]])
    left(tmp_path / "client-2", [[ahead]])
    notes = {
        "client-1": {"began_s": 1e9, "shifted_s": 0.0},
        "client-2": {"began_s": 1e9 + 0.25, "shifted_s": 3.0},
    }
    (tmp_path / "clients.json").write_text(json.dumps(notes))
    result = several_clients.read(SYSBENCH, a_workload(), tmp_path, 1e9 - 1, 1e9 + 1)
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
    two = several_clients.read(generator, workload, tmp_path, *window)
    counted = (
        "transactions",
        "nopm",
        "rollbacks",
        "failures",
        "retries",
        "throughput_per_s",
    )
    before, after = (
        {(m.metric, m.scope): m.value for m in result.measurements}
        for result in (one, two)
    )
    assert before.keys() <= after.keys()  # twice as many have more percentiles
    for key, value in before.items():
        assert after[key] == pytest.approx(2 * value if key[0] in counted else value)
    assert two.facts.more["outcomes_known"] is True
    assert two.facts.recorded_transactions == 2 * (facts.recorded_transactions or 0)


# ------------------------------------------------------------------ shares


@pytest.mark.parametrize(
    ("threads", "count", "each"), [(7, 3, [3, 2, 2]), (4, 4, [1, 1, 1, 1])]
)
def test_threads_and_rate_are_shared_whole(
    threads: int, count: int, each: list[int]
) -> None:
    workload = replace(
        a_workload(), threads=threads, options={"seed": 1, "arrival_rate": 100.0}
    )
    shares = list(client_shares.shares(workload, count))
    assert [one.threads for one in shares] == each
    rates = [float(one.options["arrival_rate"]) for one in shares]
    assert sum(rates) == pytest.approx(100.0)
    assert rates == pytest.approx([100.0 * own / threads for own in each])
    assert {one.options["seed"] for one in shares} == {1}


def test_terminals_of_benchbase_that_think_are_shared_whole() -> None:
    workload = benchbase.WORKLOAD
    thinking = replace(
        workload, options={**workload.options, "think": "spec"}, threads=3
    )
    alone = config.settings(thinking).terminals
    each = [
        config.settings(one, part, 3).terminals
        for part, one in enumerate(client_shares.shares(thinking, 3), start=1)
    ]
    assert sum(each) == alone and max(each) - min(each) <= 1


def test_a_load_that_several_clients_cannot_carry_is_refused() -> None:
    spec = replace(a_profile().cluster, clients=3)
    enough = replace(a_workload(), threads=3)
    several_clients.check(SYSBENCH, enough, spec)
    several_clients.check(BenchBase(), enough, spec)
    several_clients.check(SysbenchStock(), enough, replace(spec, clients=1))
    for generator, workload, what in (
        (SysbenchStock(), enough, "keeps no record of each transaction"),
        (SYSBENCH, a_workload(), "it has 2 threads"),
    ):
        with pytest.raises(UsageError, match=what):
            several_clients.check(generator, workload, spec)


# ------------------------------------------------------------------ one run


class Load:
    """A load generator whose clients do what `carry` says."""

    name = "sysbench"

    def __init__(
        self, carry: Callable[[Share, Workload, World], tuple[Phase, Phase]]
    ) -> None:
        self._carry = carry

    def run(self, load: ClientLoad) -> tuple[Phase, Phase]:
        assert load.share is not None, "there are several clients"
        return self._carry(load.share, load.workload, load.world)

    def read(
        self, workload: Workload, out: Path, start_s: float, end_s: float
    ) -> Result:
        raise NotImplementedError

    def records(self, out: Path) -> tuple[Any, GeneratorFacts]:
        raise NotImplementedError

    def merged(self, several: Sequence[Any], shifts_s: Sequence[float]) -> Any:
        raise NotImplementedError

    def result(
        self, workload: Workload, left: Recorded, start_s: float, end_s: float
    ) -> Result:
        raise NotImplementedError


def carried(load: Load, world: World, out: Path) -> tuple[Phase, Phase]:
    workload = replace(a_workload(), threads=6)
    generator: Any = load
    whole = ClientLoad(workload, CLUSTER, CLIENTS[0], out, world)
    return several_clients.run(generator, whole, CLIENTS)


def test_all_begin_at_one_moment_and_only_what_all_measured_counts(
    tmp_path: Path,
) -> None:
    platform = Elsewhere(ahead_s={"t-client-2": 100.0})
    windows: list[float] = []
    world = fake_world(platform=platform, clock=platform.clock)
    world = replace(world, window_begins=windows.append)
    firsts: dict[int, int] = {}
    begun_s: dict[int, float] = {}

    def carry(share: Share, workload: Workload, own: World) -> tuple[Phase, Phase]:
        firsts[share.number] = share.first_thread
        start_s = begun_s[share.number] = share.begin()
        middle_s = (
            start_s + workload.warmup_s + 0.1 * share.number
        )  # each is a little later
        own.window_begins(middle_s)
        return Phase("warm-up", start_s, middle_s), Phase(
            "measure", middle_s, start_s + 5.0
        )

    warmup, measure = carried(Load(carry), world, tmp_path)
    assert firsts == {1: 0, 2: 2, 3: 4}
    assert (
        begun_s[1] == begun_s[3] == pytest.approx(begun_s[2] - 100.0, abs=0.06)
    )  # by its own
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


def test_the_window_of_a_steady_warm_up_begins_when_all_are_steady_at_once(
    tmp_path: Path,
) -> None:
    platform = Elsewhere(ahead_s={"t-client-2": 100.0})
    world = fake_world(platform=platform, clock=platform.clock)
    in_turn = [threading.Event() for _ in range(4)]
    said: list[tuple[int, float | None]] = []

    def carry(share: Share, workload: Workload, own: World) -> tuple[Phase, Phase]:
        start_s = share.begin()
        # The first is steady before the second is, and no more when the third becomes so.
        for turn, number, steady in (
            (0, 1, True),
            (1, 2, True),
            (2, 1, False),
            (3, 3, True),
        ):
            if share.number == number:
                if turn:
                    in_turn[turn - 1].wait(30)
                said.append((number, share.agree(steady)))
                in_turn[turn].set()
        in_turn[3].wait(30)
        while (all_steady_s := share.agree(True)) is None:
            pass
        return Phase("warm-up", start_s, all_steady_s), Phase(
            "measure", all_steady_s, start_s + 50
        )

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

    with pytest.raises(
        LoadError, match=r"^client-2: sysbench ended with exit code 1$"
    ) as raised:
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

    with pytest.raises(
        LoadError, match=r"never measured at the same time: .* 195\.0 s"
    ):
        carried(Load(carry), fake_world(platform=Elsewhere()), tmp_path)


def test_steps_of_the_first_and_messages_of_all_are_shown_with_their_client(
    tmp_path: Path,
) -> None:
    def carry(share: Share, workload: Workload, client: World) -> tuple[Phase, Phase]:
        client.progress.step(f"step {share.number}")
        client.progress.note(f"note {share.number}")
        client.progress.warn(f"warning {share.number}")
        return Phase("warm-up", 1.0, 2.0), Phase("measure", 2.0, 100.0)

    world = fake_world(platform=Elsewhere())
    carried(Load(carry), world, tmp_path)
    shown: Any = world.progress
    assert shown.steps == ["client-1 of 3: step 1"]
    texts: list[str] = []
    for number in (1, 2, 3):
        texts.append(f"client-{number}: note {number}")
        texts.append(f"client-{number}: warning {number}")
    assert sorted(shown.said) == texts


def test_the_throughput_of_all_clients_is_told_when_the_first_reports(
    tmp_path: Path,
) -> None:
    """One client after the other, from the last on."""
    told: list[float] = []
    turns = {number: threading.Event() for number in (0, 1, 2, 3)}
    turns[3].set()

    def carry(share: Share, workload: Workload, client: World) -> tuple[Phase, Phase]:
        turns[share.number].wait(10)
        client.throughput_seen(10.0 * share.number)
        turns[share.number - 1].set()
        return Phase("warm-up", 1.0, 2.0), Phase("measure", 2.0, 100.0)

    world = replace(fake_world(platform=Elsewhere()), throughput_seen=told.append)
    carried(Load(carry), world, tmp_path)
    assert told == [60.0]


def test_facts_of_all_clients_are_sums_or_what_all_say() -> None:
    shared = {"payload": "read", "ends_with_work": True}
    one = GeneratorFacts.read(
        {
            **shared,
            "recorded_transactions": 3.0,
            "unstarted": 1.0,
            "warmup_s": 20.0,
            "bytes_per_transaction": 100.0,
            "warmup_steady": True,
            "began_s": 12.0,
            "woke_late_avg_s": 0.5,
            "histogram": [1, 2],
            "version": "1",
        }
    )
    two = GeneratorFacts.read(
        {
            **shared,
            "recorded_transactions": 4.0,
            "unstarted": 2.0,
            "warmup_s": 30.0,
            "bytes_per_transaction": 90.0,
            "warmup_steady": False,
            "histogram": [10, 20],
            "version": "2",
        }
    )
    notes = {
        "a": {"began_s": 10.0, "shifted_s": 3.0},
        "b": {"began_s": 11.5, "shifted_s": 0.0},
    }
    merged = merged_facts.one_of({"a": one, "b": two}, notes, {"histogram": "sum"})
    assert (merged.recorded_transactions, merged.unstarted) == (7.0, 3.0)
    assert (merged.warmup_s, merged.bytes_per_transaction) == (30.0, 100.0)
    assert (merged.warmup_steady, merged.ends_with_work) == (False, True)
    assert (merged.payload, merged.woke_late_avg_s) == ("read", None)
    assert merged.more["histogram"] == [11, 22]
    assert merged.version == "a 1, b 2"
    # Where a client says when its last thread began, that counts, by this computer's clock.
    assert merged.start_skew_s == 2.5
    assert merged.clients["a"]["began_s"] == 9.0
    assert merged.clients["b"]["recorded_transactions"] == 4.0


def test_a_mean_of_several_clients_is_weighted_and_no_number_is_summed_unasked() -> (
    None
):
    """A share or a mean that is summed over clients is wrong, and nobody sees it."""
    one = GeneratorFacts(
        woke_late_transactions=1.0,
        woke_late_avg_s=0.2,
        woke_late_most_s=0.3,
        served_of_asked=1.0,
        arrival_rate_per_s=30.0,
        more={"busy_share": 0.9, "cores": 4},
    )
    two = GeneratorFacts(
        woke_late_transactions=3.0,
        woke_late_avg_s=0.4,
        woke_late_most_s=0.5,
        served_of_asked=0.5,
        arrival_rate_per_s=10.0,
        more={"busy_share": 0.8, "cores": 4},
    )
    note = {"began_s": 1.0, "shifted_s": 0.0}
    merged = merged_facts.one_of({"a": one, "b": two}, {"a": note, "b": note}, {})
    assert merged.woke_late_transactions == 4.0
    assert merged.woke_late_avg_s == pytest.approx(0.35)
    assert merged.woke_late_most_s == 0.5
    assert merged.arrival_rate_per_s == 40.0
    assert merged.served_of_asked == pytest.approx(0.875)
    assert merged.more == {"busy_share": {"a": 0.9, "b": 0.8}, "cores": 4}


def test_a_number_of_which_a_client_knows_no_bound_is_unknown_in_the_sum() -> None:
    one = GeneratorFacts(more={"committed": [None, 5]})
    two = GeneratorFacts(more={"committed": [1, 2]})
    note = {"began_s": 1.0, "shifted_s": 0.0}
    notes = {"a": note, "b": note}
    rules: merged_facts.FactRules = {"committed": "sum"}
    merged = merged_facts.one_of({"a": one, "b": two}, notes, rules)
    assert merged.more == {"committed": [None, 7]}


def test_each_fact_of_a_generator_has_its_rule_for_several_clients() -> None:
    named = {field.name for field in fields(GeneratorFacts)} - {"more"}
    assert set(merged_facts.RULES) == named, "say there how clients' values become one"
    for rule in merged_facts.RULES.values():
        if isinstance(rule, WeightedMean):
            assert merged_facts.RULES[rule.weight] == "sum"


# ------------------------------------------------------------------ one client on another machine


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
    platform = Writes(
        answer=lambda _, argv: "Threads started!\n" if "run" in argv else ""
    )
    world = fake_world(platform=platform)
    share = Share(2, 3, first_thread=4, begin=lambda: 2_000.0, agree=lambda _: None)
    phases = SYSBENCH.run(
        ClientLoad(a_workload(), CLUSTER, CLIENTS[1], tmp_path, world, share)
    )
    assert [(one.start_s, one.end_s) for one in phases] == [(2000, 2001), (2001, 2005)]
    command = shlex.split((tmp_path / "command.txt").read_text())
    own = ("--first-thread=4", "--part=2/3", "--begins-file=/tmp/tierbench-begins")
    assert set(own) <= set(command)
    (talk,) = platform.talks
    assert (talk.container, talk.argv[-1]) == ("t-client-2", "/tmp/tierbench-begins")
    assert talk.sent == ["2000.000000 2005.000000"]
    assert re.search(
        r"--time=125\b", " ".join(command)
    )  # at most, if the others keep it waiting
