"""What a first contact with real YugabyteDB most probably stumbles at, each answered beforehand.

Goal: memory that a CREATE DATABASE needs, certificates for names, flags that are not in force.
Method: pure functions, pages that answer as told, made-up clock. Facts:
docs/research/YUGABYTEDB.md.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest
from cryptography import x509

from orchestrator.databases.common import container_nodes, node_lifecycle
from orchestrator.databases.yugabytedb import (
    YugabyteDB,
    checklist,
    flags,
    nodes,
    settings,
    tls,
)
from orchestrator.databases.yugabytedb.flags_in_force import check_flags
from orchestrator.databases.yugabytedb.nodes import Unread
from orchestrator.databases.yugabytedb.readiness import Readiness
from orchestrator.errors import NodeError, RunError
from orchestrator.model import ClusterSpec, Node, NodeSize, Volume
from orchestrator.powers import (
    RUNNING,
    ContainerSpec,
    ContainerState,
    Mount,
    Network,
    World,
)
from orchestrator.system import sql
from orchestrator.system.sql import Connect
from orchestrator.yugabyte import pages
from tests.fakes import FakePlatform, LeapingClock, Log, QuietProgress, fake_world
from tests.name_space import in_a_name_space
from tests.pages import FLAGS, Server, listed, serving

MIB, GIB = 2**20, 2**30
THREE = ClusterSpec("yugabytedb", 3, 3, NodeSize(8.0, 32 * GIB, 250 * 10**9))


# ------------------------------------------------------------------ memory


@pytest.mark.parametrize(
    ("node", "master", "tserver_pct"),
    [
        (1536 * MIB, 512 * MIB, 45),
        (2 * GIB, 512 * MIB, 45),
        (4 * GIB, 4 * GIB // 5, 45),
        (4 * GIB + 1, 512 * MIB, 60),
        (32 * GIB, 2 * GIB, 60),
    ],
)
def test_a_master_has_the_memory_that_creating_a_database_takes(
    node: int, master: int, tserver_pct: int
) -> None:
    shares = flags.memory(node)
    assert shares.master_bytes == master
    assert shares.tserver_bytes == node * tserver_pct // 100
    assert shares.master_bytes + shares.tserver_bytes < 0.85 * node


def test_a_node_too_small_for_both_servers_is_refused() -> None:
    small = replace(THREE, node=NodeSize(1.0, GIB, GIB))
    (mistake,) = settings.read(small)[1]
    assert "give it at least 1.50 GiB" in mistake.what
    least = replace(THREE, node=NodeSize(1.0, 1536 * MIB, GIB))
    assert settings.read(least)[1] == ()


def test_the_checklist_gives_nodes_what_its_lines_need() -> None:
    assert checklist.spec().size.memory_bytes == 4 * GIB


# ------------------------------------------------------------------ certificates


def test_a_certificate_names_an_address_or_a_name() -> None:
    """A pod is reached by the name of its service."""
    named = []
    for files in tls.make(("10.0.0.11", "node-2.nodes"), 1_700_000_000.0):
        (file,) = [
            name for name in files if name.startswith("node.") and name.endswith(".crt")
        ]
        certificate = x509.load_pem_x509_certificate(files[file])
        kind = x509.SubjectAlternativeName
        (name,) = certificate.extensions.get_extension_for_class(kind).value
        named.append((file, type(name), str(name.value)))
    assert named == [
        ("node.10.0.0.11.crt", x509.IPAddress, "10.0.0.11"),
        ("node.node-2.nodes.crt", x509.DNSName, "node-2.nodes"),
    ]


# ------------------------------------------------------------------ flags


@pytest.mark.parametrize(
    "name",
    [
        "start_cql_proxy", "enable_ysql", "start_pgsql_proxy", "server_dump_info_path",
        "instance_uuid_override", "cluster_uuid", "placement_uuid", "cql_proxy_bind_address",
        "stop_on_parent_termination", "tserver.start_cql_proxy",
    ],
)  # fmt: skip
def test_a_flag_that_yugabyted_needs_for_itself_is_refused(name: str) -> None:
    """Without `start_cql_proxy` a kept data set is erased at its next start, for example."""
    (mistake,) = settings.read(replace(THREE, settings={name: "false"}))[1]
    assert (
        mistake.where == f"cluster.settings.{name}"
        and "cannot be set here" in mistake.what
    )


@pytest.mark.parametrize(
    ("disk_bytes", "sessions"), [(64 * GIB, "1000"), (64 * GIB - 1, None)]
)
def test_a_disk_of_64_gib_takes_many_sessions(
    disk_bytes: int, sessions: str | None
) -> None:
    node_size = replace(THREE.size, disk_bytes=disk_bytes)
    spec = replace(THREE, node=node_size)
    chosen, _ = settings.read(spec)
    passed = flags.tserver_flags(spec, chosen)
    assert passed.get("ysql_max_connections") == sessions


def test_masters_are_not_given_what_yugabyted_sets_behind_it() -> None:
    """From 2024.1 on its own flags of masters come last, so ours would only be believed."""
    for version, given in (("2.18.1.0-b84", True), ("2025.2.6.0-b111", False)):
        chosen, _ = settings.read(replace(THREE, version=version))
        passed = flags.master_flags(THREE, chosen)
        assert ("master_enable_metrics_snapshotter" in passed) is given
        assert "use_memory_defaults_optimized_for_ysql" not in passed
        assert (
            flags.tserver_flags(THREE, chosen)["tserver_enable_metrics_snapshotter"]
            == "false"
        )


IMAGE = "yugabytedb/yugabyte:2025.2.6.0-b111"


@pytest.fixture
def servers() -> Iterator[Server]:
    """Of all nodes; they run with the defaults."""
    with closing(Server()) as servers:
        servers.otherwise = (200, listed({"durable_wal_write": "false"}))
        yield servers


def node(number: int, at: str = "http://10.0.0.1") -> Node:
    urls = {pages.MASTER: f"{at}{number}:7000", pages.TSERVER: f"{at}{number}:9000"}
    return Node(f"node-{number}", "database", sources=urls)


@pytest.mark.parametrize(
    ("asked", "said", "refused"),
    [
        ("true", "false", True),
        ("yes", "true", False),
        ("0.50", "0.5", False),
        ("a,b", "a,b", False),
        ("5", "1", True),
    ],
)
def test_a_masters_flag_of_the_profile_that_is_not_in_force_is_refused(
    asked: str, said: str, refused: bool, servers: Server
) -> None:
    """yugabyted's own come behind it: nobody else would say that it was given in vain."""
    chosen = replace(settings.read(THREE)[0], master_flags={"a_flag": asked})
    up = [node(number, f"{servers.url}/") for number in (1, 2, 3, 4)]
    for number in (1, 2, 3):
        servers.pages[f"/{number}:7000{FLAGS}"] = (200, listed({"a_flag": said}))
    unread = Unread(fake_world())
    if not refused:
        check_flags(up, chosen, unread, 3)
        assert unread.text() is None
        return
    with pytest.raises(NodeError) as raised:
        check_flags(up, chosen, unread, 3)
    assert raised.value.what == (
        f"the master of node-1 runs with a_flag={said}; the profile says {asked}"
    )
    assert "yugabyted sets some flags of masters itself" in raised.value.advice


