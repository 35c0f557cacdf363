"""Every second of a run belongs to a phase, whatever becomes of the run.

Method: fake parts on a clock that goes on by a second with each word of their log.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import pytest

from orchestrator.errors import GateError, NodeError, RunError
from orchestrator.model import Doubt, Record
from orchestrator.powers import ContainerLimits
from orchestrator.run.window import clock_steps
from orchestrator.system import unfinished_runs
from tests.clocks import SetClock
from tests.fake_parts import DOWN
from tests.fakes import FakeClock, FakeContainer, FakePlatform, Log
from tests.plans import a_plan
from tests.unit.run.conftest import Make

CHECKED = 4  # words before the first run
FEW_S = 0.01
NOTHING: Mapping[str, BaseException] = {}
AROUND = (
    "disks of premium up",
    "database up",
    "begin measuring",
    "run point-select",
    "verify",
)


class Slow(Log):
    """A log whose words take a second each; `said_s`: when each was said, the last time."""

    def __init__(self, clock: FakeClock, broken: Mapping[str, BaseException]) -> None:
        super().__init__(broken=dict(broken))
        self._clock, self.said_s = clock, dict[str, float]()

    def say(self, word: str) -> None:
        self.said_s[word] = self._clock.now()
        self._clock.sleep(1.0)
        super().say(word)


def phased_run(
    make: Make, restores: bool = True, broken: Mapping[str, BaseException] = NOTHING
) -> tuple[Slow, Record]:
    clock = FakeClock()
    log = Slow(clock, broken)
    (record,) = make(log, clock, restores=restores).execute()
    return log, record


def lengths(record: Record) -> list[tuple[str, int]]:
    """The phases in order, with their seconds."""
    return [(phase.name, round(phase.duration_s)) for phase in record.phases]


@pytest.mark.parametrize(
    ("restores", "broken", "outcome"),
    [
        (True, {}, "done"),
        (False, {}, "done"),
        *(
            (True, {word: NodeError("node-1 died")}, "failed")
            for word in ("database up", "warm")
        ),
        *(
            (True, {word: RunError("no")}, "failed")
            for word in ("run point-select", "verify")
        ),
        (True, {"disks of premium down": RunError("no answer")}, "done"),
    ],
)
def test_phases_cover_a_run_from_begin_to_end(
    make: Make, restores: bool, broken: dict[str, BaseException], outcome: str
) -> None:
    log, record = phased_run(make, restores, broken)
    assert record.outcome == outcome
    begin_s, end_s = log.said_s[log.words[CHECKED]], log.said_s[log.words[-1]] + 1.0
    times_s = [
        time_s for phase in record.phases for time_s in (phase.start_s, phase.end_s)
    ]
    assert times_s[0] == pytest.approx(begin_s, abs=FEW_S)
    assert times_s[-1] == pytest.approx(end_s, abs=FEW_S)
    assert times_s[1:-1:2] == pytest.approx(times_s[2::2], abs=FEW_S)
    assert all(phase.duration_s >= 0 for phase in record.phases)


def test_checking_and_taking_down_have_phases_of_their_own(make: Make) -> None:
    _, record = phased_run(make)
    names = ["load", "prepare", "warm-up", "measure", "check", "read", "teardown"]
    assert [name for name, _ in lengths(record)] == names
    last = dict(lengths(record))
    assert (last["check"], last["read"], last["teardown"]) == (3, 1, len(DOWN))


def test_what_a_failed_load_took_is_no_preparing(make: Make) -> None:
    _, record = phased_run(make, broken={"run point-select": NodeError("node-1 died")})
    assert lengths(record)[-2:] == [("warm-up", 1), ("teardown", len(DOWN))]


def test_limits_are_in_force_while_the_load_runs_and_lifted_otherwise(
    make: Make,
) -> None:
    log, _ = phased_run(make)
    begin = log.words.index("disks of premium up")
    own = [word for word in log.words[begin:] if "limits" in word or word in AROUND]
    assert own == [
        *("disks of premium up", "limits lifted", "database up", "begin measuring"),
        *(
            "limits set",
            "run point-select",
            "limits read back",
            "limits lifted",
            "verify",
        ),
    ]


def test_a_load_of_the_run_is_not_limited(make: Make) -> None:
    log, _ = phased_run(make, restores=False)
    assert log.words.index("limits lifted") < log.words.index("load")
    assert log.words.index("settle") < log.words.index("limits set")


def test_a_disk_that_keeps_its_limits_is_only_slower(make: Make) -> None:
    _, record = phased_run(
        make, broken={"limits lifted": RunError("the disk did not answer")}
    )
    assert record.outcome == "done"


@pytest.mark.parametrize("word", ["limits set", "limits read back"])
def test_a_disk_without_its_limits_has_no_result(make: Make, word: str) -> None:
    _, record = phased_run(
        make, broken={word: GateError("the disk enforces iops=0, expected 1100")}
    )
    assert (record.outcome, record.measurements) == ("failed", ())
    assert record.failure == "the disk enforces iops=0, expected 1100"


def test_limits_that_a_person_changed_are_a_doubt_and_no_failure(make: Make) -> None:
    """What `tiers set` has changed is in the record, which is why it is not read back."""

    class Changing(Log):
        def say(self, word: str) -> None:
            super().say(word)
            if word == "run point-select":
                change = {"time_s": 1.0, "disk": "d", "set": {"iops": 3000.0}}
                unfinished_runs.keep_limit_change(
                    campaign.results / "latest/runs/01-premium-point-select-r1", change
                )

    campaign = make(
        Changing(broken={"limits read back": GateError("iops=3000, expected 1100")})
    )
    (record,) = campaign.execute()
    assert record.outcome == "done" and record.facts["limit_changes"]


class Liftable(FakeContainer):
    @property
    def limits(self) -> ContainerLimits:
        return ContainerLimits(self.lift_limits, self.limit_cpus, self.find_cpus)

    def lift_limits(self) -> None:
        assert isinstance(self.platform, Lifting)
        self.platform.log.say(f"{self.name} may take all")

    def limit_cpus(self, cpus: float | None) -> None:
        """Nothing: no test changes them."""

    def find_cpus(self) -> float | None:
        return None


class Lifting(FakePlatform):
    """Its containers' limits of processors and memory can be lifted."""

    def __init__(self, log: Log) -> None:
        super().__init__(log)
        self.log = log

    def container(self, name: str) -> Liftable:
        return Liftable(name, self)


@pytest.mark.parametrize("error", [None, RunError("the engine refuses it")])
def test_nodes_may_take_all_while_they_are_checked(
    make: Make, error: RunError | None
) -> None:
    log = Log(broken={"node-1 may take all": error} if error else {})
    campaign = make(log)
    campaign.world = replace(campaign.world, platform=Lifting(log))
    (record,) = campaign.execute()
    assert record.outcome == "done"
    begin = log.words.index("limits read back")
    assert log.words[begin:][:4] == [
        *("limits read back", "limits lifted", "node-1 may take all", "verify")
    ]


@pytest.mark.parametrize(
    ("set_by_s", "count"), [(1.0, 0), (-1.0, 0), (1.25, 1), (-1.25, 1)]
)
def test_a_clock_that_was_set_in_a_run_is_doubted(set_by_s: float, count: int) -> None:
    """In 1,000 s it may be slewed by half a second, and half a second more is no step."""
    clock = SetClock(1_000.0)
    doubts: list[Doubt] = []
    with clock_steps.clock_watched(clock, a_plan().runs[0], doubts):
        clock.sleep(1_000.0)
        clock.ahead_s = set_by_s
    assert len(doubts) == count
