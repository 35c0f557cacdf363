"""What is watched of nodes that others run: their pages, the disks of their databases, counters."""

from __future__ import annotations

from contextlib import AbstractContextManager, closing
from typing import Any

import pytest

from orchestrator.databases.existing import (
    cluster_facts,
    declaration,
    exporter_host,
    probe,
)
from orchestrator.databases.existing.exporter_host import HostDisks, Places
from tests import ROOT
from tests.fake_existing import (
    POSTGRESQL,
    YUGABYTEDB,
    Server,
    a_cache,
    database,
    existing_world,
    running,
    spec,
)
from tests.fakes import QuietProgress
from tests.pages import FLAGS, Server as Pages, listed, serving

__all__ = ["a_cache"]  # each test has one of its own


FILESYSTEMS = (
    'node_filesystem_size_bytes{device="/dev/nvme1n1",mountpoint="/mnt/d0"} 1e12\n'
    'node_filesystem_size_bytes{device="/dev/sda1",mountpoint="/"} 1e10\n'
    'node_disk_reads_completed_total{device="nvme1n1"} 0\n'
    'node_disk_reads_completed_total{device="sda"} 0\n'
)


def of_each(url: str) -> str:
    """The same address for each of three hosts."""
    return f"{url} {url} {url}"


CPUS = "".join(f'node_cpu_seconds_total{{cpu="{n}",mode="idle"}} 1\n' for n in range(8))


def test_nodes_are_watched_through_their_own_pages() -> None:
    """The device is found by where the tablet server says that its data are."""
    flags = listed({"fs_data_dirs": "/mnt/d0"})
    with (
        serving({FLAGS: flags, "/metrics": CPUS + FILESYSTEMS}) as url,
        running(
            Server(), spec(tservers=of_each(url), node_exporters=of_each(url))
        ) as cluster,
    ):
        node = cluster.nodes[1]
    assert (node.name, node.role, node.cpus) == ("node-2", "database", 8.0)
    assert (node.container, node.process_id, node.device) == (None, None, None)
    assert node.sources == {
        "yb-tserver": url,
        "node-exporter": url,
        "disk-device": "nvme1n1",
    }


def test_cards_are_read_once_and_without_their_collector_none_is_known() -> None:
    """Then the exporter refuses what it is asked, as 1.5.0 does."""
    page = (ROOT / "tests/fixtures/node-exporter-1.5.0/network.txt").read_text()
    asked = "/metrics?collect[]=netclass"
    fast = page.replace(
        'speed_bytes{device="eth0"} -125000', 'speed_bytes{device="eth0"} 1.25e+09'
    )
    for answer, cards in (
        ((200, fast), {"eth0": 1.25e9}),
        ((400, "disabled collector"), {}),
    ):
        with closing(Pages()) as server:
            server.pages |= {"/metrics": (200, CPUS + FILESYSTEMS), asked: answer}
            with running(Server(), spec(node_exporters=of_each(server.url))) as cluster:
                assert [node.cards for node in cluster.nodes] == [cards] * 3
            assert server.paths.count(asked) == 3
            assert {node.cpus for node in cluster.nodes} == {8.0}


def test_facts_of_a_postgresql_say_whether_commits_are_durable() -> None:
    server = Server(banner=POSTGRESQL, databases={"postgres": set()})
    with running(server, spec(maintenance_database="postgres")) as cluster:
        facts = database(server).facts(cluster, existing_world()).recorded()
    assert cluster.database == declaration.POSTGRESQL
    assert facts["version"] == "16.4"
    assert facts["existing"] is True
    assert facts["durable"] is False
    assert facts["durability"]["synchronous_commit"] == "off"
    assert facts["data_bytes"] == 4096


@pytest.mark.parametrize("awaited", ["local", "remote_write", "on", "remote_apply"])
def test_a_commit_that_waits_for_the_disk_of_its_server_is_durable(
    awaited: str,
) -> None:
    server = Server(banner=POSTGRESQL, databases={"postgres": set()})
    server.synchronous_commit = awaited
    with running(server, spec(maintenance_database="postgres")) as cluster:
        facts = database(server).facts(cluster, existing_world()).recorded()
    assert facts["durable"] is True


def test_facts_of_a_stand_in_are_marked() -> None:
    server = Server(banner=f"{YUGABYTEDB}, a stand-in")
    with running(server, spec()) as cluster:
        assert (
            database(server).facts(cluster, existing_world()).recorded()["stand_in"]
            is True
        )


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
    assert exporter_host.device_of(PAGE, path) == disk


