"""The database that is made on a cluster that others run, and all that must stay untouched.

Goal: nothing is dropped that was not made here, unless its owner agrees. Method: a fake server
that remembers every statement.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

from orchestrator.databases.existing import (
    ExistingCluster,
    declaration,
    left_behind,
    owned_database,
    remembered,
)
from orchestrator.databases.existing.owned_database import Terminal
from orchestrator.databases.existing.remembered import Owner
from orchestrator.errors import LoadError, RunError, UsageError
from orchestrator.model import ClusterSpec, Volume
from orchestrator.parts import NodesData
from orchestrator.powers import Completed, Network, World
from orchestrator.system import host, machine_caches
from orchestrator.tiers.existing import ExistingTier
from tests import apps
from tests.fake_existing import (
    CACHE,
    HOSTS,
    POSTGRESQL,
    Server,
    a_cache,
    database,
    existing_world,
    mistakes_of,
    running,
    spec,
)
from tests.fakes import QuietProgress, completed, fake_world
from tests.tiers import a_tier

__all__ = ["a_cache"]  # each test has one of its own


# ------------------------------------------------------------------ loaded once by own commands


@dataclass
class Commands:
    """Keeps what the profile's commands were given; each ends with `exit_code`."""

    exit_code: int = 0
    seen: list[tuple[str, Mapping[str, str]]] = field(default_factory=list)

    def run(
        self,
        argv: Sequence[str],
        *,
        timeout_s: float,
        env: Mapping[str, str] | None = None,
    ) -> Completed:
        assert argv[:2] == ("bash", "-c")
        self.seen.append((argv[2], dict(env or {})))
        return completed(exit_code=self.exit_code, err="no room")


def kept(commands: Commands) -> tuple[ClusterSpec, World, Path]:
    (snapshot,) = ExistingTier().snapshots(
        a_tier("x", "x", "existing", 1, 1), [], "key", existing_world()
    )
    snapshot.parent.mkdir(parents=True)
    given = spec(save="keep it", restore="bring it", tls="require", user="bench")
    return given, replace(existing_world(), shell=commands), snapshot


def test_a_loaded_database_is_kept_when_it_has_settled() -> None:
    commands = Commands()
    given, here, snapshot = kept(commands)
    server = Server(POSTGRESQL)
    server.databases["yugabyte"] = set()
    tier = a_tier("x", "x", "existing", 1, 1)
    with (
        ExistingTier().loading(tier, NodesData([], [snapshot]), here) as volumes,
        database(server).running(given, volumes, Network("net", ()), here) as cluster,
    ):
        assert commands.seen == [] and not snapshot.exists()
        database(server).settle(cluster, here)
    ((command, env),) = commands.seen
    assert command == "keep it" and snapshot.is_file()
    assert env["TIERBENCH_SNAPSHOT"] == "key" and env["PGDATABASE"] == "tierbench"
    assert (env["PGHOST"], env["PGUSER"], env["PGSSLMODE"]) == (
        "10.0.0.11",
        "bench",
        "require",
    )
    assert any("VACUUM (FREEZE, ANALYZE)" in text for text in server.statements)
    assert not cluster.analyze, "a load need not do so too"


def test_each_run_starts_from_what_was_kept() -> None:
    commands = Commands()
    given, here, snapshot = kept(commands)
    server, tier = Server(POSTGRESQL), a_tier("x", "x", "existing", 1, 1)
    with (
        ExistingTier().attached(tier, NodesData([], [snapshot]), here) as disks,
        database(server).running(
            given, disks.volumes, Network("net", ()), here
        ) as cluster,
    ):
        assert [command for command, _ in commands.seen] == ["bring it"]
        assert any("VACUUM" in text for text in server.statements), (
            "a dump has no statistics"
        )
        assert "restore_took_s" in database(server).facts(cluster, here).more
    assert "tierbench" not in server.databases


