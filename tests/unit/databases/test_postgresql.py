"""PostgreSQL without a server: settings, refusals, command lines, order of stopping, cache plan.

Goal: nodes are started and stopped, and profiles refused, as the modules say. Method: literals
compared with the pure parts, and a fake engine that records its calls. The server itself is tested
in tests/integration/test_postgresql.py.
"""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from orchestrator.databases.postgresql import PostgreSQL, nodes, queries, settings
from orchestrator.databases.postgresql.queries import Extent, Relation
from orchestrator.errors import Mistake, NodeError, RunError, UnavailableError, UsageError
from orchestrator.model import Cluster, ClusterSpec, Endpoint, Node, NodeSize, Volume
from orchestrator.platforms import own_images
from orchestrator.powers import ContainerSpec, Mount, Network
from orchestrator.system import sql
from tests import ROOT
from tests.fakes import FakeClock, FakePlatform, fake_world

MIB, GIB = 2**20, 2**30
NETWORK = Network("net", ("10.1.2.11", "10.1.2.12", "10.1.2.13"))
SMOKE = NodeSize(cpus=1.0, memory_bytes=192 * MIB, disk_bytes=2 * GIB)
STUDY = NodeSize(cpus=8.0, memory_bytes=32 * GIB, disk_bytes=250 * GIB)


def spec(nodes: int = 1, size: NodeSize = SMOKE, **changes: Any) -> ClusterSpec:
    return replace(ClusterSpec("postgresql", nodes, nodes, size), **changes)


def volumes(count: int, restored: bool = False) -> tuple[Volume, ...]:
    return tuple(Volume(f"vol-{k}", f"/dev/loop{k}", restored) for k in range(1, count + 1))


# ------------------------------------------------------------------ settings


def test_settings_of_a_smoke_node() -> None:
    assert settings.applied(spec()) == {
        "listen_addresses": "*", "shared_buffers": "49152kB", "effective_cache_size": "147456kB",
        "maintenance_work_mem": "6144kB", "huge_pages": "off", "max_connections": "200",
        "fsync": "on", "full_page_writes": "on", "synchronous_commit": "on",
        "wal_level": "replica", "wal_compression": "lz4", "max_wal_size": "512MB",
        "min_wal_size": "128MB", "checkpoint_timeout": "5min",
        "checkpoint_completion_target": "0.9", "max_wal_senders": "10",
        "max_replication_slots": "10", "wal_retrieve_retry_interval": "500ms",
        "random_page_cost": "1.1", "effective_io_concurrency": "200",
        "maintenance_io_concurrency": "64", "max_parallel_workers": "1",
        "max_parallel_workers_per_gather": "0", "max_parallel_maintenance_workers": "0",
        "jit": "off", "autovacuum": "on", "log_checkpoints": "on",
        "log_autovacuum_min_duration": "1s", "track_io_timing": "on", "track_wal_io_timing": "on",
        "restart_after_crash": "off",
    }  # fmt: skip


def test_a_larger_node_differs_in_sizes_only() -> None:
    small, large = settings.applied(spec()), settings.applied(spec(size=STUDY))
    assert {name: value for name, value in large.items() if value != small[name]} == {
        "shared_buffers": "8388608kB",
        "effective_cache_size": "25165824kB",
        "maintenance_work_mem": "1048576kB",
        "max_connections": "1000",
        "max_wal_size": "64000MB",
        "min_wal_size": "16000MB",
        "max_parallel_workers": "8",
        "max_parallel_workers_per_gather": "4",
        "max_parallel_maintenance_workers": "4",
    }


def test_what_a_standby_compares_with_its_primary_does_not_follow_from_memory_or_cpus() -> None:
    """A data set is loaded with more memory than it is measured with."""
    roomy = replace(SMOKE, memory_bytes=3 * GIB, cpus=2.0)
    compared = {"max_connections", "max_wal_senders", "max_worker_processes", "wal_level"}
    small, large = settings.applied(spec(3)), settings.applied(spec(3, roomy))
    assert {k: small.get(k) for k in compared} == {k: large.get(k) for k in compared}


def test_the_profile_wins_in_any_case_of_letters() -> None:
    own = spec(settings={"Shared_Buffers": "64MB", "work_mem": "8MB"})
    applied = settings.applied(own)
    assert (applied["shared_buffers"], applied["work_mem"]) == ("64MB", "8MB")
    assert "Shared_Buffers" not in applied
    assert settings.own(own) == {"shared_buffers": "64MB", "work_mem": "8MB"}