def test_a_masters_flag_that_is_on_no_page_is_only_noted(servers: Server) -> None:
    chosen = replace(settings.read(THREE)[0], master_flags={"a_flag": "1"})
    unread = Unread(fake_world())
    check_flags([node(1, f"{servers.url}/")], chosen, unread, 1)
    assert unread.text() == "a_flag: it is not among the flags of the master of node-1"


def test_the_balancer_begins_soon_after_a_start() -> None:
    """By default it waits for two minutes: it would move leaders while a run is measured."""
    for version in ("2.18.1.0-b84", "2025.2.6.0-b111"):
        chosen, _ = settings.read(replace(THREE, version=version))
        assert (
            flags.master_flags(THREE, chosen)["load_balancer_initial_delay_secs"]
            == "10"
        )
        assert "load_balancer_initial_delay_secs" not in flags.tserver_flags(
            THREE, chosen
        )


# ------------------------------------------------------------------ leaders, and logs read again

HOSTS = ("10.0.0.11", "10.0.0.12", "10.0.0.13")
EVEN = {f"{table}{n}": (table, host) for table in "ab" for n, host in enumerate(HOSTS)}
SWAPPED = EVEN | {"a0": ("a", HOSTS[1]), "a1": ("a", HOSTS[0])}
CROWDED = EVEN | {"a0": ("a", HOSTS[1])}


