"""docs/SECURITY.md against the program: its table has the rights of the containers that are made.

Method: the parts make their containers on fakes; each is turned into what an engine and a cluster
are asked for, and that into the words of the table.
"""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from orchestrator.databases.existing import client_reach, declaration
from orchestrator.databases.postgresql import containers
from orchestrator.databases.yugabytedb import nodes as yugabytedb, settings
from orchestrator.errors import TierbenchError
from orchestrator.extensions.hadoop import hdfs
from orchestrator.extensions.kubernetes import manifests
from orchestrator.load_generators.sysbench.generator import Sysbench
from orchestrator.model import ClusterSpec, NodeSize, Placing, Volume
from orchestrator.platforms import own_images
from orchestrator.platforms.common import agent
from orchestrator.powers import (
    HOST_NETWORK,
    NETWORK_OF,
    ContainerSpec,
    Network,
)
from orchestrator.run.window import links
from orchestrator.tiers.common.any_disk import fio_containers, removal
from orchestrator.tiers.common.emulated import disk_files, disk_server
from orchestrator.tiers.common.real import cloud_metadata
from tests import ROOT
from tests.documented import table_below
from tests.fake_docker import Engine
from tests.fakes import FakeClock, FakePlatform, FarPlatform, fake_world

D8S = NodeSize(cpus=8.0, memory_bytes=32 * 2**30, disk_bytes=250 * 10**9)

DISK = Volume("disk", device="/dev/loop9", restored=False, placement="node-1")
NETWORK = Network("cluster", ("10.0.0.11", "10.0.0.12"))
ROWS = {row[0]: row for row in table_below("SECURITY.md", "Containers", "container")}


@pytest.fixture(scope="module")
def specs() -> Mapping[str, ContainerSpec]:
    """The name in the table → a container, as the part that needs it makes it."""
    images = [own_images.tag(ROOT, name) for name in own_images.OURS]
    platform, far = FakePlatform(images=images), FarPlatform(images=images)
    world = fake_world(platform=platform)
    with contextlib.suppress(TierbenchError, ValueError):
        removal.make_anew(Path("/mnt/disk/tierbench-data"), ["node-1"], world)
    with contextlib.suppress(OSError):
        cloud_metadata.asked_there(world)(
            "GET", "http://169.254.169.254", {"token": "s3cret"}
        )
    disk_files.machines_of_nodes(1, world)
    file = world.cache / ".cache" / "disk.img"
    with contextlib.suppress(TierbenchError):
        disk_server.create(file, 2**30, world)
    with contextlib.suppress(TierbenchError, ValueError):
        disk_server.stand("disk", file, {}, None, "", world)
    with Sysbench().client(NETWORK.name, world):
        pass
    with contextlib.suppress(TierbenchError, IndexError):
        links.asked(["node-1"], ("show",), world)
    declared = declaration.read(
        ClusterSpec("existing", 1, 1, D8S, existing={"hosts": "db.example"})
    )[0]
    list(client_reach.not_from_client(declared, fake_world(platform=far)))
    made = {
        name.removeprefix("tierbench-"): spec
        for name, spec in (platform.specs | far.specs).items()
    }
    two = ClusterSpec("postgresql", 2, 2, D8S)
    return {
        "disk": platform.specs["disk"],
        "a disk's new file": made["create-disk"],
        "files of disks": made["place-node-1"],
        "folders and snapshots": made["folders"],
        "metadata": made["metadata"],
        "agent": agent.container("agent", images[0]),
        "fio": fio_containers.fio_container("gate", "client", DISK, world),
        "client": made["client"],
        "link": platform.specs["node-1-link"],
        "reach": made["reach"],
        "postgresql": containers.container_specs(
            two, [DISK] * 2, NETWORK, "image", "s3cret"
        )[1],
        "hdfs": hdfs.name_node(two, DISK, NETWORK, "image"),
        "yugabytedb": yugabytedb.container_spec(
            two, settings.read(two)[0], 1, DISK, NETWORK, "image", {}
        ),
    }


def test_the_table_has_each_container_and_no_other(
    specs: Mapping[str, ContainerSpec],
) -> None:
    assert set(ROWS) == set(specs)


@pytest.mark.parametrize("name", ROWS)
def test_capabilities_and_network_on_an_engine(
    name: str, specs: Mapping[str, ContainerSpec]
) -> None:
    host = asked_of_an_engine(specs[name])
    capabilities = "the engine's"
    if "cap_drop" in host:
        assert (
            host["cap_drop"] == ["ALL"] and "no-new-privileges" in host["security_opt"]
        )
        capabilities = ", ".join(sorted(host["cap_add"])) or "none"
    network = host.get("network_mode", "the cluster's")
    words = {"none": "none", HOST_NETWORK: "the machine's"}
    words[f"{NETWORK_OF}node-1"] = "that container's"
    assert ROWS[name][2:4] == (capabilities, words.get(network, network))


@pytest.mark.parametrize("name", ROWS)
def test_rights_of_a_pod(name: str, specs: Mapping[str, ContainerSpec]) -> None:
    pod = manifests.pod(specs[name], {}, Placing(), {})["spec"]
    (main,) = pod["containers"]
    rights = main.get("securityContext", {})
    words = "the cluster's"
    if rights.get("privileged"):
        words = "privileged"
    elif rights:
        assert rights["allowPrivilegeEscalation"] is False
        assert rights["capabilities"]["drop"] == ["ALL"]
        words = "the same" if rights["capabilities"]["add"] else "none"
    assert ROWS[name][4] == words
    assert pod["automountServiceAccountToken"] is False


@pytest.mark.parametrize("name", ROWS)
def test_what_is_mounted_of_the_machine(
    name: str, specs: Mapping[str, ContainerSpec]
) -> None:
    of_machine = [mount for mount in specs[name].mounts if mount.source.startswith("/")]
    whole = {
        mount.target: mount.read_only for mount in of_machine if mount.source == "/"
    }
    words = (
        "all of it, read-only"
        if whole == {"/host": True}
        else "folders"
        if of_machine
        else "–"
    )
    if specs[name].host_devices:
        words = f"{words}, /dev"
    assert ROWS[name][5] == words


def test_what_is_read_only_is_so_below_its_mounts_where_the_cluster_can() -> None:
    pod = manifests.pod(agent.container("agent", "image"), {}, Placing(), {})
    (mount,) = pod["spec"]["containers"][0]["volumeMounts"]
    assert (mount["readOnly"], mount["recursiveReadOnly"]) == (True, "IfPossible")


def test_no_secret_is_on_a_command_line(specs: Mapping[str, ContainerSpec]) -> None:
    assert [name for name, spec in specs.items() if "s3cret" in str(spec.command)] == []


def test_no_secret_is_in_a_pod(specs: Mapping[str, ContainerSpec]) -> None:
    pods = {
        name: str(manifests.pod(spec, {}, Placing(), {}))
        for name, spec in specs.items()
    }
    assert [name for name, pod in pods.items() if "s3cret" in pod] == []


def asked_of_an_engine(spec: ContainerSpec) -> dict[str, Any]:
    """The host configuration that a Docker engine is given; rights that it refused at another
    time are asked for."""
    engine = Engine(FakeClock())
    with engine.platform().running(spec):
        (container,) = engine.things
        return dict(container.attrs["HostConfig"])