@pytest.mark.parametrize(
    ("replicas", "names"),
    [
        (1, ""),
        (2, "ANY 1 (node_2)"),
        (3, "ANY 1 (node_2, node_3)"),
        (4, "ANY 2 (node_2, node_3, node_4)"),
        (5, "ANY 2 (node_2, node_3, node_4, node_5)"),
    ],
)
def test_a_majority_with_the_primary_has_flushed(replicas: int, names: str) -> None:
    assert settings.synchronous_standby_names(replicas) == names
    flushing = int(names.split()[1]) if names else 0
    assert 1 + flushing > replicas / 2


# ------------------------------------------------------------------ refusals


def refused(**changes: Any) -> dict[str, str]:
    return by_place(settings.mistakes(spec(**changes), "17", 128 * MIB))


def by_place(mistakes: Sequence[Mistake]) -> dict[str, str]:
    return {mistake.where: mistake.what for mistake in mistakes}


def test_a_plain_cluster_has_no_mistakes() -> None:
    assert refused() == {}
    assert refused(nodes=3, version="17.4", settings={"work_mem": "8MB"}) == {}


def test_more_nodes_than_copies_are_standbys_that_no_commit_waits_for() -> None:
    assert refused(nodes=5, replication_factor=3) == {}
    assert refused(nodes=100, replication_factor=3) == {}
    cluster = spec(100, replication_factor=3)
    network = Network("net", tuple(f"10.1.2.{11 + number}" for number in range(100)))
    plans = nodes.container_specs(cluster, volumes(100), network, "image:1", "s3cret")
    assert plans[0].command[-1] == "synchronous_standby_names=ANY 1 (node_2, node_3)"
    assert plans[99].command[:3] == ("standby", "10.1.2.11", "node_100")
    for name in ("max_wal_senders", "max_replication_slots"):
        assert int(settings.applied(cluster)[name]) > 99


def test_a_copy_needs_a_node() -> None:
    assert refused(nodes=2, replication_factor=3) == {
        "cluster.replication_factor": "3 copies on 2 node(s): every copy needs a node of its own"
    }


def test_all_mistakes_come_at_once() -> None:
    mistakes = refused(
        nodes=101,
        size=replace(SMOKE, memory_bytes=64 * MIB),
        version="16",
        settings={"port": "5433", "a.b": "1", "-x": "1"},
    )
    assert list(mistakes) == [
        "cluster.nodes",
        "cluster.version",
        "cluster.node.memory",
        "cluster.settings.port",
        "cluster.settings.a.b",
        "cluster.settings.-x",
    ]


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("fsync", "off"),
        ("FSYNC", "no"),
        ("fsync", "of"),
        ("full_page_writes", "0"),
        ("synchronous_commit", "off"),
        ("synchronous_commit", "local"),
        ("synchronous_commit", "remote_write"),
    ],
)
def test_durability_is_given_up_only_by_name(name: str, value: str) -> None:
    where = f"cluster.settings.{name.lower()}"
    assert f"add `accept_data_loss: {name.lower()}`" in refused(settings={name: value})[where]
    assert refused(settings={name: value, "accept_data_loss": name}) == {}


def test_durable_values_and_unknown_names_of_accepted_losses() -> None:
    assert refused(settings={"synchronous_commit": "remote_apply", "fsync": "on"}) == {}
    (reason,) = refused(settings={"accept_data_loss": "fsync, jit"}).values()
    assert reason == "jit is none of fsync, full_page_writes, synchronous_commit"


def test_what_the_server_refuses_is_said_in_its_words() -> None:
    lines = (
        'foo\tFATAL: unrecognized configuration parameter "foo"\n'
        'work_mem\tFATAL: invalid value for parameter "work_mem": "1XB" HINT: Valid units: "kB"\n'
    )
    assert by_place(settings.refused_by_server(lines)) == {
        "cluster.settings.foo": 'unrecognized configuration parameter "foo"',
        "cluster.settings.work_mem": 'invalid value for parameter "work_mem": "1XB". '
        'Valid units: "kB"',
    }


# ------------------------------------------------------------------ command lines


