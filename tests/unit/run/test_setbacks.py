"""What goes wrong in the middle of a campaign: the record says so, and the rest goes on.

Method: fake parts that raise once or always at a given word of the log; the records left are read.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from orchestrator.errors import (
    NodeError,
    RunError,
    TierbenchError,
    UnavailableError,
    UsageError,
    VoidError,
)
from orchestrator.model import Node, Record, Volume
from orchestrator.parts import Disks
from orchestrator.powers import ContainerState
from orchestrator.system import campaign_writing
from orchestrator.tier import Tier
from tests.clocks import SetClock
from tests.fake_parts import DOWN, FakeGenerator, FakeTier
from tests.fakes import Log
from tests.plans import a_plan
from tests.unit.run.conftest import GONE, Failing, Make


def kinds(record: Record) -> list[str]:
    return [doubt.kind for doubt in record.doubts]


def raising(error: Exception) -> Callable[..., None]:
    def function(*_: Any) -> None:
        raise error

    return function


# ------------------------------------------------------------------ errors of any kind


@pytest.mark.parametrize(
    "error",
    [
        OSError(28, "No space left on device"),
        KeyError("95.000000"),
        ValueError("not JSON"),
        TypeError("None"),
        MemoryError(),
        RuntimeError("odd"),
    ],
    ids=lambda error: type(error).__name__,
)
@pytest.mark.parametrize("word", ["warm", "verify", "read"])
def test_an_error_that_is_not_ours_fails_the_run(
    make: Make, tmp_path: Path, word: str, error: Exception
) -> None:
    campaign = make(Failing(word, error, (1,)))
    failed, _ = campaign.execute(repetitions=2)
    assert campaign.outcomes() == ["failed", "done"]
    assert type(error).__name__ in str(failed.failure)
    assert failed.measurements == ()
    (trace,) = (tmp_path / "results" / "latest" / "runs").glob("01-*/raw/failure.txt")
    assert (
        "Traceback" in trace.read_text() and type(error).__name__ in trace.read_text()
    )


SERVER = Node("disk-node-1", "disk", container="c-disk-node-1")


class ServedTier(FakeTier):
    """Its disk has a server."""

    @contextmanager
    def attached(self, tier: Tier, *rest: Any) -> Iterator[Disks]:
        with super().attached(tier, *rest) as disks:
            yield replace(disks, volumes=(replace(disks.volumes[0], server=SERVER),))

    @contextmanager
    def loading(self, *arguments: Any) -> Iterator[tuple[Volume, ...]]:
        with super().loading(*arguments) as volumes:
            yield (replace(volumes[0], server=SERVER),)


def test_a_full_disk_of_the_host_is_the_cause_that_is_named_and_secrets_are_in_no_file(
    make: Make, tmp_path: Path
) -> None:
    secrets = "of postgresql://ann:pl4/nted@h/db PGPASSWORD=pl4nted"
    error = NodeError("node-1 ended", evidence=secrets)
    log = Failing("warm", error, (1,))
    campaign = make(log)
    tiers = {"emulated": ServedTier(log, restores=True)}
    campaign.parts = replace(campaign.parts, tiers=tiers)
    platform: Any = campaign.world.platform
    platform.said["c-disk-node-1"] = (
        '{"device": "/dev/loop7"}\n'
        "tierdisk: the host cannot store or read the image: No space left on device\n"
    )
    platform.said["c-node-1"] = "database_password: 'pl4nted'"
    failed, _ = campaign.execute(repetitions=2)
    cause = (
        "disk-node-1: the host cannot store or read the image: No space left on device"
    )
    assert failed.failure == f"node-1 ended; {cause}"
    files = [file for file in tmp_path.rglob("*") if file.is_file()]
    assert any(file.name == "failure.txt" for file in files)
    assert [file for file in files if b"nted" in file.read_bytes()] == []


@pytest.mark.parametrize(
    ("word", "times"),
    [("database up", 1), ("database up", 2), ("warm", 1)],
    ids=["loading", "starting", "prepared"],
)
def test_a_disk_that_ended_is_told_before_the_node_that_died_of_it(
    make: Make, word: str, times: int
) -> None:
    """A node whose disk is gone says `Input/output error`, and ends with exit 1."""
    death = NodeError("node-1 died: exited (exit 1)", advice="look", evidence="a line")
    log = Failing(word, death, (times,))
    campaign = make(log)
    tiers = {"emulated": ServedTier(log, restores=True)}
    campaign.parts = replace(campaign.parts, tiers=tiers)
    platform: Any = campaign.world.platform
    platform.states["c-disk-node-1"] = ContainerState(
        "exited (exit 137)", exit_code=137
    )
    failed = campaign.execute(repetitions=1)[0]
    assert failed.failure == (
        "the disk of node-1 ended, exited (exit 137); node-1 died: exited (exit 1)"
    )
    # Nodes start from the copied data: it was not these that were bad.
    assert "not restored" not in kinds(failed)


@pytest.mark.parametrize(
    "state",
    [
        ContainerState("running", is_running=True),
        ContainerState("on a machine that does not answer", is_lost=True),
        ContainerState("cut off from its network"),
    ],
    ids=lambda state: state.words,
)
def test_no_disk_is_blamed_that_is_not_seen_to_have_ended(
    make: Make, state: ContainerState
) -> None:
    log = Failing("warm", NodeError("node-1 died"), (1,))
    campaign = make(log)
    tiers = {"emulated": ServedTier(log, restores=True)}
    campaign.parts = replace(campaign.parts, tiers=tiers)
    platform: Any = campaign.world.platform
    platform.states["c-disk-node-1"] = state
    assert campaign.execute(repetitions=1)[0].failure == "node-1 died"


@pytest.mark.parametrize(
    "error",
    [
        GONE,
        UsageError("the mark is another's"),
        TierbenchError("odd"),
        RunError("late"),
    ],
)
def test_an_error_of_ours_fails_the_run_with_its_text(
    make: Make, error: TierbenchError
) -> None:
    campaign = make(Failing("warm", error, (2,)))
    assert campaign.execute(repetitions=4)[1].failure == error.what
    assert campaign.outcomes() == ["done", "failed", "done", "done"]


def test_what_is_wrong_before_anything_starts_ends_the_campaign(make: Make) -> None:
    campaign = make(Log(broken={"check database": UsageError("no")}))
    with pytest.raises(UsageError):
        campaign.execute()
    assert not campaign.results.exists()


def test_between_a_failed_run_and_the_next_leftovers_are_removed(make: Make) -> None:
    campaign = make(Failing("warm", NodeError("died"), (1,)))
    campaign.execute(repetitions=2)
    words = campaign.log.words
    first_down = words.index("disks of premium down")
    assert "sweep" in words[first_down:]
    assert words.index("sweep", 1) < words.index("disks of premium up", first_down)


def test_no_sweep_where_nothing_went_wrong(make: Make) -> None:
    campaign = make()
    campaign.execute(repetitions=2)
    assert campaign.log.words.count("sweep") == 1


# ------------------------------------------------------------------ three in a row


def test_three_runs_in_a_row_with_one_cause_end_the_campaign(make: Make) -> None:
    error = NodeError("tierbench-1f-4-node-2 died: exited (137) after 12.5 s")
    campaign = make(Log(broken={"warm": error}))
    with pytest.raises(RunError, match="three runs in a row") as ended:
        campaign.execute(repetitions=5)
    assert "exited (137)" in ended.value.what
    assert "analyze" in ended.value.advice
    assert campaign.outcomes() == ["failed"] * 3


def test_what_is_unavailable_ends_as_unavailable(make: Make) -> None:
    with pytest.raises(UnavailableError, match="three runs in a row"):
        make(Log(broken={"warm": GONE})).execute(repetitions=4)


def test_the_advice_of_the_cause_is_in_the_last_message(make: Make) -> None:
    gone = UnavailableError("not accepted", advice="sign in again")
    with pytest.raises(UnavailableError) as ended:
        make(Log(broken={"warm": gone})).execute(repetitions=4)
    assert ended.value.advice.startswith("sign in again; then go on: `tierbench resume")


def test_unlike_causes_are_not_one(make: Make) -> None:
    class Odd(Log):
        def say(self, word: str) -> None:
            super().say(word)
            if word == "warm":
                raise RunError("abcdef"[self.words.count("warm")] + " is wrong")

    campaign = make(Odd())
    campaign.execute(repetitions=5)
    assert campaign.outcomes() == ["failed"] * 5


def test_a_run_that_is_done_begins_the_count_anew(make: Make) -> None:
    campaign = make(Failing("warm", NodeError("died"), (1, 2, 4, 5)))
    campaign.execute(repetitions=6)
    assert campaign.outcomes() == [
        "failed",
        "failed",
        "done",
        "failed",
        "failed",
        "done",
    ]


TWO_LOADS = a_plan(("a", "b", "c"), ("insert", "point-select"), repetitions=2)


def test_one_workload_that_always_fails_does_not_cost_the_others(make: Make) -> None:
    """Its runs on all tiers stand in a row."""
    campaign = make(Log(broken={"run insert": NodeError("died")}))
    campaign.execute(plan=TWO_LOADS)
    assert campaign.outcomes() == [*["failed"] * 3, *["done"] * 3] * 2


def test_the_same_cause_in_two_workloads_ends_the_campaign(make: Make) -> None:
    campaign = make(Log(broken={"warm": NodeError("died")}))
    with pytest.raises(RunError, match="three runs in a row"):
        campaign.execute(plan=TWO_LOADS)
    assert len(campaign.records()) == 4


# ------------------------------------------------------------------ taking down

LOADS_TOO = (
    "client down",
    "database down",
    "network down",
)  # already when the data are loaded


@pytest.mark.parametrize(
    ("word", "error"),
    [
        *((word, OSError("no space")) for word in DOWN),
        *((word, RunError("in use")) for word in DOWN if not word.startswith("logs")),
    ],
)
def test_what_fails_while_taking_down_is_a_doubt(
    make: Make, word: str, error: Exception
) -> None:
    campaign = make(Failing(word, error, (2 if word in LOADS_TOO else 1,)))
    first, second = campaign.execute(repetitions=2)
    assert campaign.outcomes() == ["done", "done"]
    assert first.measurements[0].value == 42.0
    assert (kinds(first), kinds(second)) == (["teardown"], [])
    assert str(error) in first.doubts[0].text
    swept = campaign.log.words.count("sweep")
    assert swept == 2, "what may be left is removed before the next run"


def test_what_voids_a_measurement_fails_the_run_however_late(make: Make) -> None:
    """Such as a real disk that is found not to be there any more."""
    campaign = make(
        Failing("disks of premium down", VoidError("the disk vanished"), (1,))
    )
    first, _ = campaign.execute(repetitions=2)
    assert campaign.outcomes() == ["failed", "done"]
    assert (first.failure, first.measurements) == ("the disk vanished", ())


def fail_to_write(
    monkeypatch: pytest.MonkeyPatch, function: str, error: Exception
) -> None:
    monkeypatch.setattr(campaign_writing, function, raising(error))


def test_tables_that_cannot_be_made_fail_the_run(
    make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    fail_to_write(monkeypatch, "save_run", TypeError("no table"))
    (record,) = make().execute()
    assert (record.outcome, record.failure) == ("failed", "TypeError: no table")


def test_what_stays_is_a_doubt_of_the_runs_beside_it(make: Make) -> None:
    campaign = make(Failing("client down", RunError("in use"), (2,)))
    sweeps: list[int] = []

    def sweep(only_list: bool = False) -> tuple[str, ...]:
        sweeps.append(1)
        if len(sweeps) in (2, 3):
            raise RunError("what an earlier run left could not be removed: volume v")
        return ()

    campaign.world.platform.sweep = sweep  # type: ignore[method-assign]
    doubts = [kinds(record) for record in campaign.execute(repetitions=4)]
    assert campaign.outcomes() == ["done"] * 4
    assert doubts == [["teardown"], ["leftovers"], ["leftovers"], []]


def test_what_an_earlier_campaign_left_does_not_stop_the_start(make: Make) -> None:
    campaign, sweeps = make(), list[int]()

    def sweep(only_list: bool = False) -> tuple[str, ...]:
        sweeps.append(1)
        if len(sweeps) == 1:
            raise RunError("a namespace that ends could not be removed")
        return ()

    campaign.world.platform.sweep = sweep  # type: ignore[method-assign]
    doubts = [kinds(record) for record in campaign.execute(repetitions=2)]
    assert campaign.outcomes() == ["done"] * 2
    assert doubts == [["leftovers"], []]


def test_a_kill_while_taking_down_does_not_cost_the_run(
    make: Make, tmp_path: Path
) -> None:
    """The record is there before anything is taken down."""
    seen: list[bool] = []

    class Looking(Log):
        def say(self, word: str) -> None:
            super().say(word)
            if word == "database down" and "read" in self.words:
                (run,) = (tmp_path / "results").glob("*T*/runs/*")
                seen.append((run / "record.json").exists())

    make(Looking()).execute()
    assert seen == [True]


def test_an_interrupt_while_taking_down_leaves_the_run_done(make: Make) -> None:
    campaign = make(Failing("disks of premium down", KeyboardInterrupt(), (1,)))
    with pytest.raises(KeyboardInterrupt):
        campaign.execute(repetitions=2)
    assert campaign.outcomes() == ["done"]


# ------------------------------------------------------------------ names, clocks


def test_names_carry_the_run(make: Make) -> None:
    campaign = make()
    networks: list[str] = []
    inner = campaign.world.platform.network

    def network(name: str, nodes: int, addresses: Sequence[str] = ()) -> Any:
        networks.append(name)
        return inner(name, nodes, addresses)

    campaign.world.platform.network = network  # type: ignore[method-assign]
    campaign.world = replace(campaign.world, scope="tierbench-1f2e3d")
    campaign.execute(repetitions=2)
    assert networks == [
        "tierbench-1f2e3d-1-load",
        "tierbench-1f2e3d-1",
        "tierbench-1f2e3d-2",
    ]


@pytest.mark.parametrize(
    ("step_s", "doubted"), [(-30.0, True), (7200.0, True), (0.2, False)]
)
def test_a_clock_that_was_set_while_measuring_is_a_doubt(
    make: Make, step_s: float, doubted: bool
) -> None:
    clock = SetClock(1_000.0)
    campaign = make(Log(), clock)

    class Setting(FakeGenerator):
        def run(self, *arguments: Any) -> Any:
            phases = super().run(*arguments)
            clock.ahead_s = step_s
            return phases

    setting = {"sysbench": Setting(campaign.log)}
    campaign.parts = replace(campaign.parts, load_generators=setting)
    (record,) = campaign.execute()
    assert kinds(record) == (["clock set"] if doubted else [])


def test_long_names_make_a_folder(make: Make) -> None:
    name = "\N{EARTH GLOBE AMERICAS}" * 62
    (record,) = make().execute(plan=a_plan((name,), (name.replace("A", "b"),)))
    assert record.outcome == "done"


@pytest.mark.parametrize("function", ["run_folder", "save_run"])
def test_results_that_cannot_be_written_end_the_campaign_with_words(
    make: Make, monkeypatch: pytest.MonkeyPatch, function: str
) -> None:
    no_space = OSError(28, "No space left on device")
    fail_to_write(monkeypatch, function, no_space)
    campaign = make()
    with pytest.raises(UnavailableError, match="No space left"):
        campaign.execute()
    words = campaign.log.words
    assert words.count("disks of premium up") == words.count("disks of premium down")
