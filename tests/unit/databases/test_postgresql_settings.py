"""PostgreSQL's settings, what is refused of them, command lines and the plan of its cache."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from orchestrator.databases.postgresql import (
    PostgreSQL,
    queries,
    settings,
)
from orchestrator.databases.postgresql.containers import container_specs
from orchestrator.databases.postgresql.queries import Extent
from orchestrator.databases.postgresql.settings import checkpoint_interval_s
from orchestrator.errors import UsageError
from orchestrator.model import NodeSize
from orchestrator.powers import ContainerSpec, Mount, Network
from tests.fake_postgresql import GIB, MIB, NETWORK, SMOKE, by_place, spec, volumes
from tests.fakes import fake_world

STUDY = NodeSize(cpus=8.0, memory_bytes=32 * GIB, disk_bytes=250 * GIB)


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


@pytest.mark.parametrize(
    ("disk_bytes", "connections"), [(64 * GIB, "1000"), (64 * GIB - 1, "200")]
)
def test_a_disk_of_64_gib_takes_many_connections(
    disk_bytes: int, connections: str
) -> None:
    size = replace(SMOKE, disk_bytes=disk_bytes)
    assert settings.applied(spec(size=size))["max_connections"] == connections


@pytest.mark.parametrize(
    ("size", "changed"),
    [
        (replace(SMOKE, memory_bytes=64 * MIB), {"maintenance_work_mem": "4096kB"}),
        (
            replace(SMOKE, memory_bytes=128 * GIB),
            {"maintenance_work_mem": "2097152kB"},
        ),
        (replace(SMOKE, disk_bytes=256 * MIB), {"max_wal_size": "128MB"}),
        (replace(SMOKE, disk_bytes=2**40), {"max_wal_size": "65536MB"}),
        (
            replace(SMOKE, cpus=0.5),
            {"max_parallel_workers": "1", "max_parallel_workers_per_gather": "0"},
        ),
        (
            replace(SMOKE, cpus=16.0),
            {"max_parallel_workers": "16", "max_parallel_workers_per_gather": "4"},
        ),
    ],
)
def test_what_follows_from_a_node_s_size_has_a_least_and_a_most(
    size: NodeSize, changed: dict[str, str]
) -> None:
    applied = settings.applied(spec(size=size))
    assert {name: applied[name] for name in changed} == changed


@pytest.mark.parametrize(("nodes", "senders"), [(3, "10"), (5, "10"), (6, "12")])
def test_each_standby_may_have_two_senders(nodes: int, senders: str) -> None:
    given = replace(spec(3), nodes=nodes)
    assert settings.applied(given)["max_wal_senders"] == senders


def test_what_a_standby_compares_with_its_primary_does_not_follow_from_memory_or_cpus() -> (
    None
):
    """A data set is loaded with more memory than it is measured with."""
    roomy = replace(SMOKE, memory_bytes=3 * GIB, cpus=2.0)
    compared = {
        "max_connections",
        "max_wal_senders",
        "max_worker_processes",
        "wal_level",
    }
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
    own = spec(replication_factor=replicas, nodes=replicas)
    assert settings.synchronous_standby_names(own) == names
    flushing = int(names.split()[1]) if names else 0
    assert 1 + flushing > replicas / 2


@pytest.mark.parametrize(
    ("replicas", "names"),
    [(1, ""), (2, "ANY 1 (node_2)"), (3, "ANY 2 (node_2, node_3)")],
)
def test_a_commit_can_wait_for_all_copies(replicas: int, names: str) -> None:
    waiting = spec(
        replication_factor=replicas,
        nodes=replicas,
        settings={"commit_waits_for": "all"},
    )
    assert settings.synchronous_standby_names(waiting) == names
    assert settings.own(waiting) == {}, "no server knows it"
    assert settings.mistakes(waiting) == []


# ------------------------------------------------------------------ refusals


def refused(**changes: Any) -> dict[str, str]:
    return by_place(settings.mistakes(spec(**changes)))


def test_a_plain_cluster_has_no_mistakes() -> None:
    assert refused() == {}
    assert refused(nodes=3, version="17.4", settings={"work_mem": "8MB"}) == {}


def test_more_nodes_than_copies_are_standbys_that_no_commit_waits_for() -> None:
    assert refused(nodes=5, replication_factor=3) == {}
    assert refused(nodes=100, replication_factor=3) == {}
    cluster = spec(100, replication_factor=3)
    network = Network("net", tuple(f"10.1.2.{11 + number}" for number in range(100)))
    plans = container_specs(cluster, volumes(100), network, "image:1", "s3cret")
    assert plans[0].command[-1] == "synchronous_standby_names=ANY 1 (node_2, node_3)"
    assert plans[99].command[:3] == ("standby", "10.1.2.11", "node_100")
    for name in ("max_wal_senders", "max_replication_slots"):
        assert int(settings.applied(cluster)[name]) > 99


def test_a_copy_needs_a_node() -> None:
    assert refused(nodes=2, replication_factor=3) == {
        "cluster.replication_factor": "3 copies on 2 node(s): every copy needs a node of its own"
    }


def test_settings_of_what_counts_statements_may_be_given() -> None:
    library = {"shared_preload_libraries": "pg_stat_statements"}
    assert refused(settings={**library, "pg_stat_statements.track": "all"}) == {}


def test_all_mistakes_come_at_once() -> None:
    mistakes = refused(
        nodes=101,
        size=replace(SMOKE, memory_bytes=64 * MIB),
        version="16",
        settings={"port": "5433", "a.b.c": "1", "-x": "1"},
    )
    assert list(mistakes) == [
        "cluster.nodes",
        "cluster.node.memory",
        "cluster.version",
        "cluster.settings.port",
        "cluster.settings.a.b.c",
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
    assert (
        f"add `accept_data_loss: {name.lower()}`"
        in refused(settings={name: value})[where]
    )
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
    plans = container_specs(cluster, volumes(3), NETWORK, "image:1", "s3cret")
    options = settings.options(settings.applied(cluster))
    assert plans[0] == ContainerSpec(
        name="net-node-1",
        image="image:1",
        command=(
            "primary",
            *options,
            "-c",
            "synchronous_standby_names=ANY 1 (node_2, node_3)",
        ),
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


def relation(oid: int, is_index: bool, blocks: int) -> dict[str, int]:
    return {"oid": oid, "is_index": is_index, "blocks": blocks}


def test_the_cache_holds_indexes_and_tables_in_proportion() -> None:
    relations = [
        relation(1, False, 300),
        relation(2, True, 40),
        relation(3, False, 100),
    ]
    assert queries.fill(relations, shared_blocks=60, file_blocks=100) == (
        Extent(3, 5, 29),
        Extent(1, 15, 89),
        Extent(3, 0, 4),
        Extent(1, 0, 14),
        Extent(2, 0, 39),
    )


def test_indexes_that_exceed_shared_buffers_go_on_in_the_page_cache() -> None:
    assert queries.fill([relation(1, False, 9), relation(2, True, 30)], 10, 15) == (
        Extent(2, 10, 24),
        Extent(2, 0, 9),
    )


def test_data_that_fit_are_read_whole_and_in_pieces() -> None:
    assert queries.fill([relation(1, False, 20_000)], 5_000, 90_000) == (
        Extent(1, 13_192, 19_999),
        Extent(1, 5_000, 13_191),
        Extent(1, 0, 4_999),
    )
    assert queries.fill([], 10, 10) == ()


@pytest.mark.parametrize(
    ("setting", "seconds"), [("5min", 300.0), ("30s", 30.0), ("'90'", 90.0)]
)
def test_the_interval_of_checkpoints_as_a_profile_may_write_it(
    setting: str, seconds: float
) -> None:
    shorter = spec(settings={"checkpoint_timeout": setting})
    assert checkpoint_interval_s(shorter) == seconds


@pytest.mark.parametrize("setting", ["often", "5m", "1w"])  # PostgreSQL has only `min`
def test_an_interval_that_cannot_be_read_is_refused(setting: str) -> None:
    with pytest.raises(UsageError, match="checkpoint_timeout"):
        checkpoint_interval_s(spec(settings={"checkpoint_timeout": setting}))


def test_without_commits_nothing_waits_for_a_sync_whatever_the_profile_says() -> None:
    own = replace(spec(), settings={"synchronous_commit": "on", "work_mem": "8MB"})
    with_sync, without = (
        settings.applied(own),
        settings.applied(replace(own, without="commit")),
    )
    changed = {
        name: value for name, value in without.items() if value != with_sync[name]
    }
    assert changed == {"fsync": "off", "synchronous_commit": "off"}


def test_what_a_commit_cannot_wait_for_is_refused() -> None:
    (reason,) = refused(settings={"commit_waits_for": "two"}).values()
    assert reason == "use `majority` or `all` (copies)"


@pytest.mark.parametrize(
    ("disk_bytes", "most"),
    [
        (256 * MIB, "128MB"),
        (512 * MIB, "128MB"),
        (516 * MIB, "129MB"),
        (256 * GIB, "65536MB"),
        (512 * GIB, "65536MB"),
    ],
)
def test_the_log_takes_a_quarter_of_its_disk_between_128_mib_and_64_gib(
    disk_bytes: int, most: str
) -> None:
    size = replace(SMOKE, disk_bytes=disk_bytes)
    assert settings.applied(spec(size=size))["max_wal_size"] == most


def test_a_cluster_that_cannot_be_is_refused_before_an_image_is_asked_for() -> None:
    with pytest.raises(UsageError, match="PostgreSQL cannot run this cluster"):
        PostgreSQL().check(spec(nodes=2, replication_factor=3), fake_world())
