"""What `DB=auto` takes: a database that is known to work on this machine, whatever could be had.

Goal: a first campaign takes a path that was proven, and a database that does not come up never ends
it. Method: fake engine and parts; the plan that is left on disk is read back.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NoReturn

import pytest

from orchestrator.cli.common.app import App
from orchestrator.cli.common.options import Request
from orchestrator.cli.measure import campaign, plans
from orchestrator.cli.prepare import first_run
from orchestrator.databases.yugabytedb import checklist
from orchestrator.errors import NodeError, UnavailableError
from orchestrator.load_generators import load_generators
from orchestrator.model import ClusterSpec, Plan
from orchestrator.parts import CheckedFact, CheckState
from orchestrator.platforms.common.agent import AgentMachine
from orchestrator.powers import Machine, MachineFacts, World
from orchestrator.yugabyte import versions
from tests import ROOT
from tests.apps import an_app, said_by, with_parts
from tests.asked import Ask, ask
from tests.documented import documented_commands, examples
from tests.fake_parts import FakeDatabase, fake_parts
from tests.fakes import FakeClock, FakePlatform, Log, this_machine_has

__all__ = ["ask"]

ONE_TABLE = "HDFS and a store in one table"
OFFICIAL = "yugabytedb/yugabyte:2025.2.6.0-b111"
NAMES = [fact.name for fact in checklist.lines()]


class Engine(FakePlatform):
    """A Docker engine that has these images (tag → id) and says who it is."""

    def __init__(self, ids: dict[str, str], name: str = "this-machine") -> None:
        super().__init__(images=ids, registry=ids)
        self.name = name

    def facts(self) -> dict[str, str]:
        return {"ID": self.name}


@pytest.fixture
def engine() -> Engine:
    return Engine({OFFICIAL: "sha256:84"})


def asked(database: str = "auto", profiles: tuple[str, ...] = ("premium",)) -> Request:
    return Request(
        profiles=list(profiles),
        workloads=["insert"],
        database=database,
        scale="smoke",
        nodes=1,
    )


def databases(plan: Plan) -> list[str]:
    return [profile.cluster.database for profile in plan.profiles]


def test_copies_and_a_store_are_planned_in_one_campaign_as_documented(
    ask: Ask, tmp_path: Path
) -> None:
    """Each profile on what it says, or on what --db says: HDFS twice, and a store as it is."""
    (one_copy,) = examples("HDFS.md", ONE_TABLE)
    (my_store,) = examples("HDFS.md", "An object store by its URL")
    three_clients = my_store.replace(
        "database: existing", "database: existing\n  nodes: 3"
    )
    ((_, *words),) = documented_commands("HDFS.md", ONE_TABLE)
    profiles = words.index("--profiles") + 1
    for name, text in (("one-copy.yaml", one_copy), ("my-store.yaml", three_clients)):
        (tmp_path / name).write_text(text)
        words[profiles] = words[profiles].replace(name, str(tmp_path / name))
    planned = ask(words).plan
    clusters = [profile.cluster for profile in planned.profiles]
    assert [cluster.member for cluster in clusters] == ["hdfs", "hdfs", "store"]
    assert [cluster.replication_factor for cluster in clusters] == [3, 1, 1]
    assert [cluster.nodes for cluster in clusters] == [3, 3, 3]
    assert {run.workload for run in planned.runs} == {"hdfs-gen", "hdfs-scan"}


def findings(unconfirmed: dict[str, CheckState]) -> list[CheckedFact]:
    return [
        CheckedFact(name, "", unconfirmed.get(name, "confirmed"), "", False)
        for name in NAMES
    ]


@dataclass(frozen=True)
class Checking(App):
    """Its checklist has these findings; None: all is confirmed."""

    found: list[CheckedFact] | None = None

    def first_run(
        self, spec: ClusterSpec, world: World, listen: object = None
    ) -> Iterator[CheckedFact]:
        return iter(findings({}) if self.found is None else self.found)


def go_through(
    engine: Any, cache: Path, found: list[CheckedFact] | None = None
) -> list[str]:
    """The checklist, with these findings; what was said."""
    app = Checking(**vars(an_app(cache, engine, clock=FakeClock())), found=found)
    list(first_run.findings(app, None))
    return said_by(app)


STUDYS = str(ROOT / "profiles/study/premium.yaml")


@pytest.mark.parametrize(
    ("profile", "database", "notes"),
    [
        (STUDYS, "yugabytedb", 1),
        (STUDYS, "postgresql", 0),
        ("premium", "yugabytedb", 0),
    ],
)
def test_a_release_out_of_support_is_a_note_of_the_plan(
    profile: str, database: str, notes: int, tmp_path: Path
) -> None:
    app = an_app(tmp_path, clock=FakeClock())
    app.clock.sleep(datetime(2026, 11, 29, tzinfo=UTC).timestamp())
    request = replace(asked(database, (profile,)), scale="study")
    made = plans.make_plan(app, request)
    said = [note.text for note in made.notes if "past its end of life" in note.text]
    assert len(said) == notes


def test_the_checklist_says_it_too(engine: Engine, tmp_path: Path) -> None:
    app = Checking(**vars(an_app(tmp_path, engine, clock=FakeClock())))
    app.clock.sleep(datetime(2026, 11, 29, tzinfo=UTC).timestamp())
    list(first_run.findings(app, versions.STUDY))
    assert any("past its end of life since 2025-02-16" in line for line in said_by(app))


def test_an_image_alone_is_no_reason_to_take_yugabytedb(
    engine: Engine, tmp_path: Path
) -> None:
    made = plans.make_plan(an_app(tmp_path, engine), asked())
    assert databases(made) == ["postgresql"]
    notes = [note.text for note in made.notes if note.kind == "fallback database"]
    assert len(notes) == 1 and "tierbench doctor --db yugabytedb" in notes[0]
    assert engine.asked == []


def test_a_checklist_that_passed_here_is_and_is_said(
    engine: Engine, tmp_path: Path
) -> None:
    assert any("DB=auto" in line for line in go_through(engine, tmp_path))
    made = plans.make_plan(
        an_app(tmp_path, engine), asked(profiles=("premium", "ultra"))
    )
    assert databases(made) == ["yugabytedb", "yugabytedb"]
    said = [note.text for note in made.notes if "checklist passed" in note.text]
    assert len(said) == 1 and OFFICIAL in said[0] and "1970-01-01" in said[0]


@pytest.mark.parametrize("state", ["not confirmed", "could not be looked at"])
def test_a_checklist_with_an_open_line_unlocks_nothing_and_locks_again(
    state: CheckState, engine: Engine, tmp_path: Path
) -> None:
    go_through(engine, tmp_path)
    go_through(engine, tmp_path, findings({"cold-copy": state}))
    assert databases(plans.make_plan(an_app(tmp_path, engine), asked())) == [
        "postgresql"
    ]


def test_a_checklist_cut_short_unlocks_nothing(engine: Engine, tmp_path: Path) -> None:
    go_through(engine, tmp_path, findings({})[:-2])
    assert databases(plans.make_plan(an_app(tmp_path, engine), asked())) == [
        "postgresql"
    ]


@pytest.mark.parametrize(
    "other",
    [
        Engine({OFFICIAL: "sha256:85"}),
        Engine({OFFICIAL: "sha256:84"}, name="another-machine"),
        Engine({}),
    ],
    ids=["another image of that name", "another machine", "the image is gone"],
)
def test_it_is_about_this_image_on_this_machine(
    other: Engine, engine: Engine, tmp_path: Path
) -> None:
    go_through(engine, tmp_path)
    assert databases(plans.make_plan(an_app(tmp_path, other), asked())) == [
        "postgresql"
    ]


def test_without_an_engine_it_is_not_asked(tmp_path: Path) -> None:
    assert databases(plans.make_plan(an_app(tmp_path), asked())) == ["postgresql"]


class On(Engine):
    """An engine on this machine alone."""

    def __init__(self, machine: Machine) -> None:
        super().__init__({})
        self.machine = machine

    def machines(self) -> tuple[Machine, ...]:
        return (self.machine,)


def test_cores_are_counted_where_containers_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing is started for it: the engine says them."""

    def talking() -> NoReturn:
        raise AssertionError("an agent was started")

    this_machine_has(monkeypatch, cpus=2)
    for cpus, nodes in ((4, 1), (6, 3)):
        facts = MachineFacts("vm1", "6.1", "Debian", cpus, "", 2**34)
        there = AgentMachine("vm1", talking, FakeClock(), facts)
        request = replace(asked("postgresql"), nodes=None)
        (profile,) = plans.make_plan(an_app(tmp_path, On(there)), request).profiles
        assert profile.cluster.nodes == nodes