@pytest.mark.parametrize(
    ("keys", "places", "expected"),
    [
        ({}, Places(("/mnt/d1",), ("/mnt/d1",)), HostDisks(("sdb",))),
        ({}, Places(("/mnt/d0",), ("/mnt/log",)), HostDisks(("nvme1n1",), "dm-0")),
        ({}, Places(("/mnt/d0", "/mnt/d1"), ("/mnt/d0", "/mnt/d1")),
         HostDisks(("nvme1n1", "sdb"), None,
                     "nvme1n1 and sdb hold its data, and no single one has the tier's limits")),
        ({}, Places(("/mnt/d0",), ("/tank/wal",)),
         HostDisks(("nvme1n1",), None,
                     "/tank/wal is on no disk that its node_exporter shows, and does not count")),
        ({"devices": "sdb"}, Places(("/mnt/d0", "/mnt/d1")),
         HostDisks(("sdb",), None, "nvme1n1 and sdb hold its data, and only sdb counts")),
        ({"devices": "sdb"}, Places(("/mnt/d1",)), HostDisks(("sdb",))),
        ({"devices": "sdz"}, Places(), HostDisks(("sdz",))),
        ({}, Places(("/tank",)), HostDisks()),
        ({"wal_devices": "dm-0"}, Places(("/mnt/d1",), ("/mnt/d1",)),
         HostDisks(("sdb",), "dm-0")),
        ({"devices": "sdb", "wal_devices": "vdc"}, Places(),
         HostDisks(("sdb",), "vdc")),
        ({"wal_devices": "vdc"}, Places(), HostDisks((), "vdc")),
        ({"wal_devices": "sdb"}, Places(("/mnt/d1",), ("/mnt/d1",)),
         HostDisks(("sdb",))),
    ],
)  # fmt: skip
def test_all_directories_count_or_are_doubted(
    keys: dict[str, str],
    places: Places,
    expected: HostDisks,
) -> None:
    declared, _ = declaration.read(spec(3, 3, None, **keys))
    assert exporter_host.of_host(declared, 0, places, PAGE) == expected


@pytest.mark.parametrize(("shown_bytes", "memory_bytes"), [(8192, 8192), (0, None)])
def test_a_page_that_shows_no_memory_leaves_it_unknown(
    shown_bytes: int, memory_bytes: int | None
) -> None:
    page = f"node_memory_MemTotal_bytes {shown_bytes}\n"
    assert exporter_host.memory_bytes(page) == memory_bytes


def shown(**flags: str) -> AbstractContextManager[str]:
    metrics = f"{CPUS}node_memory_MemTotal_bytes 8192\n{PAGE}"
    return serving({FLAGS: listed(flags), "/metrics": metrics})


def test_directories_of_yugabytedb_and_its_log_are_those_of_its_flags() -> None:
    with (
        shown(fs_data_dirs="/mnt/d0,/mnt/d1", fs_wal_dirs="/mnt/log") as url,
        running(
            Server(), spec(tservers=of_each(url), node_exporters=of_each(url))
        ) as cluster,
    ):
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
    directory: str | None, tables: str, device: str | None, wal: str | None
) -> None:
    server, progress = (
        Server(POSTGRESQL, directory=directory, tables=tables),
        QuietProgress(),
    )
    with shown() as url:
        given = spec(1, 1, hosts="10.0.0.11", node_exporters=url)
        with running(server, given) as cluster:
            (node,) = cluster.nodes
        database(server).check(given, existing_world(progress))
    assert (node.sources.get("disk-device"), node.wal_device) == (device, wal)
    hint = "or let yugabyte see `data_directory` (GRANT pg_read_all_settings)"
    assert any(hint in text for text in progress.said) is (device is None)


# ------------------------------------------------------------------ what a PostgreSQL counts


@pytest.mark.parametrize(("watched", "cache_bytes"), [(False, 2**27), (True, 8192)])
def test_settings_cache_and_what_was_counted_since_measuring_began(
    watched: bool, cache_bytes: int
) -> None:
    readings: list[dict[str, Any]] = [
        {
            "blks_hit": 10,
            "blks_read": 10,
            "wal_bytes": 100,
            "wal_syncs": 1,
            "wal_sync_s": 0.5,
        },
        {
            "blks_hit": 40,
            "blks_read": 20,
            "wal_bytes": 900,
            "wal_syncs": 5,
            "wal_sync_s": 2.5,
        },
    ]
    server = Server(POSTGRESQL, counters=readings)
    with shown() as url:
        exporters = {"node_exporters": url} if watched else {}
        with running(
            server, spec(1, 1, None, hosts="10.0.0.11", **exporters)
        ) as cluster:
            database(server).begin_measuring(cluster, existing_world())
            facts = database(server).facts(cluster, existing_world())
    assert facts.settings == {"checkpoint_timeout": "5min", "shared_buffers": "128MB"}
    assert facts.cache_bytes == cache_bytes
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