def test_a_command_that_fails_is_said_and_leaves_no_database() -> None:
    given, here, snapshot = kept(Commands(exit_code=3))
    server, told = Server(POSTGRESQL), (Volume(str(snapshot), "", restored=True),)
    with (
        pytest.raises(RunError, match="`restore` command ended with 3") as raised,
        database(server).running(given, told, Network("net", ()), here),
    ):
        pass
    assert "no room" in raised.value.evidence
    assert "tierbench" not in server.databases


def test_without_commands_every_run_loads() -> None:
    assert not database(Server()).restores(spec())
    assert database(Server()).restores(spec(save="a", restore="b"))
    assert "existing.restore" in str(mistakes_of(Server(), spec(save="a")))


# ------------------------------------------------------------------ what is made and dropped


def test_only_our_own_database_is_made_and_it_is_dropped_again() -> None:
    server = Server()
    with running(server, spec()) as cluster:
        assert server.databases == {"yugabyte": set(), "tierbench": set()}
        assert (cluster.database, cluster.version) == ("yugabytedb", "2.18.1.0")
        assert [endpoint.host for endpoint in cluster.endpoints] == list(HOSTS)
        assert {endpoint.database for endpoint in cluster.endpoints} == {"tierbench"}
    assert server.databases == {"yugabyte": set()}


def left_by(
    campaign: str, server: Server, at: str = "elsewhere", started_s: float = 0
) -> None:
    """As a campaign leaves a database that was killed."""
    machine = ""
    if at == host.name():
        machine = machine_caches.here().id
    mark = {
        "host": at,
        "campaign": campaign,
        "started_s": started_s,
        "cache": str(CACHE[-1]),
        "machine": machine,
    }
    server.databases["tierbench"] = {"stock"}
    server.comments["tierbench"] = f"tierbench made this: {json.dumps(mark)}"


def test_what_our_own_killed_campaign_left_is_replaced() -> None:
    server = Server()
    left_by("c0", server, host.name(), 5)
    declared, _ = declaration.read(spec())
    remembered.remember(CACHE[-1], declared, remembered.owner_here(CACHE[-1], "c0", 5))
    with running(server, spec()):
        assert server.databases["tierbench"] == set()
    assert remembered.leftovers(CACHE[-1]) == ()


def test_what_another_tester_made_is_refused_with_who_and_since_when() -> None:
    server = Server()
    left_by("c0", server, "vm-7", fake_world().clock.now() - 600)
    with pytest.raises(UsageError) as raised, running(server, spec()):
        pass
    assert "campaign c0 of tierbench on vm-7 made 10 min ago" in raised.value.what
    assert server.databases["tierbench"] == {"stock"}
    with running(server, spec(may_drop="tierbench")):
        assert server.databases["tierbench"] == set()


def test_what_our_own_killed_campaign_left_is_gone_although_no_run_follows() -> None:
    """Its last run was complete when it was killed: `resume` has nothing to make anew."""
    server = Server()
    left_by("c0", server, host.name(), 5)
    declared, _ = declaration.read(spec())
    owner = remembered.owner_here(CACHE[-1], "c0", 5)
    remembered.remember(CACHE[-1], declared, owner)
    with database(server).reserved(spec(), existing_world()):
        assert "tierbench" not in server.databases


def test_what_another_tester_left_stays_although_no_run_follows() -> None:
    server = Server()
    left_by("c9", server, "vm-7")
    with database(server).reserved(spec(), existing_world()):
        assert server.databases["tierbench"] == {"stock"}


def test_what_another_tester_put_in_its_place_is_left_alone_at_the_end() -> None:
    server, progress = Server(), QuietProgress()
    with running(server, spec(), progress):
        left_by("c9", server, "vm-7")
    assert server.databases["tierbench"] == {"stock"}
    assert progress.said == [
        "the database tierbench is left alone: campaign c9 on vm-7 has made one of that name since"
    ]
    assert not list(
        left_behind.clean(existing_world(), server.connect, only_list=False)
    ), "nothing of ours is there"