def readiness(world: World, unread: Unread) -> Readiness:
    return Readiness(THREE, settings.read(THREE)[0], sql.session, unread, world)


@pytest.fixture
def master() -> Iterator[Server]:
    """Three tablet servers are alive, by its pages."""
    with closing(Server()) as server:
        alive = {"status": "ALIVE", "user_tablets_leaders": 2}
        servers = {"": {f"{host}:9000": alive for host in HOSTS}}
        server.pages["/api/v1/tablet-servers"] = (200, json.dumps(servers))
        yield server


def lead(master: Server, leaders: dict[str, tuple[str, str]]) -> None:
    """By its page tablets have these leaders: tablet → table, host."""
    copies = [{"server_uuid": host, "addr": f"{host}:9100"} for host in HOSTS]
    content = {
        "keyspaces": [{"keyspace_id": "1", "keyspace_name": container_nodes.DATABASE}],
        "tables": [
            {"table_id": t, "keyspace_id": "1", "table_name": t}
            for t in sorted({table for table, _ in leaders.values()})
        ],
        "tablets": [
            {"table_id": table, "tablet_id": tablet, "replicas": copies, "leader": host}
            for tablet, (table, host) in leaders.items()
        ],
    }
    master.pages["/dump-entities"] = (200, json.dumps(content))


def balanced(
    master: Server, before: Callable[[], dict[str, tuple[str, str]]], world: World
) -> Callable[[], str | None]:
    """What `leaders_moved` says after `await_balance`; tablets have the leaders of `before`."""

    def idle(*_: object) -> str:
        lead(master, before())
        return "Idle = 1"

    world = replace(world, platform=FakePlatform(answer=idle))
    made = readiness(world, Unread(world))
    up = [
        replace(node(number), sources={pages.MASTER: master.url})
        for number in (1, 2, 3)
    ]
    begun = made.await_balance(up, "10.0.0.11:7100")
    return lambda: made.leaders_moved(begun, up)


@pytest.mark.parametrize(
    ("afterwards", "said"),
    [(EVEN, None), (SWAPPED, "2 of 6 tablets have another leader since")],
)
def test_leaders_that_move_in_the_window_are_told(
    afterwards: dict[str, tuple[str, str]], said: str | None, master: Server
) -> None:
    """Also if each node leads as many as before."""
    told = balanced(master, lambda: EVEN, fake_world())
    lead(master, afterwards)
    assert told() == said


def test_tables_with_fewer_tablets_than_nodes_are_told(master: Server) -> None:
    """As 2025.2 makes them by default: one tablet each, which one node leads alone."""
    one_tablet = {"o1": ("order_line", HOSTS[0]), "s1": ("stock", HOSTS[1])}
    lead(master, {**one_tablet, **EVEN})
    assert len(pages.tablet_servers([master.url])) == 3
    few = pages.few_tablets([master.url], container_nodes.DATABASE)
    assert few == {"order_line": 1, "stock": 1}
    warning = pages.few_in_words(few)
    assert "(order_line and 1 more; order_line has 1)" in warning
    assert "(stock; stock has 2)" in pages.few_in_words({"stock": 2})
    two = pages.few_in_words({"stock": 2, "orders": 1})
    assert "(orders and 1 more; orders has 1)" in two