def led(*leaders: str) -> list[dict[str, Any]]:
    """Of two tables, as `yb_tablet_metadata` has them: one tablet for each leader of the first."""
    rows = [
        {"tablet_id": f"{number}", "name": "stock", "leader": f"{host}:5433"}
        for number, host in enumerate(leaders)
    ]
    return [*rows, {"tablet_id": "x", "name": "orders", "leader": f"{leaders[0]}:5433"}]


def test_without_masters_tablets_and_leaders_are_asked_of_ysql() -> None:
    """As of a managed cluster, whose masters' pages are closed."""
    server = Server(tablets=led("10.0.0.11", "10.0.0.12", "10.0.0.13"))
    with running(server, spec()) as cluster:
        facts = database(server).facts(cluster, existing_world())
    assert facts.few_tablets == {"orders": 1}
    assert facts.more["tablets"] == 4
    leaders = {"10.0.0.11": 2, "10.0.0.12": 1, "10.0.0.13": 1}
    assert facts.more["leaders"] == leaders


def test_how_many_nodes_stand_behind_one_address_is_a_fact() -> None:
    """Its tablets are still asked of YSQL, and held against all nodes."""
    server = Server(tablets=led("10.0.0.11", "10.0.0.12", "10.0.0.13"))
    with running(server, spec(3, hosts="10.0.0.11")) as cluster:
        facts = database(server).facts(cluster, existing_world())
    assert facts.nodes_known == 3
    assert facts.more["hosts"] == ["10.0.0.11:5433"]
    assert facts.few_tablets == {"orders": 1}
    assert len(facts.more["leaders"]) == 3


def test_a_release_without_the_view_leaves_tablets_unknown() -> None:
    server = Server()
    with running(server, spec()) as cluster:
        facts = database(server).facts(cluster, existing_world())
    assert facts.few_tablets is None and "tablets" not in facts.more


@pytest.mark.parametrize(
    ("leaders", "idle"),
    [
        (("10.0.0.11", "10.0.0.11", "10.0.0.12"), ["10.0.0.13"]),
        (("10.0.0.11", "10.0.0.12", "10.0.0.13"), []),
        (("10.0.0.11",), []),  # too few to lead one each
    ],
)
def test_a_node_without_leaders_is_known_without_masters_too(
    leaders: tuple[str, ...], idle: list[str]
) -> None:
    server, progress = Server(tablets=led(*leaders)), QuietProgress()
    with running(server, spec()) as cluster:
        database(server).begin_measuring(cluster, existing_world(progress))
    said = [line for line in progress.said if "lead no tablet" in line]
    assert [line.split(" lead no")[0] for line in said] == idle


def test_a_pooler_is_noticed_by_the_process_that_it_gives_and_by_a_flag() -> None:
    """PgBouncer 1.18 gave a session process -429256030 while 15452 answered."""
    server, progress = Server(POSTGRESQL, given_process_id=-429256030), QuietProgress()
    given = spec(1, 1, hosts="10.0.0.11")
    database(server).check(given, existing_world(progress))
    evidence = "the session was given process -429256030, and process 77 answers"
    assert f"a connection pooler answers for the database: {evidence}" in progress.said
    with running(server, given) as cluster:
        assert database(server).facts(cluster, existing_world()).pooler == evidence
    managed = Server()
    with shown(enable_ysql_conn_mgr="true") as url:
        given = spec(tservers=of_each(url))
        declared, _ = declaration.read(given)
        with running(managed, given) as cluster:
            observed = probe.look(declared, managed.connect)
            facts = cluster_facts.facts(
                declared, observed, cluster.nodes, managed.connect
            )
    assert facts.pooler == "its tablet servers run with `enable_ysql_conn_mgr`"
    with shown(enable_ysql_conn_mgr="true") as url, shown() as other_url:
        given = spec(tservers=f"{url} {other_url} {other_url}")
        declared, _ = declaration.read(given)
        with running(managed, given) as cluster:
            observed = probe.look(declared, managed.connect)
            mixed = cluster_facts.facts(
                declared, observed, cluster.nodes, managed.connect
            )
    assert mixed.pooler == facts.pooler, "one server is enough"
    assert (facts.settings or {})["tserver.enable_ysql_conn_mgr"] == "true"
