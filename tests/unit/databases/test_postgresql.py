"""PostgreSQL without a server: nodes are started and stopped in order on a fake engine.

The server itself is tested in tests/integration/test_postgresql.py.
"""

from __future__ import annotations

import socket
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import replace
from datetime import UTC, datetime

import pytest

from orchestrator.databases.postgresql import checkpoints_s
from orchestrator.errors import NodeError, RunError, UnavailableError, UsageError
from orchestrator.model import Cluster, Endpoint, Node
from orchestrator.powers import Completed, ContainerState
from orchestrator.system import sql
from tests.fake_postgresql import MIB, NETWORK, Bench, by_place, spec, volumes
from tests.fakes import completed

# ------------------------------------------------------------------ up and down


def test_the_cluster_as_others_see_it() -> None:
    seen: list[Cluster] = []
    Bench(2).run(seen.append)
    password = seen[0].endpoints[0].password
    assert seen[0] == Cluster(
        database="postgresql",
        version="17.4",
        nodes=tuple(
            Node(
                f"node-{k}",
                "database",
                f"net-node-{k}",
                42,
                f"loop{k}",
                1.0,
                192 * MIB,
                {},
                "id",
            )
            for k in (1, 2)
        ),
        endpoints=(Endpoint("10.1.2.11", 5432, 15432, "bench", password, "bench"),),
        network="net",
        analyze=False,  # that is done when it settles
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
    bench.engine.states["net-node-1"] = ContainerState("exited (exit 1)", exit_code=1)
    with pytest.raises(NodeError, match=r"net-node-1 is exited \(exit 1\)") as caught:
        bench.run()
    assert "PANIC:  disk full" in caught.value.evidence


@pytest.mark.parametrize(
    "restored", [False, True], ids=["a load", "a load that goes on"]
)
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
    bench.engine.states["net-node-2"] = ContainerState("exited (exit 1)", exit_code=1)
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


def test_the_last_node_starts_anew_on_an_emptied_disk_under_its_name() -> None:
    bench = Bench(3)

    def lose(cluster: Cluster) -> None:
        node, first = cluster.nodes[-1], bench.engine.specs["net-node-3"]
        bench.engine.asked.clear()
        new = bench.database.start_anew(node, cluster, bench.world)
        asked = [entry[:2] for entry in bench.engine.asked]
        name, emptying = "net-node-3", "net-node-3-empty"
        assert asked == [("remove", name), ("once", emptying), ("stand", name)]
        assert bench.engine.specs["net-node-3"] == first, "as it was started"
        assert first.note == "", "so that it is removed with the others"
        assert (new.name, new.device) == (node.name, node.device)
        bench.database.await_rebuilt(cluster, bench.world, 10.0)
        bench.engine.answer = lambda *_: completed(
            "rm: read-only file system", exit_code=1
        )
        with pytest.raises(RunError, match="net-node-3 could not be emptied"):
            bench.database.start_anew(node, cluster, bench.world)

    bench.run(lose)


def test_a_standby_under_load_need_have_no_more_than_was_flushed_a_look_before() -> (
    None
):
    """It never has all: while it is asked more is flushed."""
    bench = Bench(2)
    looks: list[str] = []

    def rows(statement: str) -> list[dict[str, object]]:
        if "pg_stat_replication" in statement:
            looks.append(statement)
        behind = "replay_lsn >= pg_current_wal_flush_lsn()" in statement
        return [{**bench.server.row, "replicas_caught_up": 0 if behind else 1}]

    def wait(cluster: Cluster) -> None:
        bench.server.rows = rows  # type: ignore[method-assign]
        bench.database.await_rebuilt(cluster, bench.world, 10.0)

    bench.run(wait)
    assert len(looks) == 2 and "replay_lsn >= '0/3000060'" in looks[1]


def test_a_lost_session_is_a_dead_node_where_one_died() -> None:
    bench = Bench(1)

    def lose(cluster: Cluster) -> None:
        bench.server.failure = RunError("server closed the connection")
        with pytest.raises(RunError, match="server closed the connection"):
            bench.database.facts(cluster, bench.world)
        bench.engine.states["net-node-1"] = ContainerState(
            "exited (exit 137)", exit_code=137
        )
        with pytest.raises(NodeError, match=r"net-node-1 is exited \(exit 137\)"):
            bench.database.facts(cluster, bench.world)

    bench.run(lose)


def test_checkpoints_are_taken_on_all_nodes_before_measuring() -> None:
    bench = Bench(2)
    bench.run(lambda cluster: bench.database.begin_measuring(cluster, bench.world))
    executed = [entry for entry in bench.engine.asked if entry[0] == "exec"][1:]
    assert [(entry[1], entry[-1]) for entry in executed] == [
        ("net-node-2", "CHECKPOINT")
    ]
    assert "CHECKPOINT" in bench.server.statements


# ------------------------------------------------------------------ filling caches

# As psql 17.12 writes both with VERBOSITY=verbose; the first in words of another language, the
# second of a column that is called like the limit.
GIVEN_UP = """FATAL:  25P04: Verbindung wird abgebrochen wegen Zeitüberschreitung
LOCATION:  ProcessInterrupts, postgres.c:3464
server closed the connection unexpectedly
"""
REFUSED = """ERROR:  42703: column "transaction timeout" does not exist
LOCATION:  errorMissingColumn, parse_relation.c:3716
"""


def warmed(*refusals: str) -> Bench:
    """Where psql ended so on one node after the other; it reads to the end where it says
    nothing."""
    bench = Bench(len(refusals))
    bench.server.row |= {
        "shared_buffers_bytes": 64 * MIB,
        "oid": 1,
        "is_index": False,
        "blocks": 8,
    }
    bench.run(lambda cluster: warm(bench, cluster, refusals))
    return bench


def warm(bench: Bench, cluster: Cluster, refusals: Sequence[str]) -> None:
    by_container: dict[str, Completed] = {}
    for node, refusal in zip(cluster.nodes, refusals, strict=True):
        ended = completed()
        if refusal:
            ended = completed(exit_code=2, err=refusal)
        by_container[node.container or ""] = ended
    bench.engine.answer = lambda container, _argv: by_container[container]
    bench.database.warm(cluster, bench.world)


def test_reading_that_the_server_gave_up_is_a_cache_that_is_not_full() -> None:
    """In whichever language the server tells it: psql is asked for the code, too."""
    bench = warmed(GIVEN_UP)
    (text,) = bench.world.progress.said  # type: ignore[attr-defined]
    assert "the cache was not full" in text
    readings = [entry for entry in bench.engine.asked if "--command" in entry]
    assert readings and all("--set=VERBOSITY=verbose" in entry for entry in readings)


@pytest.mark.parametrize("refusals", [(GIVEN_UP, ""), ("", GIVEN_UP)])
def test_one_node_whose_cache_is_not_full_is_enough_for_the_warning(
    refusals: tuple[str, str],
) -> None:
    bench = warmed(*refusals)
    (text,) = bench.world.progress.said  # type: ignore[attr-defined]
    assert text == "the cache was not full after 600 s of reading"
    assert not warmed("", "").world.progress.said  # type: ignore[attr-defined]


def test_another_refusal_is_no_time_that_is_over_whatever_it_names() -> None:
    with pytest.raises(RunError, match="filling the cache of net-node-1 failed"):
        warmed(REFUSED)


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
        with pytest.raises(
            UnavailableError, match=f"port {port} on 127.0.0.1 is taken"
        ):
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
        endpoint = Endpoint(
            "", 5432, closed.getsockname()[1], "bench", "bench", "bench"
        )
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
    assert checkpoints_s(LOG) == pytest.approx((first, first + 56.65))
    assert checkpoints_s("a log of another form") is None