def test_nothing_is_measured_before_the_leaders_of_each_table_are_spread(
    master: Server,
) -> None:
    """The balancer calls itself idle before it has begun."""
    world = fake_world()
    start_s = world.clock.monotonic()
    moved = lambda: EVEN if world.clock.monotonic() - start_s > 130 else CROWDED  # noqa: E731
    assert balanced(master, moved, world)() is None
    # The leaders are spread 131 s after the begin. Three looks in turn must find them so.
    assert world.clock.monotonic() - start_s == 133


def test_a_tablet_more_than_another_node_leads_is_not_uneven(master: Server) -> None:
    """Four tablets cannot be spread evenly over three nodes."""
    four_tablets = EVEN | {"a3": ("a", HOSTS[0])}
    assert balanced(master, lambda: four_tablets, fake_world())() is None


@pytest.mark.parametrize(
    ("log_bytes", "steps"),
    [
        (500_000_000, ["nodes read up to 477 MiB of log again"]),
        (499_000_000, []),
    ],
)
def test_a_wait_of_ten_seconds_for_a_log_is_said(
    log_bytes: int, steps: list[str]
) -> None:
    """Half of a disk's 100 MB/s go to reading a log again."""
    world = fake_world()
    readiness(world, Unread(world)).after_replay(log_bytes, 100_000_000)
    assert isinstance(world.progress, QuietProgress)
    assert world.progress.steps == steps


def test_leaders_that_stay_uneven_end_no_run_but_are_told(master: Server) -> None:
    told = balanced(master, lambda: CROWDED, fake_world())
    assert "a is led by {'10.0.0.11': 0, '10.0.0.12': 2" in str(told())


def listing(leader: str, hosts: Sequence[str]) -> tuple[int, str]:
    """The page of a master that takes `leader` for the leader."""
    rows = []
    for host in hosts:
        at = {"private_rpc_addresses": [{"host": host, "port": 7100}]}
        role = "LEADER" if host == leader else "FOLLOWER"
        rows.append({"registration": at, "role": role})
    return 200, json.dumps({"masters": rows})


@pytest.mark.parametrize(
    ("second_remembers", "noted"),
    [
        (HOSTS, None),
        (("10.0.0.91", "10.0.0.92", "10.0.0.93"), "node-2 names 10.0.0.91:7100"),
        (HOSTS[:2], "node-2 names 10.0.0.11:7100, 10.0.0.12:7100; the leader lists"),
    ],
)
def test_each_node_must_remember_the_masters_that_the_leader_lists(
    second_remembers: Sequence[str], noted: str | None
) -> None:
    """Three others are as many: with them a real node never came up again. A follower's page is of
    long ago."""
    follower, leader = Server(), Server()
    follower.pages["/api/v1/masters"] = listing("10.0.0.91", ["10.0.0.91"])
    leader.pages["/api/v1/masters"] = listing(HOSTS[1], HOSTS)

    def file(name: str, _: Sequence[str]) -> str:
        number = int(name[-1])
        known = second_remembers if number == 2 else HOSTS
        masters = ",".join(f"{host}:7100" for host in known)
        host = HOSTS[number - 1]
        return json.dumps({"current_masters": masters, "advertise_address": host})

    world = fake_world(clock=LeapingClock())
    world = replace(world, platform=FakePlatform(answer=file))
    unread = Unread(world)
    urls = (follower.url, leader.url, follower.url)
    up = [
        Node(f"node-{number}", "database", sources={pages.MASTER: url})
        for number, url in enumerate(urls, start=1)
    ]
    with closing(follower), closing(leader):
        readiness(world, unread).await_remembered_masters(up)
    if noted is None:
        assert unread.text() is None
    else:
        assert noted in str(unread.text())


