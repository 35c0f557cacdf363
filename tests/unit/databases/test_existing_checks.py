"""A cluster that others run is used only if it is as its profile says and can be reached."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from orchestrator.databases.existing import (
    against_profile,
    declaration,
    exporter_host,
    probe,
)
from orchestrator.errors import UnavailableError, UsageError
from orchestrator.keys.addresses import Server as Place
from orchestrator.model import ClusterSpec, Tls
from orchestrator.platforms import own_images
from orchestrator.platforms.common.local_machine import LocalMachine
from orchestrator.powers import Machine, PlatformAbilities
from orchestrator.system import host, http_client, sql
from tests import ROOT
from tests.fake_existing import (
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
from tests.fakes import FakePlatform, FarPlatform, QuietProgress
from tests.pages import FLAGS, serving
from tests.silent_peers import hanging_up

__all__ = ["a_cache"]  # each test has one of its own


# ------------------------------------------------------------------ where the client runs


@pytest.mark.parametrize("name", ["localhost", "127.0.0.2", "[::1]", "db.localhost"])
def test_a_host_that_is_another_one_where_the_client_runs_is_refused(name: str) -> None:
    """The data would be looked at here, and the load sent to another server, or to none."""
    server, given = Server(known=1), spec(nodes=1, hosts=name)
    platform: Any = FakePlatform(images=[own_images.tag(ROOT, "client")])
    own = replace(existing_world(), platform=platform)
    database(server).check(given, own)  # the client is here too
    far: Any = FarPlatform(images=platform.images.here)
    with pytest.raises(UsageError) as raised:
        database(server).check(given, replace(own, platform=far))
    found = raised.value.mistakes[0].what
    assert (
        f"Write `hosts: {host.name()}:5433`" in found
        and "the load client runs on" in found
    )


# What bash of the client's image says; tests/integration/test_remote_engine.py asks it.
REFUSED = """\
/dev/tcp/10.0.0.12/5433: connect: Connection refused
/dev/tcp/10.0.0.12/5433: line 1: /dev/tcp/10.0.0.12/5433: Connection refused
/dev/tcp/10.0.0.12/5433: no connection
"""


def test_hosts_are_tried_from_where_the_client_runs() -> None:
    said = {"out": ""}
    platform: Any = FarPlatform(
        images=[own_images.tag(ROOT, "client")],
        answer=lambda _container, _argv: said["out"],
    )
    there = replace(existing_world(), platform=platform)
    database(Server()).check(spec(), there)
    (tried,) = platform.specs.values()
    assert tried.network == "host" and tried.placement == "client-1"
    assert tried.command[3:] == tuple(f"/dev/tcp/{name}/5433" for name in HOSTS)
    said["out"] = REFUSED
    with pytest.raises(UsageError) as raised:
        database(Server()).check(spec(), there)
    (mistake,) = raised.value.mistakes
    assert mistake.what.startswith(
        "10.0.0.12:5433 answers here, but the load client runs on"
    )
    assert "another server or none: connect: Connection refused. Write" in mistake.what


def test_where_one_engine_has_the_client_only_its_machine_counts() -> None:
    """`localhost` is this computer for a client here, wherever other engines are."""

    class Engines(FakePlatform):
        @property
        def abilities(self) -> PlatformAbilities:
            return PlatformAbilities(engine_of=self.engine_of)

        def machines(self) -> tuple[Machine, ...]:
            return (LocalMachine(), LocalMachine())

        def engine_of(self, placement: str) -> FakePlatform:
            assert placement == "client-1"
            return FakePlatform()

    engines: Any = Engines()
    given = spec(1, hosts="localhost")
    database(Server(known=1)).check(given, replace(existing_world(), platform=engines))


# ------------------------------------------------------------------ is it what the profile says?


def test_another_version_or_number_of_nodes_is_refused() -> None:
    assert mistakes_of(Server(), spec(nodes=5, version="2025.2.1.0-b141")) == {
        "cluster.version": "the cluster runs 2.18.1.0, not 2025.2.1.0-b141",
        "cluster.nodes": "the cluster has 3, not 5: name each in existing.hosts, or give `nodes`",
    }


@pytest.mark.parametrize(
    "version",
    [
        "2.18.1.0-b84",
        "2.18.1.0-b84-aarch64",
        "2.18.1.0-aarch64",
        "2.18.1.0",
        "2.18",
        None,
    ],
)
def test_the_banner_says_no_build_so_only_numbers_are_held_against_it(
    version: str | None,
) -> None:
    database(Server()).check(spec(version=version), existing_world())


def version_page(build: str) -> dict[str, str]:
    """Of a tablet server: texts, as in its version_metadata.json."""
    version = {"version_number": "2.18.1.0", "build_number": build, "git_hash": "x"}
    return {"/api/v1/version": json.dumps(version)}


def test_the_build_is_the_servers_word_and_another_one_is_said_but_not_refused() -> (
    None
):
    progress = QuietProgress()
    with serving(version_page("85")) as url:
        cluster_spec = spec(version="2.18.1.0-b84", tservers=f"{url} {url} {url}")
        database(Server()).check(cluster_spec, existing_world(progress))
        declared, _ = declaration.read(cluster_spec)
        assert probe.look(declared, Server().connect).version == "2.18.1.0-b85"
    assert "it runs 2.18.1.0-b85; the profile says 2.18.1.0-b84" in progress.said


def test_a_tag_for_arm_is_no_other_build() -> None:
    progress = QuietProgress()
    with serving(version_page("84")) as url:
        tag = "2.18.1.0-b84-aarch64"
        cluster_spec = spec(version=tag, tservers=f"{url} {url} {url}")
        database(Server()).check(cluster_spec, existing_world(progress))
    assert not [line for line in progress.said if "the profile says" in line]
    server = Server()
    with running(server, spec(version=tag)) as cluster:
        facts = database(server).facts(cluster, existing_world())
    assert facts.version_asked == "2.18.1.0-b84"


def test_nodes_of_different_builds_are_all_said() -> None:
    with serving(version_page("84")) as first, serving(version_page("85")) as third:
        given = spec(
            tservers=f"{first} http://127.0.0.1:9 {third}"
        )  # nobody answers there
        observed = probe.look(declaration.read(given)[0], Server().connect)
    assert observed.version == "2.18.1.0-b84, 2.18.1.0-b85"


def test_a_major_version_stands_for_its_minor_ones() -> None:
    server = Server(banner=POSTGRESQL, databases={"postgres": set()})
    cluster_spec = spec(version="16", maintenance_database="postgres")
    database(server).check(cluster_spec, existing_world())
    assert mistakes_of(server, spec(version="1", maintenance_database="postgres")) == {
        "cluster.version": "the cluster runs 16.4, not 1"
    }


def test_copies_and_health_are_the_masters_word() -> None:
    answers = {
        "/api/v1/cluster-config": {
            "replication_info": {"live_replicas": {"num_replicas": 3}}
        },
        "/api/v1/health-check": {
            "dead_nodes": ["x"],
            "under_replicated_tablets": ["1", "2"],
        },
    }
    with serving({path: json.dumps(page) for path, page in answers.items()}) as url:
        found = mistakes_of(Server(), spec(copies=1, masters=url))
    assert found == {
        "cluster.replication_factor": "the cluster keeps 3 copies, not 1",
        "cluster.existing.masters": "1 dead node(s), 2 tablet(s) short of copies: repair the "
        "cluster before measuring",
    }


def test_a_chart_that_sets_no_placement_keeps_as_many_copies_as_its_masters_flag() -> (
    None
):
    """As a real cluster of three masters and three tablet servers of the chart answers."""
    flags = {"flags": [{"name": "replication_factor", "value": "3"}]}
    answers = {
        "/api/v1/cluster-config": {"version": 0, "cluster_uuid": "84af5e1c"},
        "/api/v1/health-check": {"dead_nodes": [], "under_replicated_tablets": []},
        "/api/v1/varz": flags,
    }
    with serving({path: json.dumps(page) for path, page in answers.items()}) as url:
        database(Server()).check(spec(copies=3, masters=url), existing_world())


def test_the_rpc_port_of_a_tablet_server_is_told_as_such() -> None:
    """It hangs up on whoever speaks HTTP, and node_exporter has the same port by default."""
    with hanging_up(http_client.TSERVER_RPC_PORT) as url:
        declared, _ = declaration.read(spec(node_exporters=" ".join([url] * 3)))
        with pytest.raises(OSError, match="RPC port of a YugabyteDB tablet server"):
            probe.look(declared, Server().connect)


def test_a_node_exporter_that_is_down_is_not_taken_for_a_tablet_server() -> None:
    urls = " ".join([f"http://127.0.91.3:{http_client.TSERVER_RPC_PORT}"] * 3)
    declared, _ = declaration.read(spec(node_exporters=urls))
    with pytest.raises(OSError, match="refused") as refused:
        probe.look(declared, Server().connect)
    assert "RPC" not in str(refused.value)


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
def test_other_databases_are_refused_by_name(
    banner: str, has: tuple[str, ...], name: str
) -> None:
    """Banners and names as real ones were seen to say them: servers.py names the sources."""
    server = Server(banner=banner, has=has)
    (mistake,) = mistakes_of(server, spec(flavour="postgresql")).values()
    assert mistake.startswith(f"this is {name}, which tierbench does not measure. ")
    assert not [
        text for text in server.statements if text.startswith(("DROP", "CREATE"))
    ]


def test_an_unknown_server_is_refused_unless_the_profile_says_what_it_is() -> None:
    server = Server(banner="Mystery 1.0")
    (mistake,) = mistakes_of(server, spec()).values()
    assert "calls itself 'Mystery 1.0'" in mistake and "`flavour`" in mistake
    with running(server, spec(flavour="postgresql")) as cluster:
        assert cluster.database == "postgresql"


def test_a_host_that_does_not_answer_is_unavailable() -> None:
    with pytest.raises(
        UnavailableError, match=r"does not answer: SQL at 10\.0\.0\.12: no"
    ):
        database(Server(unreachable=("10.0.0.12",))).check(spec(), existing_world())


@pytest.mark.parametrize(("hosts", "is_certain"), [(2, False), (3, True)])
def test_a_limit_of_sessions_is_certain_if_no_node_is_behind_another_address(
    hosts: int, is_certain: bool
) -> None:
    server = Server(banner=POSTGRESQL, databases={"postgres": set()})
    names = " ".join(HOSTS[:hosts])
    given = spec(3, 1, hosts=names, maintenance_database="postgres")
    limit = database(server).session_limit(given, existing_world())
    assert limit is not None and limit.is_certain is is_certain


# Two hosts that differ in all that is asked of each.
FIRST = probe.Host(
    "b", sessions=300, waits_counted=True, disks=exporter_host.HostDisks(("sdb",))
)
SECOND = probe.Host("b", sessions=200, disks=exporter_host.HostDisks(on_root=True))


@pytest.mark.parametrize("hosts", [(FIRST, SECOND), (SECOND, FIRST)])
def test_the_host_that_gives_least_decides(hosts: tuple[probe.Host, ...]) -> None:
    given = spec(nodes=2, node_exporters="http://a:9100 http://b:9100")
    declared, _ = declaration.read(given)
    observed = probe.Observation("postgresql", "16.4", "16.4", hosts)
    limit = against_profile.session_limit(given, declared, observed)
    assert limit is not None and limit.sessions == 200
    notes = " ".join(against_profile.notes(given, declared, observed))
    assert "how long sessions wait for the disk is not seen" in notes
    assert "the disks of the nodes are not seen" in notes
    assert "assumed to be on the machines' root" in notes


@pytest.mark.parametrize(
    ("io", "wal_io", "counted"),
    [("on", "on", True), ("on", "off", False), ("off", "on", False)],
)
def test_waits_are_counted_where_both_settings_are_on(
    io: str, wal_io: str, counted: bool
) -> None:
    timed = {"track_io_timing": io, "track_wal_io_timing": wal_io}
    server = Server(banner=POSTGRESQL, settings=timed)
    declared, _ = declaration.read(spec(nodes=1, copies=1, hosts="10.0.0.11"))
    (host,) = probe.look(declared, server.connect).hosts
    assert host.waits_counted is counted


@pytest.mark.parametrize("hosts", ["bench:secret@10.0.0.11", "", "10.0.0.11:port"])
def test_a_declaration_with_mistakes_asks_nobody(hosts: str) -> None:
    server = Server()
    existing = database(server)
    asked = replace(spec(), existing={**spec().existing, "hosts": hosts})
    with pytest.raises(UsageError, match="cannot be used as the profile says"):
        existing.session_limit(asked, existing_world())
    with pytest.raises(UsageError, match="cannot be used as the profile says"):
        existing.find_nodes(asked)
    assert server.statements == []


@pytest.mark.parametrize("key", ["masters", "tservers", "node_exporters"])
def test_a_page_of_another_form_is_unavailable_and_named(key: str) -> None:
    page = '{"flags": [{"name": "x"}], "dead_nodes": 1} node_memory_MemTotal_bytes NaN'
    with serving(
        {FLAGS: "[1]", "/api/v1/cluster-config": "[1]", "/metrics": page}
    ) as url:
        declared = {"node_exporters": f"{url} {url} {url}", key: f"{url} {url} {url}"}
        asked = replace(spec(), existing={**spec().existing, **declared})
        with pytest.raises(
            UnavailableError, match=r"(/api/v1/\S+|/metrics) has an unknown form"
        ):
            database(Server()).check(asked, existing_world())


def test_what_cannot_be_seen_is_said() -> None:
    progress = QuietProgress()
    database(Server()).check(spec(), existing_world(progress))
    assert [note.split(":")[0] for note in progress.said if "tls" not in note] == [
        "copies, and tablets before 2025.2.3, were not checked",
        "durability and compactions are not seen",
        "CPU and disk of the nodes are not seen",
    ]


@pytest.mark.parametrize(("hosts", "said"), [(1, 1), (2, 1), (3, 0)])
def test_an_address_for_several_nodes_is_said_before_anything_starts(
    hosts: int, said: int
) -> None:
    progress = QuietProgress()
    given = spec(nodes=3, hosts=" ".join(HOSTS[:hosts]))
    database(Server()).check(given, existing_world(progress))
    notes = [note for note in progress.said if "for 3 nodes" in note]
    assert len(notes) == said
    for note in notes:
        assert note.startswith(f"`existing.hosts` names {hosts} host")
        assert "docs/YUGABYTEDB.md" in note


def test_of_a_postgresql_no_node_behind_its_address_is_known() -> None:
    progress = QuietProgress()
    server = Server(banner=POSTGRESQL, databases={"postgres": set()})
    given = spec(1, 1, hosts=HOSTS[0], maintenance_database="postgres")
    database(server).check(given, existing_world(progress))
    assert not [note for note in progress.said if "`existing.hosts` names" in note]


# ------------------------------------------------------------------ the declaration


@pytest.mark.parametrize(
    ("keys", "where", "part"),
    [
        ({"hosts": ""}, "hosts", "at least one host"),
        ({"port": "5433x"}, "port", "is not a port"),
        ({"port": "0"}, "port", "is not a port"),
        ({"user": "robert'); --"}, "user", "letters, digits"),
        (
            {"database": "yugabyte"},
            "database",
            "must differ from `maintenance_database`",
        ),
        ({"tservers": "http://a:9000"}, "tservers", "1 for 3 hosts"),
        ({"masters": "10.0.0.11:7000"}, "masters", "write http://host:port"),
        ({"devices": "sdb sdc"}, "devices", "one for all hosts, or one for each"),
        (
            {"devices": "sdb", "wal_devices": "sdc sdb sdc"},
            "wal_devices",
            "sdb holds the data too: name a disk of the WAL alone",
        ),
        ({"may_drop": "yes"}, "may_drop", "must repeat the name tierbench"),
        ({"pasword_env": "X"}, "pasword_env", "unknown key"),
        (
            {"tls": "verify-full"},
            "tls_root",
            "for servers without TLS write `tls: off`",
        ),
        (
            {"tls": "maybe"},
            "tls",
            "'maybe': write verify-full, verify-ca, require, prefer, off",
        ),
        ({"tls_root": "/ca.crt"}, "tls_root", "has no effect with `tls: off`"),
        ({"tls": "prefer", "tls_key": "/key"}, "tls_key", "belongs together with"),
        ({"flavour": "oracle"}, "flavour", "write yugabytedb or postgresql"),
        ({"hosts": "a:99999"}, "hosts", "'99999' is not a port"),
        ({"hosts": "mysql://a"}, "hosts", "begins with postgresql://"),
        (
            {"hosts": "postgresql://a?target_session_attrs=any"},
            "hosts",
            "has no effect here",
        ),
        (
            {"hosts": "postgresql://a?load_balance=on"},
            "hosts",
            "has `load_balance`, which libpq",
        ),
        (
            {"hosts": "postgresql://a:pl%4nt@h"},
            "hosts",
            "is not a list of hosts, a URI",
        ),
        ({"hosts": "host=a host=b"}, "hosts", "gives `host` twice"),
        ({"hosts": "a b@c"}, "hosts", "is not a host"),
        ({"hosts": "postgresql://ann@a", "user": "bob"}, "user", "`hosts` says ann"),
        (
            {"hosts": "postgresql://a:x@h", "password_env": "PW"},
            "password_env",
            "keep one",
        ),
    ],
)
def test_a_mistaken_declaration_is_refused(
    keys: dict[str, Any], where: str, part: str
) -> None:
    _, found = declaration.read(spec(**keys))
    mistakes = {mistake.where: mistake.what for mistake in found}
    assert part in mistakes[f"cluster.existing.{where}"]


@pytest.mark.parametrize(
    ("hosts", "servers"),
    [
        ("a b,c", ["a:5433", "b:5433", "c:5433"]),
        ("a:6000 b [::1]:7000", ["a:6000", "b:5433", "[::1]:7000"]),
        (
            "postgresql://u@a:1,b:2/postgres postgres://u@c/postgres",
            ["a:1", "b:2", "c:5433"],
        ),
        ("host=a,b port=1,2 user=u dbname=postgres", ["a:1", "b:2"]),
    ],
)
def test_hosts_are_written_as_libpq_knows_them(hosts: str, servers: list[str]) -> None:
    declared, mistakes = declaration.read(spec(hosts=hosts))
    assert mistakes == ()
    assert list(map(str, declared.servers)) == servers


def test_a_uri_says_user_password_database_and_tls(tmp_path: Path) -> None:
    root = tmp_path / "root.crt"
    root.write_text("x")
    uri = f"postgresql://ann:p%40ss@a:1/postgres?sslmode=verify-ca&sslrootcert={root}"
    declared, mistakes = declaration.read(replace(spec(), existing={"hosts": uri}))
    assert mistakes == ()
    address = declaration.address(declared, "bench", declared.servers[0])
    assert (address.host, address.port, address.user) == ("a", 1, "ann")
    assert (address.password, declared.maintenance_database) == ("p@ss", "postgres")
    assert address.tls == Tls("verify-ca", str(root))
    assert "p@ss" not in repr(declared) and "p%40ss" not in repr(declared)


def test_tls_of_the_profile_is_that_of_every_session_and_of_the_load(
    tmp_path: Path,
) -> None:
    root = tmp_path / "root.crt"
    root.write_text("x")
    server = Server()
    with running(server, spec(tls="verify-full", tls_root=str(root))) as cluster:
        assert cluster.tls == Tls("verify-full", str(root))
    assert {address.tls for address in server.addresses} == {cluster.tls}
    gone = mistakes_of(server, spec(tls="verify-full", tls_root=str(tmp_path / "gone")))
    assert "cannot be read" in gone["cluster.existing.tls_root"]


def test_the_password_may_be_where_libpq_has_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    declared, _ = declaration.read(spec(hosts="db.example:6000"))
    (server,) = declared.servers
    monkeypatch.setenv("PGPASSWORD", "p")
    assert declaration.password(declared, server) == "p"
    monkeypatch.delenv("PGPASSWORD")
    file = tmp_path / "pgpass"
    file.write_text("# mine\nother:*:*:*:no\ndb.example:6000:*:yugabyte:with\\:colon\n")
    file.chmod(0o600)
    monkeypatch.setenv("PGPASSFILE", str(file))
    assert declaration.password(declared, server) == "with:colon"
    file.chmod(0o644)  # libpq ignores it then
    assert declaration.password(declared, server) == ""


def test_the_owners_settings_cannot_be_changed() -> None:
    (mistake,) = declaration.read(replace(spec(), settings={"durability": "durable"}))[
        1
    ]
    assert mistake.where == "cluster.settings.durability"


def password(declared: declaration.Existing) -> str:
    return declaration.password(declared, declared.servers[0])


def with_password(file: Path, text: str, mode: int = 0o600) -> ClusterSpec:
    file.write_text(text)
    file.chmod(mode)
    return spec(password_file=str(file))


def test_the_password_comes_from_outside_of_the_profile(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from_variable, _ = declaration.read(spec(password_env="PW"))
    monkeypatch.setenv("PW", "secret")
    assert password(from_variable) == "secret"
    monkeypatch.delenv("PW")
    with pytest.raises(UnavailableError, match="PW is not set"):
        password(from_variable)
    from_file, _ = declaration.read(with_password(tmp_path / "pw", "secret\n"))
    assert password(from_file) == "secret"
    gone, _ = declaration.read(spec(password_file=str(tmp_path / "gone")))
    with pytest.raises(UnavailableError, match="cannot be read: No such file"):
        password(gone)
    assert "secret" not in repr(from_variable)


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o644, 0o660])
def test_a_password_file_that_others_may_read_is_refused(
    mode: int, tmp_path: Path
) -> None:
    """As libpq does with ~/.pgpass."""
    file = tmp_path / "pw"
    declared, _ = declaration.read(with_password(file, "secret\n", mode))
    with pytest.raises(UnavailableError, match="may be read by others") as raised:
        password(declared)
    assert f"chmod 600 {file}" in raised.value.advice
    for private in (0o600, 0o400):
        file.chmod(private)
        assert password(declared) == "secret"


def test_no_password_is_in_what_is_printed_of_a_cluster(tmp_path: Path) -> None:
    """Neither where one goes nor what runs: both end in tracebacks and messages."""
    cluster_spec = with_password(tmp_path / "pw", "s3cret")
    declared, _ = declaration.read(cluster_spec)
    address = declaration.address(declared, "bench", Place("10.0.0.11", 5433))
    assert address.password == "s3cret" and "s3cret" not in repr(address)
    with running(Server(), cluster_spec) as cluster:
        assert cluster.endpoints[0].password == "s3cret"
        assert "s3cret" not in repr(cluster)
        assert "s3cret" not in repr(sql.local(cluster.endpoints[0]))