def test_a_campaign_of_another_host_with_the_same_cache_is_not_ours() -> None:
    """As two hosts with one home folder have."""
    server = Server()
    left_by("c0", server, "vm-7", 5)
    declared, _ = declaration.read(spec())
    remembered.remember(CACHE[-1], declared, Owner("vm-7", "c0", 5, str(CACHE[-1])))
    with (
        pytest.raises(UsageError, match="c0 of tierbench on vm-7"),
        running(server, spec()),
    ):
        pass
    (line,) = left_behind.clean(existing_world(), server.connect, only_list=False)
    assert "vm-7 made it" in line and server.databases["tierbench"] == {"stock"}
    assert len(remembered.leftovers(CACHE[-1])) == 1, "that host still needs it"


@pytest.mark.parametrize("tables", [set(), {"payroll"}])
@pytest.mark.parametrize("is_ours", [True, False])
def test_a_kill_before_the_mark_leaves_something_that_is_recognised(
    tables: set[str], is_ours: bool
) -> None:
    """By the connection limit with which it was made. One that was merely empty was dropped, too,
    although somebody else may have made it since then."""
    server = Server(databases={"yugabyte": set(), "tierbench": tables})
    declared, _ = declaration.read(spec())
    owner = remembered.owner_here(CACHE[-1], "c0", 5)
    remembered.remember(CACHE[-1], declared, owner)
    if is_ours:
        server.connection_limits[server.oid("tierbench")] = owner.birth_number
        database(server).check(spec(), existing_world())
    else:
        with pytest.raises(UsageError, match="did not make"):
            database(server).check(spec(), existing_world())


def test_the_mark_names_host_campaign_and_time_and_is_made_with_the_database() -> None:
    server = Server()
    with running(server, spec()):
        text = server.comments["tierbench"].removeprefix("tierbench made this: ")
    assert json.loads(text) == {
        "host": host.name(),
        "campaign": "c1",
        "started_s": 1000,
        "cache": str(CACHE[-1]),
        "machine": machine_caches.here().id,
    }
    owner = Owner(**json.loads(text))
    creation = f'CREATE DATABASE "tierbench" CONNECTION LIMIT {owner.birth_number}'
    made = server.statements.index(creation)
    assert server.statements[made + 2].startswith('COMMENT ON DATABASE "tierbench"')


@pytest.mark.parametrize("theirs", [True, False])
def test_a_database_that_is_replaced_as_soon_as_it_is_made_is_not_taken(
    theirs: bool,
) -> None:
    """Another one of its name has not the number of connections that ours is made with."""
    server = Server()

    def before(statement: str) -> None:
        was_made = "tierbench" in server.databases
        if was_made and "FROM pg_database" in statement:
            server.drop("tierbench")
            server.before = lambda _statement: None
            if theirs:
                server.databases["tierbench"] = {"payroll"}

    server.before = before
    with (
        pytest.raises(RunError, match="somebody replaced the database tierbench"),
        running(server, spec()),
    ):
        pass
    assert server.databases.get("tierbench") in (None, {"payroll"})
    assert not server.comments.get("tierbench")


def test_a_database_of_an_earlier_release_is_told_by_the_machine_s_name() -> None:
    cache = CACHE[-1]
    place = str(cache.resolve())
    assert Owner(host.name(), "c0", 5, place).is_from(cache)
    assert not Owner("vm-7", "c0", 5, place).is_from(cache)
    machine = machine_caches.here()
    if machine.id:
        assert Owner("before", "c0", 5, place, machine.id).is_from(cache)
        assert not Owner(machine.name, "c0", 5, place, "another").is_from(cache)


def test_a_database_given_up_by_its_owner_in_the_profile_is_replaced() -> None:
    server = Server(databases={"yugabyte": set(), "tierbench": {"payroll"}})
    with running(server, spec(may_drop="tierbench")):
        assert server.databases["tierbench"] == set()


def test_names_are_quoted_because_they_may_be_reserved_words() -> None:
    server = Server()
    with running(server, spec(database="order")):
        assert "order" in server.databases
    assert 'DROP DATABASE "order"' in server.statements


def test_dropping_waits_for_sessions_that_have_not_noticed_their_end() -> None:
    server = Server()
    with running(server, spec()):
        server.busy = 2
    assert "tierbench" not in server.databases