def test_leaders_are_read_of_one_database_by_table() -> None:
    def row(table: str, tablet: str, leader: str) -> dict[str, object]:
        copies = [
            {"server_uuid": f"u{n}", "addr": f"{h}:9100"} for n, h in enumerate(HOSTS)
        ]
        return {
            "table_id": table,
            "tablet_id": tablet,
            "replicas": copies,
            "leader": leader,
        }

    content = {
        "keyspaces": [{"keyspace_id": "1", "keyspace_name": "bench"},
                      {"keyspace_id": "2", "keyspace_name": "system"}],
        "tables": [{"table_id": "t", "keyspace_id": "1", "table_name": "stock"},
                   {"table_id": "s", "keyspace_id": "2", "table_name": "peers"}],
        "tablets": [row("t", "x", "u1"), row("t", "y", ""), row("s", "z", "u0")],
    }  # fmt: skip
    with serving({"/dump-entities": json.dumps(content)}) as url:
        leaders = pages.tablet_leaders([url], "bench")
    assert leaders == {"x": ("stock", HOSTS[1]), "y": ("stock", "")}


@pytest.mark.parametrize(
    ("restored", "tiers_rate", "replay_s"),
    [
        (True, None, 1000),
        (True, 10_000_000, 5000),
        (True, 250_000_000, 200),
        (False, None, 0),
    ],
)
def test_a_start_from_a_copy_may_take_as_long_as_its_log_takes_to_read(
    restored: bool, tiers_rate: int | None, replay_s: int, tmp_path: Path
) -> None:
    """25 GB, at half of the tier's rate; if that is not known, at 25 MB/s."""
    platform = FakePlatform(
        images={IMAGE},
        answer=lambda _name, argv: "24414063\ttotal\n" if "du -skc" in argv[-1] else "",
    )
    asked = replace(THREE, nodes=1, replication_factor=1)
    world, network = (
        fake_world(platform=platform, cache=tmp_path),
        Network("net", HOSTS[:1]),
    )
    disks = [Volume("disk-1", "/dev/loop0", restored, bytes_per_s=tiers_rate)]
    refused: Connect = lambda *_: (_ for _ in ()).throw(OSError("refused"))  # noqa: E731
    with pytest.raises(NodeError) as raised, \
            YugabyteDB(refused).running(asked, disks, network, world):  # fmt: skip
        pass
    assert f"was not ready within {300 + replay_s} s" in raised.value.what


# ------------------------------------------------------------------ a node that ended


REFUSED = "Could not update Postgress user password. Exception: timed out"
KILLED = ContainerState("exited (137)", exit_code=137)
LOGGED = "postgresql-1.log:\nFATAL: it was so; ALTER ROLE yugabyte PASSWORD 'hunter2'"


def failed_start(
    platform: FakePlatform, folder: Path, restored: bool = False, **own: str
) -> NodeError:
    """What a first start says whose only node ends at once."""
    platform.images.here[IMAGE] = "its id"
    platform.states["net-node-1"] = KILLED
    asked = replace(THREE, nodes=1, replication_factor=1, settings=own)
    world, network = (
        fake_world(platform=platform, cache=folder),
        Network("net", ("10.0.0.11",)),
    )
    disks = [Volume("disk-1", "/dev/loop0", restored)]
    with (
        pytest.raises(NodeError) as raised,
        YugabyteDB().running(asked, disks, network, world),
    ):
        pass
    return raised.value


@pytest.mark.parametrize("state", [KILLED, RUNNING])
def test_a_failure_shows_what_the_servers_wrote_themselves(
    state: ContainerState,
) -> None:
    """In an ended container nothing can be run, so its disk is read by another one."""
    platform = FakePlatform(answer=lambda _name, _argv: LOGGED)
    platform.states["net-node-1"] = state
    chosen, _ = settings.read(THREE)
    network, disk = (
        Network("net", ("10.0.0.11",)),
        Volume("disk-1", "/dev/loop0", False),
    )
    plan = nodes.container_spec(THREE, chosen, 1, disk, network, IMAGE, {})
    error = RunError("it did not start")
    nodes.explain(error, [plan], fake_world(platform=platform))
    assert "FATAL: it was so" in error.evidence and "hunter2" not in error.evidence
    if not state.is_running:
        reader = platform.specs["net-node-1-logs"]
        assert (
            reader.mounts == plan.mounts and not reader.ports and reader.address is None
        )