def test_whoever_names_a_database_gets_it(engine: Engine, tmp_path: Path) -> None:
    engine.images.here.clear()
    made = plans.make_plan(an_app(tmp_path, engine), asked("yugabytedb"))
    assert databases(made) == ["yugabytedb"]
    assert engine.asked == [("pull", OFFICIAL)]
    assert databases(
        plans.make_plan(an_app(tmp_path, engine), asked("postgresql"))
    ) == ["postgresql"]


# ------------------------------------------------------------------ where it does not start


class Here(FakeDatabase):
    """A fake that says of which database it is."""

    def __init__(self, log: Log, name: str) -> None:
        super().__init__(log)
        self.name = name

    def check(self, *_: Any) -> None:
        self._log.say(f"check {self.name}")

    @contextmanager
    def running(self, *arguments: Any, **named: Any) -> Iterator[Any]:
        with (
            self._log.bracket(self.name),
            super().running(*arguments, **named) as cluster,
        ):
            yield replace(cluster, database=self.name)


def carry_out(
    request: Request, log: Log, folder: Path, engine: Engine
) -> tuple[dict[str, Any], list[str]]:
    """The plan on disk, and what was said."""
    parts = fake_parts(log)
    generators = dict.fromkeys(load_generators(), parts.load_generators["sysbench"])
    known = {name: Here(log, name) for name in ("postgresql", "yugabytedb")}
    parts = replace(parts, databases=known, load_generators=generators)
    app = with_parts(an_app(folder, engine, clock=FakeClock()), parts)
    plan = plans.make_plan(app, request)
    app = replace(app, platforms=lambda: {"docker": lambda *_: FakePlatform(log)})
    left = campaign.carry_out(app, plan, replace(request, results=folder / "results"))
    return json.loads((left / "plan.json").read_text()), said_by(app)