class Steps(QuietProgress):
    """Keeps what it was said to wait for."""

    def __init__(self) -> None:
        super().__init__()
        self.steps: list[str] = []

    def step(self, text: str, expected_s: float | None = None) -> None:
        self.steps.append(text)


def test_dropping_waits_longer_than_a_pooler_keeps_idle_sessions() -> None:
    """YugabyteDB's connection manager does for 180 s (`ysql_conn_mgr_idle_time`), and FORCE is
    there only from 2025.1 on. What is waited for is said."""
    server, progress = Server(), Steps()
    asked = existing_world(progress)
    with database(server).running(spec(), (), Network("net", ()), asked):
        begun_s = asked.clock.monotonic()
        server.busy = 27  # tries, the last after 180 s
    assert 180 < asked.clock.monotonic() - begun_s < 200
    assert "tierbench" not in server.databases
    waiting = "waiting until nobody is connected to the database tierbench"
    assert progress.steps[-1].startswith(waiting)


def test_a_database_that_others_use_stays_and_says_whom_to_look_for() -> None:
    server = Server()
    with pytest.raises(RunError, match="wird von anderen Benutzern") as raised:
        owned = owned_database.OwnDatabase(
            declaration.read(spec())[0],
            server.connect,
            existing_world(),
            Terminal(),
            force=False,
        )
        server.databases["tierbench"] = set()
        server.comments["tierbench"] = ""
        server.busy = 10**6
        owned.drop_if(lambda _found: True, lambda _error: False, force=False)
    assert "pg_stat_activity" in raised.value.advice
    assert "allowed to create" not in raised.value.advice


def test_postgresql_ends_their_sessions_where_it_can() -> None:
    """By the database's number: FORCE takes a name, which another one may have by then."""
    server = Server(banner=POSTGRESQL, databases={"postgres": set()})
    with running(server, spec(maintenance_database="postgres")):
        number = server.oid("tierbench")
    assert any(
        "pg_terminate_backend" in text and f"datid = {number} " in text
        for text in server.statements
    )
    assert "tierbench" not in server.databases


@pytest.mark.parametrize(("release", "forced"), [("12.22", False), ("13.0", True)])
def test_postgresql_ends_the_sessions_of_its_pooler_from_13_on(
    release: str, forced: bool
) -> None:
    server = Server(banner=f"PostgreSQL {release} on x86_64-pc-linux-gnu")
    with running(server, spec(1, 1, hosts="10.0.0.11")):
        pass
    ends = [text for text in server.statements if "pg_terminate_backend" in text]
    assert bool(ends) is forced


@pytest.mark.parametrize(
    ("banner", "forced"),
    [
        ("PostgreSQL 11.2-YB-2.18.1.0-b0 on x86_64-pc-linux-gnu", False),
        ("PostgreSQL 11.2-YB-2024.2.2.2-b0 on x86_64-pc-linux-gnu", False),
        ("PostgreSQL 15.12-YB-2025.1.0.1-b0 on x86_64-pc-linux-gnu", True),
    ],
)
def test_yugabytedb_ends_the_sessions_of_its_pooler_where_it_can(
    banner: str, forced: bool
) -> None:
    """From 2025.1 on it has FORCE, as PostgreSQL 15, from which it derives."""
    server = Server(banner=banner)
    with running(server, spec()):
        pass
    assert ('DROP DATABASE "tierbench" WITH (FORCE)' in server.statements) is forced


@pytest.mark.parametrize(
    "banner",
    [POSTGRESQL, "PostgreSQL 15.12-YB-2025.1.0.1-b0 on x86_64-pc-linux-gnu"],
)
def test_sessions_that_our_user_may_not_end_are_waited_for(banner: str) -> None:
    """FORCE is refused at once where a superuser is connected, as a pooler of the servers may be:
    a plain drop waits until that session is gone."""
    server = Server(banner=banner)
    asked = existing_world()
    with database(server).running(spec(), (), Network("net", ()), asked):
        begun_s = asked.clock.monotonic()
        server.forbids_force = True
        server.busy = 27  # tries, the last after 180 s
    assert 180 < asked.clock.monotonic() - begun_s < 200
    assert "tierbench" not in server.databases