def test_three_nodes_as_containers() -> None:
    cluster = spec(3, port=5499, settings={"work_mem": "8MB"})
    plans = nodes.container_specs(cluster, volumes(3), NETWORK, "image:1", "s3cret")
    options = settings.options(settings.applied(cluster))
    assert plans[0] == ContainerSpec(
        name="net-node-1",
        image="image:1",
        command=("primary", *options, "-c", "synchronous_standby_names=ANY 1 (node_2, node_3)"),
        role="database",
        mounts=(Mount("vol-1", "/data"),),
        network="net",
        address="10.1.2.11",
        ports={5432: 5499},
        cpus=1.0,
        memory_bytes=192 * MIB,
        shared_memory_bytes=64 * MIB,
        placement="node-1",
    )
    assert [plan.placement for plan in plans] == ["node-1", "node-2", "node-3"]
    assert [plan.command[:3] for plan in plans[1:]] == [
        ("standby", "10.1.2.11", "node_2"),
        ("standby", "10.1.2.11", "node_3"),
    ]
    assert [plan.address for plan in plans] == ["10.1.2.11", "10.1.2.12", "10.1.2.13"]
    assert [plan.ports for plan in plans[1:]] == [{}, {}]
    assert [plan.environment for plan in plans[1:]] == [{"PGPASSWORD": "s3cret"}] * 2
    assert plans[1].command[3:] == options
    assert options[:4] == ("-c", "listen_addresses=*", "-c", "shared_buffers=49152kB")
    assert options[-2:] == ("-c", "work_mem=8MB")


# ------------------------------------------------------------------ cache plan


def test_the_cache_holds_indexes_first_and_tables_in_proportion() -> None:
    relations = [Relation(1, False, 300), Relation(2, True, 40), Relation(3, False, 100)]
    assert queries.fill(relations, shared_blocks=60, file_blocks=100) == (
        Extent(2, "buffer", 0, 39),
        Extent(1, "buffer", 0, 14),
        Extent(1, "read", 15, 89),
        Extent(3, "buffer", 0, 4),
        Extent(3, "read", 5, 29),
    )


def test_indexes_that_exceed_shared_buffers_go_on_in_the_page_cache() -> None:
    assert queries.fill([Relation(1, False, 9), Relation(2, True, 30)], 10, 15) == (
        Extent(2, "buffer", 0, 9),
        Extent(2, "read", 10, 24),
    )


def test_data_that_fit_are_read_whole_and_in_pieces() -> None:
    assert queries.fill([Relation(1, False, 20_000)], 5_000, 90_000) == (
        Extent(1, "buffer", 0, 4_999),
        Extent(1, "read", 5_000, 13_191),
        Extent(1, "read", 13_192, 19_999),
    )
    assert queries.fill([], 10, 10) == ()


# ------------------------------------------------------------------ a fake engine and server


class Server:
    """Answers every statement as a healthy cluster of `standbys` does."""

    def __init__(self, standbys: int) -> None:
        self.row = {"server_version": "17.4 (Debian)", "replicas_caught_up": standbys}
        self.statements: list[str] = []
        self.failure: RunError | None = None

    @contextmanager
    def session(self, _endpoint: Endpoint, _timeout_s: float) -> Iterator[Server]:
        if self.failure:
            raise self.failure
        yield self

    def rows(self, statement: str) -> list[dict[str, Any]]:
        self.statements.append(statement.split()[0])
        return [self.row]


class Bench:
    def __init__(self, nodes: int) -> None:
        self.engine = FakePlatform(images=[own_images.tag(ROOT, "postgres")])
        self.engine.said.default_factory = lambda: "LOG:  database system is shut down\n"
        self.clock, self.server = FakeClock(), Server(nodes - 1)
        self.world = fake_world(clock=self.clock, platform=self.engine)
        connect: Any = self.server.session
        self.database = PostgreSQL(connect)
        self.nodes = nodes

    def run(self, body: Callable[[Cluster], None] = lambda _cluster: None) -> None:
        disks = volumes(self.nodes)
        with self.database.running(spec(self.nodes), disks, NETWORK, self.world) as cluster:
            body(cluster)

    def stops(self) -> list[tuple[Any, ...]]:
        return [entry[1:] for entry in self.engine.asked if entry[0] == "stop"]


# ------------------------------------------------------------------ up and down


def test_the_cluster_as_others_see_it() -> None:
    seen: list[Cluster] = []
    Bench(2).run(seen.append)
    password = seen[0].endpoints[0].password
    assert seen[0] == Cluster(
        database="postgresql",
        version="17.4",
        nodes=tuple(
            Node(f"node-{k}", "database", f"net-node-{k}", 42, f"loop{k}", 1.0, 192 * MIB, {}, "id")
            for k in (1, 2)
        ),
        endpoints=(Endpoint("10.1.2.11", 5432, 15432, "bench", password, "bench"),),
        network="net",
    )