@pytest.mark.parametrize(
    ("word", "error"),
    [
        ("yugabytedb up", NodeError("the node-1 is exited (1)")),
        ("yugabytedb up", OSError("http://127.0.0.1:9000/api/v1/varz: no answer")),
        ("check yugabytedb", UnavailableError("the image is not here")),
    ],
)
def test_a_database_that_auto_took_and_that_does_not_start_gives_way(
    word: str, error: Exception, engine: Engine, tmp_path: Path
) -> None:
    go_through(engine, tmp_path)
    log = Log(broken={word: error})
    request = asked(profiles=("premium", "ultra"))
    plan, said = carry_out(request, log, tmp_path, engine)
    assert [one["cluster"]["database"] for one in plan["profiles"]] == [
        "postgresql"
    ] * 2
    note = next(one["text"] for one in plan["notes"] if "did not start" in one["text"])
    assert str(getattr(error, "what", error)) in note and "PostgreSQL" in note
    assert note in said
    assert log.words.count("run insert") == len(plan["runs"]) == 2
    assert log.words.count("yugabytedb down") == log.words.count(
        "volume up"
    ) - log.words.count("volume down")


def test_it_is_started_once_for_all_tiers_before_the_plan_is_written(
    engine: Engine, tmp_path: Path
) -> None:
    go_through(engine, tmp_path)
    log = Log()
    plan, _ = carry_out(asked(profiles=("premium", "ultra")), log, tmp_path, engine)
    assert [one["cluster"]["database"] for one in plan["profiles"]] == [
        "yugabytedb"
    ] * 2
    first = log.words.index("yugabytedb up")
    assert first < log.words.index("load")
    # Once to see it start, once to load, once for each of two runs.
    assert log.words.count("yugabytedb up") == log.words.count("yugabytedb down") == 4
    assert log.words.count("volume up") == log.words.count("volume down") == 1