@pytest.mark.parametrize("banner", [POSTGRESQL, Server.banner])
def test_an_index_that_a_load_left_half_made_is_named(banner: str) -> None:
    """Whatever loader made it: stock sysbench, BenchBase or a script of the user's."""
    keeping = Server(banner=banner)
    with running(keeping, spec(maintenance_database="yugabyte")) as cluster:
        database(keeping).settle(cluster, existing_world())
        keeping.half_made = ("idx_customer", "k_1")
        with pytest.raises(LoadError, match="idx_customer and k_1"):
            database(keeping).settle(cluster, existing_world())


# ------------------------------------------------------------------ which database it is


def of_postgresql() -> Server:
    return Server(banner=POSTGRESQL, databases={"postgres": set()})


ON_POSTGRESQL = spec(maintenance_database="postgres")


def replaced_before(server: Server, beginning: str) -> None:
    """Somebody drops ours, and makes one of its name, before a statement that begins so."""

    def before(statement: str) -> None:
        if statement.startswith(beginning) and server.databases.get("tierbench") == {
            "ours"
        }:
            server.drop("tierbench")
            server.databases["tierbench"] = {"payroll"}

    server.databases["tierbench"].add("ours")
    server.before = before


def test_what_took_its_name_in_the_last_moment_is_not_dropped() -> None:
    """Between the look at its comment and DROP DATABASE, which takes a name."""
    server, progress = of_postgresql(), QuietProgress()
    with running(server, ON_POSTGRESQL, progress):
        replaced_before(server, "ALTER DATABASE")
    assert server.databases == {"postgres": set(), "tierbench": {"payroll"}}
    (text,) = progress.said
    assert "somebody has just replaced the database" in text
    server.before = lambda _statement: None
    (line,) = left_behind.clean(existing_world(), server.connect, only_list=False)
    assert "left alone, because somebody else has made one" in line
    assert server.databases["tierbench"] == {"payroll"}


def test_yugabytedb_is_looked_at_once_more_right_before_it_drops() -> None:
    """It commits each change of a database by itself: a renaming would not be undone."""
    server, progress = Server(), QuietProgress()
    with running(server, spec(), progress):
        replaced_before(server, "SELECT version()")
    assert server.databases["tierbench"] == {"payroll"}
    assert "nothing was dropped" in progress.said[-1]
    assert not [text for text in server.statements if text.startswith("ALTER")]


@pytest.mark.parametrize("banner", [POSTGRESQL, Server.banner])
def test_a_copy_with_our_comment_is_not_ours(banner: str) -> None:
    """As `pg_dump --create` makes one: the comment is part of it."""
    server, progress = Server(banner=banner), QuietProgress()
    with running(server, spec(maintenance_database="yugabyte"), progress):
        server.databases["tierbench"] = {"payroll"}
    assert server.databases["tierbench"] == {"payroll"}
    assert "somebody else has made one of that name since" in progress.said[-1]


@pytest.mark.parametrize("last", ["DROP DATABASE", "COMMIT"])
def test_one_that_was_being_dropped_at_a_kill_is_dropped_later(last: str) -> None:
    """It has its other name then, in which its number stands."""
    server = of_postgresql()

    def before(statement: str) -> None:
        if statement.startswith(last):
            raise KeyboardInterrupt

    with suppress(KeyboardInterrupt), running(server, ON_POSTGRESQL):
        server.before = before
    assert len(server.databases) == 2
    server.before = lambda _statement: None
    (line,) = left_behind.clean(existing_world(), server.connect, only_list=False)
    assert line.endswith("of campaign c1"), line
    assert server.databases == {"postgres": set()}
    assert remembered.leftovers(CACHE[-1]) == ()


# ------------------------------------------------------------------ what a killed campaign left


