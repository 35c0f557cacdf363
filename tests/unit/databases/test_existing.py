"""A cluster that others run: the checks before it is used, and all that must stay untouched.

Goal: nothing is dropped that was not made here, unless its owner agrees; a cluster that is not
as the profile says is refused. Method: a fake server that remembers every statement.
"""

from __future__ import annotations

import io
import json
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest

from orchestrator.databases import existing
from orchestrator.databases.existing import ExistingCluster, declaration, disks, leftovers, probe
from orchestrator.databases.existing.leftovers import Owner
from orchestrator.databases.existing.owned_database import Terminal
from orchestrator.errors import RunError, UnavailableError, UsageError
from orchestrator.keys.addresses import Server as Place
from orchestrator.model import ClusterSpec, Tls, Volume
from orchestrator.platforms import own_images
from orchestrator.platforms.common.machines import LocalMachine
from orchestrator.powers import Completed, Machine, Network, World
from orchestrator.system import host, http_client, sql
from orchestrator.tiers.existing import ExistingTier
from tests import ROOT
from tests.fake_existing import (
    CACHE,
    EXPORTERS,
    HOSTS,
    POSTGRESQL,
    TSERVERS,
    YUGABYTEDB,
    Server,
    a_cache,
    database,
    running,
    spec,
    world,
)
from tests.fakes import FakePlatform, QuietProgress, completed, fake_world
from tests.tiers import a_tier

__all__ = ["a_cache"]  # each test has one of its own

# ------------------------------------------------------------------ loaded once by own commands


@dataclass
class Commands:
    """Keeps what the profile's commands were given; each ends with `exit_code`."""

    exit_code: int = 0
    seen: list[tuple[str, Mapping[str, str]]] = field(default_factory=list)

    def run(
        self, argv: Sequence[str], *, timeout_s: float, env: Mapping[str, str] | None = None
    ) -> Completed:
        assert argv[:2] == ("bash", "-c")
        self.seen.append((argv[2], dict(env or {})))
        return completed(exit_code=self.exit_code, err="no room")


def kept(commands: Commands) -> tuple[ClusterSpec, World, Path]:
    (snapshot,) = ExistingTier().snapshots(a_tier("x", "x", "existing", 1, 1), 3, "key", world())
    snapshot.parent.mkdir(parents=True)
    given = spec(save="keep it", restore="bring it", tls="require", user="bench")
    return given, replace(world(), shell=commands), snapshot  # type: ignore[arg-type]


def test_a_loaded_database_is_kept_when_it_has_settled() -> None:
    commands = Commands()
    given, here, snapshot = kept(commands)
    server = Server(POSTGRESQL)
    server.databases["yugabyte"] = set()
    tier = a_tier("x", "x", "existing", 1, 1)
    with (
        ExistingTier().loading(tier, [], [snapshot], here) as volumes,
        database(server).running(given, volumes, Network("net", ()), here) as cluster,
    ):
        assert commands.seen == [] and not snapshot.exists()
        database(server).settle(cluster, here)
    ((command, env),) = commands.seen
    assert command == "keep it" and snapshot.is_file()
    assert env["TIERBENCH_SNAPSHOT"] == "key" and env["PGDATABASE"] == "tierbench"
    assert (env["PGHOST"], env["PGUSER"], env["PGSSLMODE"]) == ("10.0.0.11", "bench", "require")
    assert any("VACUUM" in text for text in server.statements)


def test_each_run_starts_from_what_was_kept() -> None:
    commands = Commands()
    given, here, snapshot = kept(commands)
    server, tier = Server(POSTGRESQL), a_tier("x", "x", "existing", 1, 1)
    with (
        ExistingTier().attached(tier, [], [snapshot], here) as disks,
        database(server).running(given, disks.volumes, Network("net", ()), here) as cluster,
    ):
        assert [command for command, _ in commands.seen] == ["bring it"]
        assert any("VACUUM" in text for text in server.statements), "a dump has no statistics"
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


def left_by(campaign: str, server: Server, at: str = "elsewhere", started_s: float = 0) -> None:
    """As a campaign leaves a database that was killed."""
    mark = {"host": at, "campaign": campaign, "started_s": started_s, "cache": str(CACHE[-1])}
    server.databases["tierbench"] = {"stock"}
    server.comments["tierbench"] = f"tierbench made this: {json.dumps(mark)}"


def test_what_our_own_killed_campaign_left_is_replaced() -> None:
    server = Server()
    left_by("c0", server, host.name(), 5)
    declared, _ = declaration.read(spec().settings)
    leftovers.remember(CACHE[-1], declared, leftovers.owner(CACHE[-1], "c0", 5))
    with running(server, spec()):
        assert server.databases["tierbench"] == set()
    assert leftovers.all_of(CACHE[-1]) == ()