def test_every_start_makes_up_new_passwords_that_no_command_line_holds() -> None:
    """Set through the primary's own socket, before a standby needs one; disks carry them along."""
    seen: list[Cluster] = []
    benches = [Bench(2), Bench(2)]
    for bench in benches:
        bench.run(seen.append)
    clients = [cluster.endpoints[0].password for cluster in seen]
    for bench, password in zip(benches, clients, strict=True):
        calls = [entry for entry in bench.engine.asked if entry[0] in ("start", "exec")]
        assert [call[:2] for call in calls] == [
            ("start", "net-node-1"), ("exec", "net-node-1"), ("start", "net-node-2"),
        ]  # fmt: skip
        started = {name: spec.environment for name, spec in bench.engine.specs.items()}
        standby = started["net-node-2"]["PGPASSWORD"]
        (handed,) = bench.engine.environments
        assert set(handed.values()) == {password, standby}
        assert started["net-node-1"] == {}
        for secret in (password, standby):
            assert len(secret) >= 20 and secret not in ("bench", "standby")
            commands = [spec.command for spec in bench.engine.specs.values()]
            assert secret not in str(bench.engine.asked) + str(commands)
    assert len(set(clients)) == 2


def test_a_primary_that_lets_nobody_in_is_told_with_its_log() -> None:
    def refuse(container: str, _argv: Sequence[str]) -> str:
        raise RunError("node passwords: too late")

    bench = Bench(2)
    bench.engine.answer = refuse
    bench.engine.said["net-node-1"] = "PANIC:  disk full\n"
    with pytest.raises(RunError, match="too late"):
        bench.run()
    bench.engine.states["net-node-1"] = "exited (exit 1)"
    with pytest.raises(NodeError, match=r"net-node-1 is exited \(exit 1\)") as caught:
        bench.run()
    assert "PANIC:  disk full" in caught.value.evidence


@pytest.mark.parametrize("restored", [False, True], ids=["a load", "a load that goes on"])
def test_disks_that_are_kept_are_stopped_cleanly_primary_first(restored: bool) -> None:
    bench = Bench(3)
    with bench.database.running(spec(3), volumes(3, restored), NETWORK, bench.world):
        pass
    primary, *standbys = bench.stops()
    assert primary == ("net-node-1", 180.0)
    assert sorted(standbys) == [("net-node-2", 180.0), ("net-node-3", 180.0)]
    *removed, last = bench.engine.asked[-3:]
    assert sorted(removed) == [("remove", f"net-node-{k}") for k in (2, 3)]
    assert last == ("remove", "net-node-1")


@pytest.mark.parametrize(
    ("restored", "kept", "error"),
    [
        (True, False, None),
        # On a slow disk the last checkpoint alone takes longer than the time for a clean stop.
        (False, False, None),
        (False, True, KeyboardInterrupt()),
    ],
    ids=["restored copies", "disks that are not kept", "an interrupt"],
)
def test_servers_on_disks_that_nobody_needs_are_killed(
    restored: bool, kept: bool, error: BaseException | None
) -> None:
    bench = Bench(2)
    disks = [replace(disk, kept=kept) for disk in volumes(2, restored)]
    with (
        pytest.raises(KeyboardInterrupt) if error else nullcontext(),
        bench.database.running(spec(2), disks, NETWORK, bench.world),
    ):
        if error:
            raise error
    assert sorted(bench.stops()) == [("net-node-1", 0), ("net-node-2", 0)]


def test_a_node_that_does_not_stop_cleanly_spoils_the_disks() -> None:
    bench = Bench(2)
    bench.engine.said["net-node-2"] = "PANIC:  disk full\n"
    with pytest.raises(NodeError, match="net-node-2 did not stop cleanly") as caught:
        bench.run()
    assert "PANIC:  disk full" in caught.value.evidence


def test_a_node_that_dies_at_start_is_told_with_its_log() -> None:
    bench = Bench(2)
    bench.engine.states["net-node-2"] = "exited (exit 1)"
    bench.engine.said["net-node-2"] = "FATAL:  could not map shared memory\n"
    with pytest.raises(NodeError, match=r"net-node-2 is exited \(exit 1\)") as caught:
        bench.run()
    assert "could not map shared memory" in caught.value.evidence
    assert sorted(bench.stops()) == [("net-node-1", 0), ("net-node-2", 0)]


def test_a_standby_that_never_catches_up_is_given_up() -> None:
    bench = Bench(3)
    bench.server.row["replicas_caught_up"] = 1
    started_s = bench.clock.monotonic()
    with pytest.raises(NodeError, match="within 300 s: 1 of 2 standbys have caught up"):
        bench.run()
    assert 300 <= bench.clock.monotonic() - started_s < 301


