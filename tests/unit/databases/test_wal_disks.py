"""The WAL on a disk of its own: mounted, asked for, and read back where it really is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from orchestrator.databases.common import wal_places
from orchestrator.databases.postgresql import containers
from orchestrator.databases.yugabytedb import flags, flags_in_force, nodes, settings
from orchestrator.databases.yugabytedb.nodes import Unread
from orchestrator.errors import NodeError
from orchestrator.model import ClusterSpec, Node, NodeSize, Volume
from orchestrator.platforms.common.local_machine import LocalMachine
from orchestrator.powers import Mount, Network, World
from orchestrator.yugabyte import pages
from tests.fakes import FakePlatform, fake_world
from tests.pages import FLAGS, listed, serving

NETWORK = Network("net", ("10.1.2.11", "10.1.2.12"))
SIZE = NodeSize(cpus=2.0, memory_bytes=2**31, disk_bytes=2**31)
OWN = Volume("/a/node-1", "/dev/sdb", False, wal="/w/node-1-wal", wal_device="/dev/sdc")
MOUNTINFO = """\
700 600 0:50 / / rw - overlay overlay rw
701 700 8:16 /tierbench-data/node-1 /data rw - ext4 /dev/sdb rw
702 700 8:32 /tierbench-data/node-1-wal /wal rw - xfs /dev/sdc rw
"""


class Engine(FakePlatform):
    """A machine with sdb and sdc, and a container that says where its directories are."""

    def __init__(self, root: Path, real_path: str) -> None:
        def answer(_container: str, argv: Sequence[str]) -> str:
            return f"{real_path}\n" if argv[0] == "readlink" else MOUNTINFO

        super().__init__(answer=answer)
        self._root = root
        for number, name in (("8:16", "sdb"), ("8:32", "sdc")):
            (root / f"sys/devices/{name}").mkdir(parents=True)
            link = root / "sys/dev/block" / number
            link.parent.mkdir(parents=True, exist_ok=True)
            link.symlink_to(root / "sys/devices" / name)

    def machines(self) -> tuple[LocalMachine, ...]:
        return (LocalMachine(self._root),)


def world_of_wal_disks(root: Path, real_path: str) -> World:
    return fake_world(platform=Engine(root, real_path))


NODE = Node(
    "node-1", "database", container="net-node-1", device="sdb", wal_device="sdc"
)


def test_it_is_where_the_profile_says(tmp_path: Path) -> None:
    here = world_of_wal_disks(tmp_path, "/wal/pg_wal")
    assert wal_places.wal_devices([NODE], containers.PG_WAL, here) == {"node-1": "sdc"}
    assert (
        wal_places.wal_devices(
            [replace(NODE, wal_device=None)], containers.PG_WAL, here
        )
        == {}
    )


def test_it_is_with_the_data_after_all(tmp_path: Path) -> None:
    here = world_of_wal_disks(tmp_path, "/data/pgdata/pg_wal")
    with pytest.raises(
        NodeError, match="WAL of node-1 is at /data/pgdata/pg_wal on sdb"
    ):
        wal_places.wal_devices([NODE], containers.PG_WAL, here)


def test_postgresql_gets_it_mounted_where_its_image_looks() -> None:
    spec = ClusterSpec("postgresql", 2, 2, SIZE)
    plans = containers.container_specs(
        spec, (OWN, replace(OWN, wal="")), NETWORK, "image:1", "s"
    )
    assert plans[0].mounts == (
        Mount("/a/node-1", "/data"),
        Mount("/w/node-1-wal", "/wal"),
    )
    assert plans[1].mounts == (Mount("/a/node-1", "/data"),)


def test_both_servers_of_yugabytedb_are_told_of_it() -> None:
    """`fs_wal_dirs` may not be below a directory of `fs_data_dirs`, and one value is for both."""
    spec = ClusterSpec("yugabytedb", 1, 1, SIZE, settings={"wal_directory": "own"})
    chosen, _ = settings.read(spec)
    for volume, directory in (
        (OWN, flags.WAL_DISK_DIR),
        (replace(OWN, wal=""), flags.WAL_DIR),
    ):
        plan = nodes.container_spec(spec, chosen, 1, volume, NETWORK, "image:1", {})
        told = [word for word in plan.command if f"fs_wal_dirs={directory}" in word]
        assert [word.partition("=")[0] for word in told] == [
            "--master_flags",
            "--tserver_flags",
        ]
        assert (Mount("/w/node-1-wal", flags.WAL_DISK_DIR) in plan.mounts) == bool(
            volume.wal
        )
    assert not Path(flags.WAL_DISK_DIR).is_relative_to(flags.BASE_DIR)


@pytest.mark.parametrize("directory", ["", flags.WAL_DIR])
def test_a_server_that_keeps_it_elsewhere_is_refused(directory: str) -> None:
    own = {"durable_wal_write": "false", "fs_wal_dirs": directory}
    chosen, _ = settings.read(ClusterSpec("yugabytedb", 1, 1, SIZE))
    with serving({FLAGS: listed(own)}) as url:
        node = replace(NODE, sources={pages.TSERVER: url})
        with pytest.raises(
            NodeError, match=f"not on its own disk at {flags.WAL_DISK_DIR}"
        ):
            flags_in_force.check_flags([node], chosen, Unread(fake_world()), 1)
    own["fs_wal_dirs"] = flags.WAL_DISK_DIR
    with serving({FLAGS: listed(own)}) as url:
        node = replace(NODE, sources={pages.TSERVER: url})
        assert flags_in_force.check_flags([node], chosen, Unread(fake_world()), 1) == {
            "node-1": own
        }