def test_what_another_tester_made_is_refused_with_who_and_since_when() -> None:
    server = Server()
    left_by("c0", server, "vm-7", fake_world().clock.now() - 600)
    with pytest.raises(UsageError) as raised, running(server, spec()):
        pass
    assert "campaign c0 of tierbench on vm-7 made 10 min ago" in raised.value.what
    assert server.databases["tierbench"] == {"stock"}
    with running(server, spec(may_drop="tierbench")):
        assert server.databases["tierbench"] == set()


def test_what_another_tester_put_in_its_place_is_left_alone_at_the_end() -> None:
    server, progress = Server(), QuietProgress()
    with running(server, spec(), progress):
        left_by("c9", server, "vm-7")
    assert server.databases["tierbench"] == {"stock"}
    assert progress.said == [
        "the database tierbench is left alone: campaign c9 on vm-7 has made one of that name since"
    ]
    assert not list(existing.clean(world(), server.connect)), "nothing of ours is there"


def test_a_campaign_of_another_host_with_the_same_cache_is_not_ours() -> None:
    """As two hosts with one home folder have."""
    server = Server()
    left_by("c0", server, "vm-7", 5)
    declared, _ = declaration.read(spec().settings)
    leftovers.remember(CACHE[-1], declared, Owner("vm-7", "c0", 5, str(CACHE[-1])))
    with pytest.raises(UsageError, match="c0 of tierbench on vm-7"), running(server, spec()):
        pass
    (line,) = existing.clean(world(), server.connect)
    assert "vm-7 made it" in line and server.databases["tierbench"] == {"stock"}
    assert len(leftovers.all_of(CACHE[-1])) == 1, "that host still needs it"


@pytest.mark.parametrize(("tables", "replaced"), [(set(), True), ({"payroll"}, False)])
def test_a_kill_before_the_mark_leaves_something_that_is_recognised(
    tables: set[str], replaced: bool
) -> None:
    """One that holds tables was made by somebody else since then."""
    server = Server(databases={"yugabyte": set(), "tierbench": tables})
    declared, _ = declaration.read(spec().settings)
    leftovers.remember(CACHE[-1], declared, leftovers.owner(CACHE[-1], "c0", 5))
    if replaced:
        database(server).check(spec(), world())
    else:
        with pytest.raises(UsageError, match="did not make"):
            database(server).check(spec(), world())


def test_the_mark_names_host_campaign_and_time_and_is_made_with_the_database() -> None:
    server = Server()
    with running(server, spec()):
        text = server.comments["tierbench"].removeprefix("tierbench made this: ")
    assert json.loads(text) == {
        "host": host.name(),
        "campaign": "c1",
        "started_s": 1000,
        "cache": str(CACHE[-1]),
    }
    made = server.statements.index('CREATE DATABASE "tierbench"')
    assert server.statements[made + 1].startswith('COMMENT ON DATABASE "tierbench"')


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


def test_postgresql_ends_their_sessions_where_it_can() -> None:
    server = Server(banner=POSTGRESQL, databases={"postgres": set()})
    with running(server, spec(maintenance_database="postgres")):
        pass
    assert 'DROP DATABASE "tierbench" WITH (FORCE)' in server.statements


# ------------------------------------------------------------------ what a killed campaign left


def test_cleaning_drops_what_is_remembered() -> None:
    server = Server()
    with suppress(KeyboardInterrupt), running(server, spec()):
        server.busy = 10**6  # it cannot be dropped now
        raise KeyboardInterrupt
    assert "tierbench" in server.databases
    server.busy = 0
    (listed,) = existing.clean(world(), server.connect, only_list=True)
    assert "tierbench" in server.databases
    (line,) = existing.clean(world(), server.connect)
    assert listed == f"{line}, if it is still there and ours"
    where = "10.0.0.11:5433, 10.0.0.12:5433, 10.0.0.13:5433"
    assert line == f"database tierbench at {where}, of campaign c1"
    assert "tierbench" not in server.databases
    assert list(existing.clean(world(), server.connect)) == []


def test_cleaning_leaves_alone_what_is_somebody_elses_by_now() -> None:
    server = Server()
    left_by("c9", server)
    declared, _ = declaration.read(spec().settings)
    leftovers.remember(CACHE[-1], declared, leftovers.owner(CACHE[-1], "c0", 5))
    (line,) = existing.clean(world(), server.connect)
    assert "left alone" in line and server.databases["tierbench"] == {"stock"}