def test_a_lost_session_is_a_dead_node_where_one_died() -> None:
    bench = Bench(1)

    def lose(cluster: Cluster) -> None:
        bench.server.failure = RunError("server closed the connection")
        with pytest.raises(RunError, match="server closed the connection"):
            bench.database.facts(cluster, bench.world)
        bench.engine.states["net-node-1"] = "exited (exit 137)"
        with pytest.raises(NodeError, match=r"net-node-1 is exited \(exit 137\)"):
            bench.database.facts(cluster, bench.world)

    bench.run(lose)


def test_checkpoints_are_taken_on_all_nodes_before_measuring() -> None:
    bench = Bench(2)
    bench.run(lambda cluster: bench.database.begin_measuring(cluster, bench.world))
    executed = [entry for entry in bench.engine.asked if entry[0] == "exec"][1:]
    assert [(entry[1], entry[-1]) for entry in executed] == [("net-node-2", "CHECKPOINT")]
    assert "CHECKPOINT" in bench.server.statements


# ------------------------------------------------------------------ before anything starts


def test_a_missing_image_is_unavailable() -> None:
    bench = Bench(1)
    bench.engine.images.here.clear()
    with pytest.raises(UnavailableError, match="tierbench/postgres:"):
        bench.database.check(spec(), bench.world)
    assert bench.engine.asked == []


def test_a_taken_port_is_named_before_anything_starts() -> None:
    bench = Bench(1)
    with socket.socket() as holder:
        holder.bind(("127.0.0.1", 0))
        holder.listen()
        port = holder.getsockname()[1]
        with pytest.raises(UnavailableError, match=f"port {port} on 127.0.0.1 is taken"):
            bench.database.check(spec(port=port), bench.world)
    assert bench.engine.asked == []
    bench.database.check(spec(port=port), bench.world)


def test_the_server_is_asked_about_own_settings_only() -> None:
    bench = Bench(1)
    bench.database.check(spec(), bench.world)
    assert bench.engine.asked == []
    bench.engine.answer = lambda *_: "foo\tFATAL: unrecognized\n"
    with pytest.raises(UsageError) as caught:
        bench.database.check(spec(settings={"foo": "1"}), bench.world)
    assert by_place(caught.value.mistakes) == {"cluster.settings.foo": "unrecognized"}
    assert bench.engine.asked[1][2:] == ("node", "verify", "foo=1")


def test_errors_of_psycopg_stop_at_the_session() -> None:
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        endpoint = Endpoint("", 5432, closed.getsockname()[1], "bench", "bench", "bench")
        with (
            pytest.raises(RunError, match=r"SQL at 127\.0\.0\.1:"),
            sql.session(sql.local(endpoint), 1.0),
        ):
            pytest.fail("nobody listens")


LOG = """\
2026-11-22 12:19:32.965 UTC [1] LOG:  database system is ready to accept connections
2026-11-22 12:19:35.450 UTC [21] LOG:  checkpoint starting: immediate force wait
2026-11-22 12:19:35.470 UTC [21] LOG:  checkpoint complete: wrote 4 buffers (0.1%); 0 WAL file(s) \
added, 0 removed, 0 recycled; write=0.001 s, sync=0.007 s, total=0.021 s; sync files=3
2026-11-22 12:20:32.120 UTC [21] LOG:  checkpoint complete: wrote 997 buffers (3.0%); 0 WAL file(s)
"""


def test_checkpoints_are_read_from_the_log() -> None:
    first = datetime(2026, 11, 22, 12, 19, 35, 470_000, UTC).timestamp()
    assert nodes.checkpoints_s(LOG) == pytest.approx((first, first + 56.65))
    assert nodes.checkpoints_s("a log of another form") is None


@pytest.mark.parametrize(("setting", "seconds"), [("5min", 300.0), ("30s", 30.0), ("'90'", 90.0)])
def test_the_interval_of_checkpoints_as_a_profile_may_write_it(
    setting: str, seconds: float
) -> None:
    shorter = spec(settings={"checkpoint_timeout": setting})
    assert PostgreSQL().checkpoint_interval_s(shorter) == seconds


def test_an_interval_that_cannot_be_read_is_refused() -> None:
    with pytest.raises(UsageError, match="checkpoint_timeout"):
        PostgreSQL().checkpoint_interval_s(spec(settings={"checkpoint_timeout": "often"}))
