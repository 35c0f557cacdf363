"""Two campaigns on one cluster of others: the second is refused, a dead one is not in the way.

Goal: nobody measures another's load, and nothing stays in the cluster. Method: the server of
tests/fake_existing.py; tests/integration/test_existing.py asks a real one.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from orchestrator.databases.existing import (
    declaration,
    lease as lease_module,
    left_behind,
    remembered,
)
from orchestrator.databases.existing.lease import Lease
from orchestrator.errors import GuardLostError, UnavailableError
from orchestrator.model import ClusterSpec
from orchestrator.parts import DatabaseAbilities
from orchestrator.powers import World
from orchestrator.run import experiment
from orchestrator.system import host
from tests.fake_existing import (
    CACHE,
    HOSTS,
    Server,
    a_cache,
    database,
    existing_world,
    running,
    spec,
)
from tests.fake_parts import FakeDatabase, fake_parts
from tests.fakes import Log, QuietProgress, fake_world
from tests.plans import a_plan

__all__ = ["a_cache"]  # each test has one of its own
COMMENT = "tierbench: which campaign is on this cluster"
OTHER = {"host": "vm-7", "campaign": "c9", "process": "another boot pid:[1] 7 7"}


def held_by(server: Server, **words: str) -> None:
    """Another campaign is on the cluster."""
    server.databases["tierbench_campaign"] = {"lease"}
    server.comments["tierbench_campaign"] = COMMENT
    server.lease = json.dumps({**OTHER, **words})


def reserved(server: Server, given: ClusterSpec) -> AbstractContextManager[None]:
    return database(server).reserved(given, existing_world())


def lease(server: Server) -> Lease:
    declared, _ = declaration.read(spec())
    return Lease(declared, server.connect, existing_world())


def ended_process() -> str:
    """The mark of a process of this machine that has ended."""
    code = "from orchestrator.system import host; print(host.process_mark())"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    return done.stdout.strip()


def test_the_second_tester_is_refused_whatever_its_database_is_called() -> None:
    server = Server()
    held_by(server)
    with (
        pytest.raises(UnavailableError) as raised,
        reserved(server, spec(database="mine", may_drop="mine")),
    ):
        pass
    assert (
        "campaign c9 on vm-7 is measuring the cluster at 10.0.0.11:5433"
        in raised.value.what
    )
    assert json.loads(server.lease) == OTHER, "it is still the first one's"
    assert remembered.leftovers(CACHE[-1]) == ()


def test_the_cluster_is_ours_for_the_whole_campaign_and_nothing_of_it_stays() -> None:
    server = Server()
    with reserved(server, spec()):
        assert json.loads(server.lease) == {
            "host": host.name(),
            "campaign": "c1",
            "process": host.process_mark(),
        }
        assert server.databases["tierbench_campaign"] == {"lease"}
        with running(server, spec()) as cluster:
            database(server).facts(cluster, existing_world())
        assert server.lease, "not only for one run"
    assert server.databases == {"yugabyte": set()} and not server.lease
    assert remembered.leftovers(CACHE[-1]) == ()


def test_two_profiles_of_one_cluster_share_it() -> None:
    server = Server()
    with reserved(server, spec()):
        with reserved(server, spec(database="second")):
            assert server.lease
        assert server.lease, "the first gives it back"
    assert not server.lease


@pytest.mark.parametrize("silent", [True, False])
def test_a_dead_tester_is_not_in_the_way(silent: bool) -> None:
    """Silent for long on another machine, or seen to be dead on this one."""
    server = Server(silent=silent)
    held_by(server, **({} if silent else {"process": ended_process()}))
    with reserved(server, spec()):
        assert json.loads(server.lease)["campaign"] == "c1"


def test_one_that_was_suspended_finds_another_there_and_its_run_fails() -> None:
    server = Server()
    with reserved(server, spec()), running(server, spec()) as cluster:
        held_by(server)
        with pytest.raises(GuardLostError, match="the campaign c9 on vm-7 took over"):
            database(server).facts(cluster, existing_world())
        with pytest.raises(GuardLostError, match="c9 on vm-7"), running(server, spec()):
            pass
    assert json.loads(server.lease) == OTHER, "and it is left alone at the end"


def test_a_cluster_that_another_has_taken_ends_the_campaign_at_the_next_beat() -> None:
    server, mine = Server(), existing_world()
    with database(server).reserved(spec(), mine):
        mine.platform.guard.beats.renew()
        held_by(server)
        with pytest.raises(GuardLostError, match="campaign c9 on vm-7"):
            mine.platform.guard.beats.renew()


def test_a_beat_makes_what_another_tester_has_dropped_at_that_moment() -> None:
    server = Server()
    with reserved(server, spec()):
        server.databases.pop("tierbench_campaign")
        server.lease = ""
        assert lease(server).take() is None
        assert json.loads(server.lease)["campaign"] == "c1"


def test_a_database_of_that_name_that_others_made_is_not_touched() -> None:
    server = Server(databases={"yugabyte": set(), "tierbench_campaign": {"payroll"}})
    with pytest.raises(UnavailableError, match="without tierbench's comment") as raised:
        reserved(server, spec()).__enter__()
    assert "yugabyte must be allowed" in raised.value.advice
    assert not [
        text for text in server.statements if text.startswith(("DROP", "CREATE"))
    ]
    held_by(server)
    server.databases["tierbench_campaign"].add("payroll")
    server.silent = True
    with reserved(server, spec()):
        pass
    assert server.databases["tierbench_campaign"] == {"payroll"}


def test_cleaning_takes_away_what_a_killed_campaign_has_left() -> None:
    server = Server()
    killed = reserved(server, spec())
    killed.__enter__()
    server.lease = json.dumps({**OTHER, "process": ended_process()})
    (line,) = left_behind.clean(existing_world(), server.connect, only_list=False)
    assert line.startswith("database tierbench_campaign at ") and line.endswith(
        "of campaign c1"
    )
    assert server.databases == {"yugabyte": set()}
    assert remembered.leftovers(CACHE[-1]) == ()


@pytest.mark.parametrize("marked", [True, False])
def test_one_killed_while_it_made_the_database_is_in_nobodys_way(marked: bool) -> None:
    """Before the comment, or between that and the table: the next tester takes it over."""
    server = Server(databases={"yugabyte": set(), "tierbench_campaign": set()})
    if marked:
        server.comments["tierbench_campaign"] = COMMENT
    else:
        oid = server.oid("tierbench_campaign")
        server.connection_limits[oid] = lease_module._BIRTH_NUMBER
    with reserved(server, spec()):
        assert json.loads(server.lease)["campaign"] == "c1"
        assert server.comments["tierbench_campaign"] == COMMENT
    assert server.databases == {"yugabyte": set()}


def test_an_empty_database_of_that_name_that_others_made_is_not_taken() -> None:
    """It was given our comment, and dropped at the end, because it was empty."""
    server = Server(databases={"yugabyte": set(), "tierbench_campaign": set()})
    with pytest.raises(UnavailableError, match="without tierbench's comment"):
        reserved(server, spec()).__enter__()
    assert "tierbench_campaign" in server.databases and not server.comments


@pytest.mark.parametrize("marked", [True, False])
def test_cleaning_takes_away_what_one_killed_while_it_made_the_database_left(
    marked: bool,
) -> None:
    server = Server()
    killed = reserved(server, spec())
    killed.__enter__()
    server.lease = ""
    server.databases["tierbench_campaign"].clear()
    if not marked:
        server.comments.clear()  # its connection limit is still there
    (line,) = left_behind.clean(existing_world(), server.connect, only_list=False)
    assert line.endswith("of campaign c1"), line
    assert server.databases == {"yugabyte": set()}
    assert remembered.leftovers(CACHE[-1]) == ()


@pytest.mark.parametrize("comment", [None, "payroll of vm-7"])
def test_cleaning_does_not_advise_to_drop_what_others_made_under_the_name(
    comment: str | None,
) -> None:
    server = Server()
    killed = reserved(server, spec())
    killed.__enter__()
    server.databases["tierbench_campaign"] = {"payroll"}
    server.comments = {"tierbench_campaign": comment} if comment else {}
    (line,) = left_behind.clean(existing_world(), server.connect, only_list=False)
    assert line.endswith(": left alone, because others made it") and "psql" not in line
    assert server.databases["tierbench_campaign"] == {"payroll"}
    assert remembered.leftovers(CACHE[-1]) == ()


def test_what_is_said_at_the_end_of_a_lease_that_stays_is_so() -> None:
    """`clean` drops it later, but not from under another campaign."""
    server, said = Server(), QuietProgress()
    with database(server).reserved(spec(), existing_world(said)):
        server.unreachable = HOSTS
    (text,) = said.said
    assert "`tierbench clean` drops it when no campaign is on the cluster" in text
    server.unreachable = ()
    held_by(server)
    (line,) = left_behind.clean(existing_world(), server.connect, only_list=False)
    assert line.endswith("left alone, because campaign c9 on vm-7 is on the cluster")


def test_cleaning_leaves_the_lease_of_a_campaign_that_lives() -> None:
    server = Server()
    killed = reserved(server, spec())
    killed.__enter__()
    held_by(server)
    (line,) = left_behind.clean(existing_world(), server.connect, only_list=False)
    assert line.endswith("left alone, because campaign c9 on vm-7 is on the cluster")
    assert json.loads(server.lease) == OTHER


def test_the_name_of_the_lease_is_not_that_of_a_database_to_measure() -> None:
    _, (mistake,) = declaration.read(spec(database="tierbench_campaign"))
    assert "take another name" in mistake.what


def test_a_campaign_keeps_the_cluster_from_before_its_first_run_to_its_end(
    tmp_path: Path,
) -> None:
    """And nothing is begun, nor any folder made, where another is there."""

    class Theirs(FakeDatabase):
        @property
        def abilities(self) -> DatabaseAbilities:
            return DatabaseAbilities(reserved=self.reserved)

        @contextmanager
        def reserved(self, _spec: ClusterSpec, _world: World) -> Iterator[None]:
            with log.bracket("cluster reserved"):
                yield

    log = Log()
    parts = replace(fake_parts(log), databases={"postgresql": Theirs(log)})
    here = fake_world(log, tmp_path / "cache")
    experiment.execute(a_plan(repetitions=2), parts, here, tmp_path / "results", {})
    words = [word for word in log.words if word.startswith(("cluster", "database up"))]
    assert words == [
        "cluster reserved up",
        *["database up"] * 3,
        "cluster reserved down",
    ]
    log.broken["cluster reserved up"] = UnavailableError(
        "another is there", advice="wait"
    )
    with pytest.raises(UnavailableError):
        experiment.execute(a_plan(), parts, here, tmp_path / "refused", {})
    assert not (tmp_path / "refused").exists()