def test_cleaning_says_the_command_where_the_cluster_or_its_password_is_not_at_hand() -> None:
    uri = "postgresql://owner:s3cret@db.example:6000/postgres?sslmode=require"
    settings = {"existing.hosts": uri}
    declared, mistakes = declaration.read(settings)
    assert mistakes == ()
    leftovers.remember(CACHE[-1], declared, leftovers.owner(CACHE[-1], "c0", 5))
    kept = "".join(file.read_text() for file in CACHE[-1].rglob("*.json"))
    assert "s3cret" not in kept
    for _ in range(2):  # it stays remembered
        (line,) = existing.clean(world(), Server(unreachable=("db.example",)).connect)
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
    assert not [text for text in server.statements if text.startswith(("DROP", "CREATE"))]


def test_its_owner_is_asked_and_may_give_it_up_at_the_terminal() -> None:
    server = Server(databases={"yugabyte": set(), "bench": {"payroll"}})
    questions: list[str] = []

    def agree(question: str, may_ask: bool) -> bool:
        questions.append(question)
        return may_ask

    ExistingCluster(server.connect, agree).check(spec(database="bench"), world())
    assert len(questions) == 1 and "bench that tierbench did not make" in questions[0]
    assert server.databases["bench"] == {"payroll"}  # asked beforehand, dropped only when needed


def test_nobody_is_asked_in_the_middle_of_a_campaign(monkeypatch: pytest.MonkeyPatch) -> None:
    """But what was answered before it began counts."""
    monkeypatch.setattr("sys.stdin", io.StringIO("yes\nyes\n"))
    monkeypatch.setattr("sys.stdin.isatty", lambda: True)
    terminal = Terminal()
    assert not terminal("drop it?", False)
    assert terminal("drop it?", True) and terminal("drop it?", False)
    assert sys.stdin.readline() == "yes\n", "asked once"


def test_checking_changes_nothing() -> None:
    server = Server()
    database(server).check(spec(), world())
    assert not [text for text in server.statements if text.startswith(("DROP", "CREATE", "ALTER"))]


def test_a_database_that_cannot_be_dropped_is_said_and_hides_no_failure() -> None:
    server, progress = Server(), QuietProgress()
    with pytest.raises(RunError, match="the run itself"), running(server, spec(), progress):
        server.unreachable = HOSTS
        raise RunError("the run itself failed")
    assert progress.said == [
        "the database tierbench may still be there: SQL at 10.0.0.11: no; `tierbench clean` drops "
        "it if it is still this campaign's"
    ]


# ------------------------------------------------------------------ where the client runs