def test_cleaning_drops_what_is_remembered() -> None:
    server = Server()
    with suppress(KeyboardInterrupt), running(server, spec()):
        server.busy = 10**6  # it cannot be dropped now
        raise KeyboardInterrupt
    assert "tierbench" in server.databases
    server.busy = 0
    (listed,) = left_behind.clean(existing_world(), server.connect, only_list=True)
    assert "tierbench" in server.databases
    (line,) = left_behind.clean(existing_world(), server.connect, only_list=False)
    assert listed == f"{line}, if it still exists and still belongs to tierbench"
    where = "10.0.0.11:5433, 10.0.0.12:5433, 10.0.0.13:5433"
    assert line == f"database tierbench at {where}, of campaign c1"
    assert "tierbench" not in server.databases
    assert (
        list(left_behind.clean(existing_world(), server.connect, only_list=False)) == []
    )


def test_cleaning_leaves_alone_what_is_somebody_elses_by_now() -> None:
    server = Server()
    left_by("c9", server)
    declared, _ = declaration.read(spec())
    remembered.remember(CACHE[-1], declared, remembered.owner_here(CACHE[-1], "c0", 5))
    (line,) = left_behind.clean(existing_world(), server.connect, only_list=False)
    assert "left alone" in line and server.databases["tierbench"] == {"stock"}


def test_cleaning_says_the_command_where_the_cluster_or_its_password_is_not_at_hand() -> (
    None
):
    uri = "postgresql://owner:s3cret@db.example:6000/postgres?sslmode=require"
    declared, mistakes = declaration.read(replace(spec(), existing={"hosts": uri}))
    assert mistakes == ()
    remembered.remember(CACHE[-1], declared, remembered.owner_here(CACHE[-1], "c0", 5))
    kept = "".join(file.read_text() for file in CACHE[-1].rglob("*.json"))
    assert "s3cret" not in kept
    for _ in range(2):  # it stays remembered
        (line,) = left_behind.clean(
            existing_world(),
            Server(unreachable=("db.example",)).connect,
            only_list=False,
        )
        assert line.endswith(
            'drop it with: psql "host=db.example port=6000 user=owner dbname=postgres '
            'sslmode=require" -c \'DROP DATABASE "tierbench"\''
        )


def test_a_database_of_our_name_that_others_made_is_not_touched() -> None:
    server = Server(databases={"yugabyte": set(), "tierbench": {"payroll"}})
    with pytest.raises(UsageError) as raised, running(server, spec()):
        pass
    assert "has a database tierbench that tierbench did not make" in raised.value.what
    assert "existing.may_drop: tierbench" in raised.value.advice
    assert server.databases["tierbench"] == {"payroll"}
    assert not [
        text for text in server.statements if text.startswith(("DROP", "CREATE"))
    ]


def test_its_owner_is_asked_and_may_give_it_up_at_the_terminal() -> None:
    server = Server(databases={"yugabyte": set(), "bench": {"payroll"}})
    questions: list[str] = []

    def agree(question: str, may_ask: bool) -> bool:
        questions.append(question)
        return may_ask

    ExistingCluster(server.connect, agree).check(
        spec(database="bench"), existing_world()
    )
    assert len(questions) == 1 and "bench that tierbench did not make" in questions[0]
    assert server.databases["bench"] == {
        "payroll"
    }  # asked beforehand, dropped only when needed


def test_nobody_is_asked_in_the_middle_of_a_campaign() -> None:
    """But what was answered before it began counts."""
    stdin = apps.Terminal("yes\nyes\n")
    terminal = Terminal(stdin)
    assert not terminal("drop it?", False)
    assert terminal("drop it?", True) and terminal("drop it?", False)
    assert stdin.readline() == "yes\n", "asked once"


def test_checking_changes_nothing() -> None:
    server = Server()
    database(server).check(spec(), existing_world())
    assert not [
        text
        for text in server.statements
        if text.startswith(("DROP", "CREATE", "ALTER"))
    ]


def test_a_database_that_cannot_be_dropped_is_said_and_hides_no_failure() -> None:
    server, progress = Server(), QuietProgress()
    with (
        pytest.raises(RunError, match="the run itself"),
        running(server, spec(), progress),
    ):
        server.unreachable = HOSTS
        raise RunError("the run itself failed")
    assert progress.said == [
        "the database tierbench may still be there: SQL at 10.0.0.11: no. `tierbench clean` drops "
        "it if it still belongs to this campaign"
    ]