@pytest.mark.parametrize("database", ["yugabytedb", "postgresql"])
def test_a_database_that_was_named_is_neither_tried_beforehand_nor_replaced(
    database: str, engine: Engine, tmp_path: Path
) -> None:
    log = Log(broken={f"{database} up": NodeError("died")})
    plan, _ = carry_out(asked(database), log, tmp_path, engine)
    assert [one["cluster"]["database"] for one in plan["profiles"]] == [database]
    assert "volume up" not in log.words


def test_an_interrupt_is_no_reason_for_another_database(
    engine: Engine, tmp_path: Path
) -> None:
    go_through(engine, tmp_path)
    log = Log(broken={"yugabytedb up": KeyboardInterrupt()})
    with pytest.raises(KeyboardInterrupt):
        carry_out(asked(), log, tmp_path, engine)
    assert not (tmp_path / "results").exists()


# ------------------------------------------------------------------ where disks are paid for

OF_PREMIUM = "question: Enough?\ntitle: A disk\ncluster: azure-d8s-v5\n"
PAID_FOR = {
    "machines": "tier: {type: azure/P15, enforcement: emulated}\n"
    "machines: [ssh://bench@10.0.0.5]\n",
    "a real disk": "tier: {type: azure/P15, enforcement: mounted, path: /mnt/p15}\n",
    "emulated disks in Kubernetes": "tier: azure/P15\nplatform: kubernetes\n",
    "volumes": "tier: {type: azure/P15, enforcement: storage-class}\nplatform: kubernetes\n",
}


@pytest.mark.parametrize("text", PAID_FOR.values(), ids=list(PAID_FOR))
def test_postgresql_never_stands_in_where_disks_are_paid_for(
    text: str, engine: Engine, tmp_path: Path
) -> None:
    (tmp_path / "paid.yaml").write_text(OF_PREMIUM + text)
    profiles = (str(tmp_path / "paid.yaml"),)
    app = an_app(tmp_path, engine)
    with pytest.raises(UnavailableError) as refused:
        plans.make_plan(app, asked(profiles=profiles))
    assert "--db auto" in refused.value.what
    assert "tierbench doctor --db yugabytedb" in refused.value.advice
    assert "--db postgresql" in refused.value.advice
    for database in ("postgresql", "yugabytedb"):
        made = plans.make_plan(app, asked(database, profiles))
        assert databases(made) == [database]


def test_nor_if_yugabytedb_passed_there_and_does_not_start(
    engine: Engine, tmp_path: Path
) -> None:
    (tmp_path / "paid.yaml").write_text(OF_PREMIUM + PAID_FOR["a real disk"])
    app = an_app(tmp_path, engine)
    with pytest.raises(UnavailableError, match="node-1 is exited"):
        request = asked(profiles=(str(tmp_path / "paid.yaml"),))
        plans.make_plan(app, request, start_failure="the node-1 is exited (1)")


def test_a_disk_by_itself_needs_no_database_there(
    engine: Engine, tmp_path: Path
) -> None:
    (tmp_path / "paid.yaml").write_text(OF_PREMIUM + PAID_FOR["a real disk"])
    request = asked(profiles=(str(tmp_path / "paid.yaml"),))
    made = plans.make_plan(
        an_app(tmp_path, engine), replace(request, workloads=["disk-matrix"])
    )
    assert databases(made) == ["none"]