def test_a_start_that_fails_has_the_servers_logs(tmp_path: Path) -> None:
    platform = FakePlatform(answer=lambda _name, _argv: LOGGED)
    assert "FATAL: it was so" in failed_start(platform, tmp_path).evidence


@pytest.mark.parametrize(
    "text",
    ["Soft memory limit exceeded (at 97.42% of capacity)",
     "Timed out waiting for Namespace Creation"],
)  # fmt: skip
def test_want_of_memory_is_told_as_such(text: str) -> None:
    error = RunError(text, advice="look at the log")
    nodes.explain(error, [], fake_world())
    assert "give nodes more memory" in error.advice


@pytest.mark.parametrize(
    ("restored", "said", "starts"),
    [(False, REFUSED, 2), (True, REFUSED, 1), (False, "another failure", 1)],
)
def test_with_tls_a_first_start_is_tried_once_more_on_an_emptied_disk(
    restored: bool, said: str, starts: int, tmp_path: Path
) -> None:
    """On a slow disk yugabyted gives up changing a password after a minute, and kills itself."""
    platform = FakePlatform()
    platform.said["net-node-1"] = said
    error = failed_start(platform, tmp_path, restored, tls="on")
    done = [asked[:2] for asked in platform.asked if asked[0] in ("start", "once")]
    start, logs = ("start", "net-node-1"), ("once", "net-node-1-logs")
    again = [("once", "net-node-1-empty"), start] if starts == 2 else []
    assert done == [start, *again, logs]
    assert ("takes over a minute" in error.advice) is (said == REFUSED)
    if again:
        assert flags.BASE_DIR in platform.specs["net-node-1-empty"].command[-1]


@pytest.mark.parametrize(
    ("state", "part"),
    [
        (
            KILLED,
            "exit code 137 is a kill. The kernel did it for want of memory, or YugabyteDB",
        ),
        (ContainerState("exited (1)", exit_code=1), "its last log lines say why"),
        (ContainerState("lost (node-137 is gone)"), "its last log lines say why"),
    ],
)
def test_a_kill_is_not_taken_for_want_of_memory(
    state: ContainerState, part: str
) -> None:
    platform = FakePlatform(Log())
    platform.states["node-1"], platform.said["node-1"] = (
        state,
        "Could not update Postgress",
    )
    with pytest.raises(NodeError) as raised:
        node_lifecycle.raise_if_dead(["node-1"], fake_world(platform=platform))
    assert part in raised.value.advice


# ------------------------------------------------------------------ an emptied disk


def test_a_disk_is_emptied_but_for_what_is_mounted_there(tmp_path: Path) -> None:
    """The script that runs where a node had its disk, on one with somebody's mount in it."""
    disk = tmp_path / "disk"
    platform = FakePlatform()
    mounted = (Mount("a volume", str(disk)),)
    plan = ContainerSpec("node-1", "an image", (), "database", mounts=mounted)
    nodes.empty(plan, fake_world(platform=platform))
    (script,) = platform.specs["node-1-empty"].command[1:]
    in_a_name_space(
        """
        mkdir -p "$1/data/tserver" "$1/lost+found" "$1/theirs"; touch "$1/data/tserver/log"
        touch "$1/lost+found/x"; mount -t tmpfs none "$1/theirs"; touch "$1/theirs/file"
        if sh -c "$2"; then exit 1; fi
        test ! -e "$1/data"; test -e "$1/theirs/file"; test -e "$1/lost+found/x"
        umount "$1/theirs"; sh -c "$2"; test ! -e "$1/theirs"; test -e "$1/lost+found/x"
        """,
        *(str(disk), script),
    )