@pytest.mark.parametrize("name", ["localhost", "127.0.0.2", "[::1]", "db.localhost"])
def test_a_host_that_is_another_one_where_the_client_runs_is_refused(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The data would be looked at here, and the load sent to another server, or to none."""
    server, given = Server(known=1), spec(nodes=1, hosts=name)
    platform: Any = FakePlatform(images=[own_images.tag(ROOT, "client")])
    own = replace(world(), platform=platform)
    database(server).check(given, own)  # the client is here too
    monkeypatch.setattr(FakePlatform, "folder", lambda _self, _cache: Path("/var/lib/tierbench"))
    with pytest.raises(UsageError) as raised:
        database(server).check(given, own)
    found = raised.value.mistakes[0].what
    assert f"write `hosts: {host.name()}:5433`" in found and "the load client runs on" in found


# What bash of the client's image says; tests/integration/test_remote_engine.py asks it.
REFUSED = """\
/dev/tcp/10.0.0.12/5433: connect: Connection refused
/dev/tcp/10.0.0.12/5433: line 1: /dev/tcp/10.0.0.12/5433: Connection refused
/dev/tcp/10.0.0.12/5433: no connection
"""


def test_hosts_are_tried_from_where_the_client_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(FakePlatform, "folder", lambda _self, _cache: Path("/var/lib/tierbench"))
    said = {"out": ""}
    platform: Any = FakePlatform(
        images=[own_images.tag(ROOT, "client")], answer=lambda _container, _argv: said["out"]
    )
    there = replace(world(), platform=platform)
    database(Server()).check(spec(), there)
    (tried,) = platform.specs.values()
    assert tried.network == "host" and tried.placement == "client-1"
    assert tried.command[2:] == tuple(f"/dev/tcp/{name}/5433" for name in HOSTS)
    said["out"] = REFUSED
    with pytest.raises(UsageError) as raised:
        database(Server()).check(spec(), there)
    (mistake,) = raised.value.mistakes
    assert mistake.what.startswith("10.0.0.12:5433 answers here, but the load client runs on")
    assert "another or none: connect: Connection refused: write" in mistake.what


def test_where_one_engine_has_the_client_only_its_machine_counts() -> None:
    """`localhost` is this computer for a client here, wherever other engines are."""

    class Engines(FakePlatform):
        def machines(self) -> tuple[Machine, ...]:
            return (LocalMachine(), LocalMachine())

        def engine_of(self, placement: str) -> FakePlatform:
            assert placement == "client-1"
            return FakePlatform()

    engines: Any = Engines()
    given = spec(1, hosts="localhost")
    database(Server(known=1)).check(given, replace(world(), platform=engines))


# ------------------------------------------------------------------ is it what the profile says?


def mistakes_of(server: Server, spec: ClusterSpec) -> dict[str, str]:
    with pytest.raises(UsageError) as raised:
        database(server).check(spec, world())
    return {mistake.where: mistake.what for mistake in raised.value.mistakes}


def test_another_version_or_number_of_nodes_is_refused() -> None:
    assert mistakes_of(Server(), spec(nodes=5, version="2025.2.1.0-b141")) == {
        "cluster.version": "the cluster runs 2.18.1.0, not 2025.2.1.0-b141",
        "cluster.nodes": "the cluster has 3, not 5: name each in existing.hosts, or give `nodes`",
    }


@pytest.mark.parametrize("version", ["2.18.1.0-b84", "2.18.1.0", "2.18", None])
def test_the_banner_says_no_build_so_only_numbers_are_held_against_it(version: str | None) -> None:
    database(Server()).check(spec(version=version), world())


def version_page(build: str) -> str:
    """The page `/api/v1/version` of a tablet server: texts, as in its version_metadata.json."""
    return json.dumps({"version_number": "2.18.1.0", "build_number": build, "git_hash": "x"})


def test_the_build_is_the_servers_word_and_another_one_is_said_but_not_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(http_client, "get", lambda _url, timeout_s=0: version_page("85"))
    progress = QuietProgress()
    cluster_spec = spec(version="2.18.1.0-b84", tservers=TSERVERS)
    database(Server()).check(cluster_spec, world(progress))
    assert "it runs 2.18.1.0-b85; the profile says 2.18.1.0-b84" in progress.said
    declared, _ = declaration.read(cluster_spec.settings)
    assert probe.look(declared, Server().connect).version == "2.18.1.0-b85"


def test_nodes_of_different_builds_are_all_said(monkeypatch: pytest.MonkeyPatch) -> None:
    def page(url: str, timeout_s: float = 0) -> str:
        if url.startswith("http://10.0.0.12"):
            raise OSError("no answer")
        return version_page("85" if url.startswith("http://10.0.0.13") else "84")

    monkeypatch.setattr(http_client, "get", page)
    declared, _ = declaration.read(spec(tservers=TSERVERS).settings)
    observed = probe.look(declared, Server().connect)
    assert observed.version == "2.18.1.0-b84, 2.18.1.0-b85"


def test_a_major_version_stands_for_its_minor_ones() -> None:
    server = Server(banner=POSTGRESQL, databases={"postgres": set()})
    cluster_spec = spec(version="16", maintenance_database="postgres")
    database(server).check(cluster_spec, world())
    assert mistakes_of(server, spec(version="1", maintenance_database="postgres")) == {
        "cluster.version": "the cluster runs 16.4, not 1"
    }


def test_copies_and_health_are_the_masters_word(monkeypatch: pytest.MonkeyPatch) -> None:
    pages = {
        "/api/v1/cluster-config": {"replication_info": {"live_replicas": {"num_replicas": 3}}},
        "/api/v1/health-check": {"dead_nodes": ["x"], "under_replicated_tablets": ["1", "2"]},
    }

    def page(url: str, timeout_s: float = 0) -> str:
        return json.dumps(pages[url.removeprefix("http://m:7000")])

    monkeypatch.setattr(http_client, "get", page)
    assert mistakes_of(Server(), spec(copies=1, masters="http://m:7000")) == {
        "cluster.replication_factor": "the cluster keeps 3 copies, not 1",
        "cluster.existing.masters": "1 dead node(s), 2 tablet(s) short of copies: repair the "
        "cluster before measuring",
    }


@pytest.mark.parametrize(
    ("banner", "has", "name"),
    [
        ("CockroachDB CCL v21.1.0 (x86_64-unknown-linux-gnu, built 2021/04/23 13:54:57, go1.13.14)",
         (), "CockroachDB"),
        ("PostgreSQL 8.0.2 on i686-pc-linux-gnu, compiled by GCC gcc (GCC) 3.4.2 20041017 "
         "(Red Hat 3.4.2-6.fc3), Redshift 1.0.10936", (), "Amazon Redshift"),
        ("PostgreSQL 9.4.26 (Greenplum Database 6.22.2) on x86_64-pc-linux-gnu", (), "Greenplum"),
        (POSTGRESQL, ("aurora_version",), "Amazon Aurora"),
        (POSTGRESQL, ("google_columnar_engine.enabled",), "AlloyDB"),
        (POSTGRESQL, ("neon.timeline_id",), "Neon"),
        (POSTGRESQL, ("citus.shard_count",), "Citus"),
    ],
)  # fmt: skip
def test_other_databases_are_refused_by_name(banner: str, has: tuple[str, ...], name: str) -> None:
    """Banners and names as real ones were seen to say them: flavours.py names the sources."""
    server = Server(banner=banner, has=has)
    (mistake,) = mistakes_of(server, spec(flavour="postgresql")).values()
    assert mistake.startswith(f"this is {name}, which is not measured: ")
    assert not [text for text in server.statements if text.startswith(("DROP", "CREATE"))]


def test_an_unknown_server_is_refused_unless_the_profile_says_what_it_is() -> None:
    server = Server(banner="Mystery 1.0")
    (mistake,) = mistakes_of(server, spec()).values()
    assert "calls itself 'Mystery 1.0'" in mistake and "`flavour`" in mistake
    with running(server, spec(flavour="postgresql")) as cluster:
        assert cluster.database == "postgresql"


def test_a_host_that_does_not_answer_is_unavailable() -> None:
    with pytest.raises(UnavailableError, match=r"does not answer: SQL at 10\.0\.0\.12: no"):
        database(Server(unreachable=("10.0.0.12",))).check(spec(), world())


def test_what_cannot_be_seen_is_said() -> None:
    progress = QuietProgress()
    database(Server()).check(spec(), world(progress))
    assert [note.split(":")[0] for note in progress.said if "tls" not in note] == [
        "copies and tablets were not checked",
        "durability and compactions are not seen",
        "CPU and disk of the nodes are not seen",
    ]


# ------------------------------------------------------------------ the declaration


@pytest.mark.parametrize(
    ("keys", "where", "part"),
    [
        ({"hosts": ""}, "hosts", "at least one host"),
        ({"port": "5433x"}, "port", "is not a port"),
        ({"user": "robert'); --"}, "user", "letters, digits"),
        ({"database": "yugabyte"}, "database", "must not be the one"),
        ({"tservers": "http://a:9000"}, "tservers", "1 for 3 hosts"),
        ({"masters": "10.0.0.11:7000"}, "masters", "write http://host:port"),
        ({"devices": "sdb sdc"}, "devices", "one for all hosts, or one for each"),
        ({"may_drop": "yes"}, "may_drop", "must repeat the name tierbench"),
        ({"pasword_env": "X"}, "pasword_env", "unknown key"),
        ({"tls": "verify-full"}, "tls_root", "for servers without TLS write `tls: off`"),
        ({"tls": "maybe"}, "tls", "'maybe': write verify-full, verify-ca, require, prefer, off"),
        ({"tls_root": "/ca.crt"}, "tls_root", "has no effect with `tls: off`"),
        ({"tls": "prefer", "tls_key": "/key"}, "tls_key", "belongs together with"),
        ({"flavour": "oracle"}, "flavour", "write yugabytedb or postgresql"),
        ({"hosts": "a:99999"}, "hosts", "'99999' is not a port"),
        ({"hosts": "mysql://a"}, "hosts", "begins with postgresql://"),
        ({"hosts": "postgresql://a?target_session_attrs=any"}, "hosts", "has no effect here"),
        ({"hosts": "postgresql://ann@a", "user": "bob"}, "user", "`hosts` says ann"),
        ({"hosts": "postgresql://a:x@h", "password_env": "PW"}, "password_env", "keep one"),
    ],
)
def test_a_mistaken_declaration_is_refused(keys: dict[str, Any], where: str, part: str) -> None:
    _, found = declaration.read(spec(**keys).settings)
    mistakes = {mistake.where: mistake.what for mistake in found}
    assert part in mistakes[f"cluster.existing.{where}"]


@pytest.mark.parametrize(
    ("hosts", "servers"),
    [
        ("a b,c", ["a:5433", "b:5433", "c:5433"]),
        ("a:6000 b [::1]:7000", ["a:6000", "b:5433", "[::1]:7000"]),
        ("postgresql://u@a:1,b:2/postgres postgres://u@c/postgres", ["a:1", "b:2", "c:5433"]),
        ("host=a,b port=1,2 user=u dbname=postgres", ["a:1", "b:2"]),
    ],
)
def test_hosts_are_written_as_libpq_knows_them(hosts: str, servers: list[str]) -> None:
    declared, mistakes = declaration.read(spec(hosts=hosts).settings)
    assert mistakes == ()
    assert list(map(str, declared.servers)) == servers


def test_a_uri_says_user_password_database_and_tls(tmp_path: Path) -> None:
    root = tmp_path / "root.crt"
    root.write_text("x")
    uri = f"postgresql://ann:p%40ss@a:1/postgres?sslmode=verify-ca&sslrootcert={root}"
    declared, mistakes = declaration.read({"existing.hosts": uri})
    assert mistakes == ()
    address = declaration.address(declared, "bench", declared.servers[0])
    assert (address.host, address.port, address.user) == ("a", 1, "ann")
    assert (address.password, declared.maintenance_database) == ("p@ss", "postgres")
    assert address.tls == Tls("verify-ca", str(root))
    assert "p@ss" not in repr(declared) and "p%40ss" not in repr(declared)


def test_tls_of_the_profile_is_that_of_every_session_and_of_the_load(tmp_path: Path) -> None:
    root = tmp_path / "root.crt"
    root.write_text("x")
    server = Server()
    with running(server, spec(tls="verify-full", tls_root=str(root))) as cluster:
        assert cluster.tls == Tls("verify-full", str(root))
    assert {address.tls for address in server.addresses} == {cluster.tls}
    gone = mistakes_of(server, spec(tls="verify-full", tls_root=str(tmp_path / "gone")))
    assert "cannot be read" in gone["cluster.existing.tls_root"]


def test_the_password_may_be_where_libpq_has_it(tmp_path: Path) -> None:
    declared, _ = declaration.read(spec(hosts="db.example:6000").settings)
    (server,) = declared.servers
    assert declaration.password(declared, server, {"PGPASSWORD": "p"}.get) == "p"
    file = tmp_path / "pgpass"
    file.write_text("# mine\nother:*:*:*:no\ndb.example:6000:*:yugabyte:with\\:colon\n")
    file.chmod(0o600)
    environment = {"PGPASSFILE": str(file)}.get
    assert declaration.password(declared, server, environment) == "with:colon"
    file.chmod(0o644)  # libpq ignores it then
    assert declaration.password(declared, server, environment) == ""


def test_the_owners_settings_cannot_be_changed() -> None:
    settings = {"existing.hosts": "a", "existing.tls": "off", "durability": "durable"}
    (mistake,) = declaration.read(settings)[1]
    assert mistake.where == "cluster.existing.durability"


def with_password(file: Path, text: str, mode: int = 0o600) -> ClusterSpec:
    file.write_text(text)
    file.chmod(mode)
    return spec(password_file=str(file))


def test_the_password_comes_from_outside_of_the_profile(tmp_path: Path) -> None:
    from_variable, _ = declaration.read(spec(password_env="PW").settings)
    said = {"PW": "secret"}
    assert declaration.password(from_variable, None, said.get) == "secret"
    with pytest.raises(UnavailableError, match="PW is not set"):
        declaration.password(from_variable, None, lambda _name: None)
    from_file, _ = declaration.read(with_password(tmp_path / "pw", "secret\n").settings)
    assert declaration.password(from_file) == "secret"
    gone, _ = declaration.read(spec(password_file=str(tmp_path / "gone")).settings)
    with pytest.raises(UnavailableError, match="cannot be read: No such file"):
        declaration.password(gone)
    assert "secret" not in repr(from_variable)


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o644, 0o660])
def test_a_password_file_that_others_may_read_is_refused(mode: int, tmp_path: Path) -> None:
    """As libpq does with ~/.pgpass."""
    file = tmp_path / "pw"
    declared, _ = declaration.read(with_password(file, "secret\n", mode).settings)
    with pytest.raises(UnavailableError, match="may be read by others") as raised:
        declaration.password(declared)
    assert f"chmod 600 {file}" in raised.value.advice
    for private in (0o600, 0o400):
        file.chmod(private)
        assert declaration.password(declared) == "secret"


def test_no_password_is_in_what_is_printed_of_a_cluster(tmp_path: Path) -> None:
    """Neither where one goes nor what runs: both end in tracebacks and messages."""
    cluster_spec = with_password(tmp_path / "pw", "s3cret")
    declared, _ = declaration.read(cluster_spec.settings)
    address = declaration.address(declared, "bench", Place("10.0.0.11", 5433))
    assert address.password == "s3cret" and "s3cret" not in repr(address)
    with running(Server(), cluster_spec) as cluster:
        assert cluster.endpoints[0].password == "s3cret"
        assert "s3cret" not in repr(cluster)
        assert "s3cret" not in repr(sql.local(cluster.endpoints[0]))


# ------------------------------------------------------------------ what is watched, what is told

FILESYSTEMS = (
    'node_filesystem_size_bytes{device="/dev/nvme1n1",mountpoint="/mnt/d0"} 1e12\n'
    'node_filesystem_size_bytes{device="/dev/sda1",mountpoint="/"} 1e10\n'
    'node_disk_reads_completed_total{device="nvme1n1"} 0\n'
    'node_disk_reads_completed_total{device="sda"} 0\n'
)
CPUS = "".join(f'node_cpu_seconds_total{{cpu="{n}",mode="idle"}} 1\n' for n in range(8))


def test_nodes_are_watched_through_their_own_pages(monkeypatch: pytest.MonkeyPatch) -> None:
    """The device is found by where the tablet server says that its data are."""
    flags = {"flags": [{"name": "fs_data_dirs", "value": "/mnt/d0"}]}

    def page(url: str, timeout_s: float = 0) -> str:
        if "varz" in url:
            return json.dumps(flags)
        return CPUS if "=cpu" in url else FILESYSTEMS

    monkeypatch.setattr(http_client, "get", page)
    with running(Server(), spec(tservers=TSERVERS, node_exporters=EXPORTERS)) as cluster:
        node = cluster.nodes[1]
    assert (node.name, node.role, node.cpus) == ("node-2", "database", 8.0)
    assert (node.container, node.process_id, node.device) == (None, None, None)
    assert node.sources == {
        "yb-tserver": "http://10.0.0.12:9000",
        "node-exporter": "http://10.0.0.12:9100",
        "disk-device": "nvme1n1",
    }


def test_facts_of_a_postgresql_say_whether_commits_are_durable() -> None:
    server = Server(banner=POSTGRESQL, databases={"postgres": set()})
    with running(server, spec(maintenance_database="postgres")) as cluster:
        facts = database(server).facts(cluster, world()).recorded()
    assert cluster.database == declaration.POSTGRESQL
    assert facts["version"] == "16.4"
    assert facts["existing"] is True
    assert facts["durable"] is False
    assert facts["durability"]["synchronous_commit"] == "off"
    assert facts["data_bytes"] == 4096


def test_facts_of_a_stand_in_are_marked() -> None:
    server = Server(banner=f"{YUGABYTEDB}, a stand-in")
    with running(server, spec()) as cluster:
        assert database(server).facts(cluster, world()).recorded()["stand_in"] is True


# ------------------------------------------------------------------ which disks hold a database

# As node_exporter 1.5.0 shows them; of a mapped device by its own test data
# (prometheus/node_exporter, collector/fixtures/e2e-output.txt).
MOUNTS = "".join(
    f'node_filesystem_size_bytes{{device="{device}",fstype="xfs",mountpoint="{mount}"}} 1e12\n'
    for device, mount in (
        ("/dev/root", "/"),
        ("/dev/nvme1n1p1", "/mnt/d0"),
        ("/dev/sdb1", "/mnt/d1"),
        ("/dev/mapper/nvme0n1_crypt", "/mnt/log"),
        ("/dev/vdc", "/mnt/d0/pg_wal"),
        ("tank/data", "/tank"),
    )
)
DISKS = "".join(
    f'node_disk_reads_completed_total{{device="{device}"}} 0\n'
    for device in ("nvme0n1", "nvme1n1", "sda", "sdb", "vdc", "dm-0")
)
MAPPED = 'node_disk_device_mapper_info{device="dm-0",name="nvme0n1_crypt"} 1\n'
PAGE = MOUNTS + DISKS + MAPPED


@pytest.mark.parametrize(
    ("path", "disk"),
    [
        ("/mnt/d0", "nvme1n1"),
        ("/mnt/d0/data", "nvme1n1"),
        ("/mnt/d00", None),  # on /dev/root, which no counter has the name of
        ("/mnt/d1/x", "sdb"),
        ("/mnt/log", "dm-0"),
        ("/mnt/d0/pg_wal", "vdc"),
        ("/tank/x", None),
    ],
)
def test_a_directory_is_on_the_disk_of_its_mount_as_counters_name_it(
    path: str, disk: str | None
) -> None:
    assert disks.device_of(PAGE, path) == disk


@pytest.mark.parametrize(
    ("keys", "places", "expected"),
    [
        ({}, disks.Places(("/mnt/d1",), ("/mnt/d1",)), disks.HostDisks(("sdb",))),
        ({}, disks.Places(("/mnt/d0",), ("/mnt/log",)), disks.HostDisks(("nvme1n1",), "dm-0")),
        ({}, disks.Places(("/mnt/d0", "/mnt/d1"), ("/mnt/d0", "/mnt/d1")),
         disks.HostDisks(("nvme1n1", "sdb"), None,
                     "nvme1n1 and sdb hold its data: neither is held to the tier's limits")),
        ({}, disks.Places(("/mnt/d0",), ("/tank/wal",)),
         disks.HostDisks(("nvme1n1",), None,
                     "/tank/wal is on no disk that its node_exporter shows, and does not count")),
        ({"devices": "sdb"}, disks.Places(("/mnt/d0", "/mnt/d1")),
         disks.HostDisks(("sdb",), None, "nvme1n1 and sdb hold its data, and only sdb counts")),
        ({"devices": "sdz"}, disks.Places(), disks.HostDisks(("sdz",))),
        ({}, disks.Places(("/tank",)), disks.HostDisks()),
    ],
)  # fmt: skip
def test_all_directories_count_or_are_doubted(
    keys: dict[str, str], places: disks.Places, expected: disks.HostDisks
) -> None:
    declared, _ = declaration.read(spec(3, 3, None, **keys).settings)
    assert disks.of_host(declared, 0, places, PAGE) == expected


def shown(monkeypatch: pytest.MonkeyPatch, **flags: str) -> None:
    listed = [{"name": name, "value": value} for name, value in flags.items()]

    def page(url: str, timeout_s: float = 0) -> str:
        if "varz" in url:
            return json.dumps({"flags": listed})
        return CPUS + "node_memory_MemTotal_bytes 8192\n" if "=cpu" in url else PAGE

    monkeypatch.setattr(http_client, "get", page)


def test_directories_of_yugabytedb_and_its_log_are_those_of_its_flags(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    shown(monkeypatch, fs_data_dirs="/mnt/d0,/mnt/d1", fs_wal_dirs="/mnt/log")
    with running(Server(), spec(tservers=TSERVERS, node_exporters=EXPORTERS)) as cluster:
        node = cluster.nodes[0]
    assert (node.sources["disk-device"], node.wal_device) == ("nvme1n1 sdb", "dm-0")


@pytest.mark.parametrize(
    ("directory", "tables", "device", "wal"),
    [
        ("/mnt/d1/main", "", "sdb", None),
        ("/mnt/d0", "", "nvme1n1", "vdc"),
        ("/mnt/d1/main", "/mnt/log/space", "dm-0", "sdb"),
        (None, "", None, None),
    ],
)
def test_a_postgresql_is_on_the_disk_of_its_directory_or_table_space(
    directory: str | None,
    tables: str,
    device: str | None,
    wal: str | None,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    shown(monkeypatch)
    server, progress = Server(POSTGRESQL, directory=directory, tables=tables), QuietProgress()
    given = spec(1, 1, hosts="10.0.0.11", node_exporters="http://10.0.0.11:9100")
    with running(server, given) as cluster:
        (node,) = cluster.nodes
    assert (node.sources.get("disk-device"), node.wal_device) == (device, wal)
    database(server).check(given, world(progress))
    hint = "or let yugabyte see `data_directory` (GRANT pg_read_all_settings)"
    assert any(hint in text for text in progress.said) is (device is None)


# ------------------------------------------------------------------ what a PostgreSQL counts


def test_settings_cache_and_what_was_counted_since_measuring_began(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    readings: list[dict[str, Any]] = [
        {"blks_hit": 10, "blks_read": 10, "wal_bytes": 100, "wal_syncs": 1, "wal_sync_s": 0.5},
        {"blks_hit": 40, "blks_read": 20, "wal_bytes": 900, "wal_syncs": 5, "wal_sync_s": 2.5},
    ]
    shown(monkeypatch)
    for exporters, cache in (({}, 2**27), ({"node_exporters": "http://10.0.0.11:9100"}, 8192)):
        server = Server(POSTGRESQL, counters=[dict(one) for one in readings])
        with running(server, spec(1, 1, None, hosts="10.0.0.11", **exporters)) as cluster:
            database(server).begin_measuring(cluster, world())
            facts = database(server).facts(cluster, world())
        assert facts.settings == {"checkpoint_timeout": "5min", "shared_buffers": "128MB"}
        assert facts.cache_bytes == cache
        assert facts.since_reset == {
            "blks_hit": 30,
            "blks_read": 10,
            "buffer_hit_ratio": 0.75,
            "wal_bytes": 800,
            "wal_syncs": 4,
            "wal_sync_s": 2.0,
            "wal_sync_avg_s": 0.5,
            "wal_nodes": 1,
        }


def test_a_pooler_is_noticed_by_the_process_that_it_gives_and_by_a_flag(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """PgBouncer 1.18 gave a session process -429256030 while 15452 answered."""
    server, progress = Server(POSTGRESQL, given_process_id=-429256030), QuietProgress()
    given = spec(1, 1, hosts="10.0.0.11")
    database(server).check(given, world(progress))
    evidence = "the session was given process -429256030, and process 77 answers"
    assert f"a connection pooler answers for the database: {evidence}" in progress.said
    with running(server, given) as cluster:
        assert database(server).facts(cluster, world()).pooler == evidence
    shown(monkeypatch, enable_ysql_conn_mgr="true")
    declared, _ = declaration.read(spec(tservers=TSERVERS).settings)
    managed = Server()
    with running(managed, spec(tservers=TSERVERS)) as cluster:
        observed = probe.look(declared, managed.connect)
        facts = probe.facts(declared, observed, cluster.nodes, managed.connect)
    assert facts.pooler == "its tablet servers run with `enable_ysql_conn_mgr`"
    assert (facts.settings or {})["tserver.enable_ysql_conn_mgr"] == "true"
