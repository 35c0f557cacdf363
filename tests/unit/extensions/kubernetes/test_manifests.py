"""What is made on a cluster, to the letter: golden manifests, and the rules for machines.

All kinds of containers of a campaign: a database node, the server of its disk, a client with
folders and files of its own, and one without anything.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import pytest
import yaml

from orchestrator.extensions.kubernetes import (
    manifests,
    placing,
    space,
    volume_manifests,
)
from orchestrator.extensions.kubernetes.pods import full_name
from orchestrator.extensions.kubernetes.space import object_name, ours
from orchestrator.model import Placing
from orchestrator.platforms import own_images
from orchestrator.powers import (
    NETWORK_OF,
    ContainerSpec,
    Mount,
    RentedVolume,
    VolumeSource,
)
from tests import golden

LABELS = ours("feed00")
NODE = ContainerSpec(
    name="tierbench-feed00-1-node-2",
    image="tierbench/postgres:0123456789ab",
    command=("standby", "node-1.nodes", "standby_2", "-c", "shared_buffers=1GB"),
    role="database",
    environment={"PGPASSWORD": "secret", "TZ": "UTC"},
    mounts=(Mount("tierbench-feed00-1-node-2", "/data"), Mount("plain", "/wal")),
    network="tierbench-feed00-1",
    address="node-2.nodes",
    ports={5432: None},
    cpus=1.5,
    memory_bytes=2 * 2**30,
    shared_memory_bytes=512 * 2**20,
    placement="node-2",
)
DISK = ContainerSpec(
    name="tierbench-feed00-1-disk-node-2",
    image="tierbench/disk:0123456789ab",
    command=("serve", "--image", "/images/node-2.img", "--iops", "500"),
    role="disk",
    mounts=(Mount("/var/lib/tierbench/disks", "/images"),),
    host_devices=True,
    placement="node-2",
)


CLIENT = ContainerSpec(
    name="tierbench-feed00-1-client",
    image="tierbench/client:0123456789ab",
    entrypoint=("sh",),
    command=("-c", "sleep infinity"),
    role="client",
    folders={"/out": {}, "/tls": {"root.crt": b"certificate"}},
    network="tierbench-feed00-1",
    init=True,
    placement="client-1",
)


def written(*manifests: dict[str, Any]) -> str:
    dumper: Any = yaml.SafeDumper
    dumper.ignore_aliases = lambda *_: True
    return str(yaml.dump_all(manifests, Dumper=dumper, sort_keys=False, width=100))


def pod(
    spec: ContainerSpec, settings: Placing | None = None, **rules: Any
) -> dict[str, Any]:
    places = {"tierbench-feed00-1-node-2": "tierbench-feed00-1-node-2"}
    return manifests.pod(
        spec,
        places,
        settings or Placing(),
        placing.rules(spec.placement, settings or Placing(), **rules),
    )


def secret(spec: ContainerSpec) -> list[dict[str, Any]]:
    return [made for made in [manifests.secret(spec)] if made]


def test_a_database_node() -> None:
    golden.compare("kubernetes/node.yaml", written(*secret(NODE), pod(NODE)))


def test_the_server_of_its_disk() -> None:
    assert secret(DISK) == []
    golden.compare("kubernetes/disk.yaml", written(pod(DISK, machine="vm-b")))


def test_a_client_with_folders_and_files() -> None:
    golden.compare("kubernetes/client.yaml", written(*secret(CLIENT), pod(CLIENT)))


def test_a_client_beside_a_node_is_on_its_machine_and_in_a_network_of_its_own() -> None:
    beside = replace(
        CLIENT, network=f"{NETWORK_OF}tierbench-feed00-1-node-1", placement="node-1"
    )
    made = pod(beside, machine="vm-a")
    assert space.NETWORK not in made["metadata"]["labels"]
    assert space.NETWORK in pod(CLIENT)["metadata"]["labels"]
    demand = made["spec"]["affinity"]["nodeAffinity"]
    assert "vm-a" in repr(demand)


def test_what_is_not_a_pod() -> None:
    golden.compare(
        "kubernetes/others.yaml",
        written(
            manifests.namespace("tierbench-feed00", LABELS),
            manifests.service("tierbench-feed00-1"),
            volume_manifests.local_volume(
                "tierbench-feed00-a",
                "a",
                "tierbench-feed00",
                "/dev/loop3",
                "xfs",
                "vm-b",
            ),
            volume_manifests.claim("a", volume="tierbench-feed00-a"),
            volume_manifests.claim(
                "b", "fast", "1073741824", VolumeSource("snapshot", "gold")
            ),
            volume_manifests.snapshot("gold", "a", "snapshots"),
            manifests.lease(
                "guard", LABELS, {"tierbench.host": "here"}, 1767225600.5, 300
            ),
            manifests.rent("rent-1", LABELS, 900),
        ),
    )


def test_a_pool_with_a_taint_in_two_zones() -> None:
    settings = Placing(
        node_selector={"pool": "bench"},
        tolerations=({"key": "bench", "operator": "Exists", "effect": "NoSchedule"},),
        zones=("a", "b"),
        image_pull_secrets=("registry",),
    )
    golden.compare("kubernetes/pool.yaml", written(pod(NODE, settings)["spec"]))


def test_a_node_may_share_a_machine_only_where_there_are_too_few() -> None:
    def rule(**known: Any) -> dict[str, Any]:
        found: dict[str, Any] = placing.rules("node-2", Placing(), **known)["affinity"]
        return found

    assert "vm-a" in str(rule(taken=("vm-a",))["nodeAffinity"])
    few = rule()
    assert list(few) == ["podAntiAffinity"]
    assert list(few["podAntiAffinity"]) == [
        "preferredDuringSchedulingIgnoredDuringExecution"
    ]


def test_a_volume_names_the_labels_that_its_machine_has_and_no_others() -> None:
    """A volume may also say where it cannot be used."""
    zone = "topology.kubernetes.io/zone"
    expressions: list[Mapping[str, Any]] = [
        {"key": zone, "operator": "In", "values": ["a", "b"]},
        {"key": zone, "operator": "NotIn", "values": ["c"]},
        {"key": "disktype", "operator": "Exists"},
    ]
    volume = volume_on([expressions])
    assert volume.machines == (f"{zone}=a", f"{zone}=b")
    assert volume.machine_terms == ({zone: ("a", "b")},)


def volume_on(terms: Sequence[Sequence[Mapping[str, Any]]]) -> RentedVolume:
    """A volume that machines can use that meet the expressions of one of these terms."""
    selector_terms = [{"matchExpressions": expressions} for expressions in terms]
    spec = {
        "capacity": {"storage": "1Gi"},
        "nodeAffinity": {"required": {"nodeSelectorTerms": selector_terms}},
    }
    return volume_manifests.described_volume({"metadata": {"name": "v"}, "spec": spec})


def test_terms_of_a_volume_stay_apart_because_one_of_them_is_enough() -> None:
    def has(key: str, *values: str) -> Mapping[str, Any]:
        return {"key": key, "operator": "In", "values": list(values)}

    volume = volume_on([[has("zone", "1"), has("type", "x")], [has("zone", "2")]])
    assert volume.machine_terms == ({"zone": ("1",), "type": ("x",)}, {"zone": ("2",)})
    assert volume.machines == ("zone=1", "type=x", "zone=2")
    # Of one label all expressions hold, too.
    volume = volume_on([[has("zone", "1", "2", "3"), has("zone", "3", "2")]])
    assert volume.machine_terms == ({"zone": ("2", "3")},)


def test_all_of_a_placement_run_on_one_machine() -> None:
    assert placing.rules("node-2", Placing(), "vm-b")["affinity"] == {
        "nodeAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": {
                "nodeSelectorTerms": [
                    {
                        "matchExpressions": [
                            {
                                "key": placing.MACHINE,
                                "operator": "In",
                                "values": ["vm-b"],
                            }
                        ]
                    }
                ]
            }
        }
    }
    kept = placing.rules("node-2", Placing(), taken=("vm-a",))["affinity"][
        "nodeAffinity"
    ]
    assert "NotIn" in str(kept) and "vm-a" in str(kept)
    assert placing.rules("", Placing()) == {}


@pytest.mark.parametrize(
    ("node", "usable"),
    [
        ({}, True),
        ({"unschedulable": True}, False),
        ({"taints": [{"key": "bench", "effect": "NoSchedule"}]}, True),
        ({"taints": [{"key": "gpu", "effect": "NoSchedule"}]}, False),
        ({"taints": [{"key": "gpu", "effect": "PreferNoSchedule"}]}, True),
    ],
)
def test_machines_that_may_be_used(node: dict[str, Any], usable: bool) -> None:
    thing = {
        "metadata": {"name": "a", "labels": {"pool": "bench"}},
        "spec": node,
        "status": {"conditions": [{"type": "Ready", "status": "True"}]},
    }
    settings = Placing(
        node_selector={"pool": "bench"},
        tolerations=({"key": "bench", "operator": "Exists"},),
    )
    assert placing.usable(thing, settings) is usable
    assert not placing.usable(thing, Placing(node_selector={"pool": "other"}))
    assert not placing.usable({**thing, "status": {}}, settings)
    loads = replace(settings, client_selector={"pool": "loads"})
    assert placing.usable(thing, loads) is usable
    assert not placing.usable(thing, loads, ("client-1",))
    assert placing.rules("client-1", loads)["nodeSelector"] == {"pool": "loads"}


def test_names_are_those_of_dns_and_stay_apart() -> None:
    assert object_name("tierbench-feed00-1-client") == "tierbench-feed00-1-client"
    longest = "x" * 63
    assert object_name(longest) == longest
    long = "x" * 80
    names = {
        object_name(name) for name in ("Run_A", "run-a", "run a", long, long + "y")
    }
    assert len(names) == 5 and all(len(name) <= 63 for name in names)
    assert all(name.strip("-") == name and name == name.lower() for name in names)


def test_our_images_come_from_the_registry_that_is_set(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("TIERBENCH_REGISTRY", "registry.example/bench/")
    assert (
        own_images.name_in_registry("tierbench/disk:1")
        == "registry.example/bench/tierbench/disk:1"
    )
    assert (
        own_images.name_in_registry("yugabytedb/yugabyte:2025")
        == "yugabytedb/yugabyte:2025"
    )


@pytest.mark.parametrize(
    ("tag", "full"),
    [
        ("debian", "docker.io/library/debian:latest"),
        ("tierbench/disk:1", "docker.io/tierbench/disk:1"),
        ("localhost/a", "localhost/a:latest"),
        ("registry:5000/a:1", "registry:5000/a:1"),
        ("quay.io/a/b@sha256:00", "quay.io/a/b@sha256:00"),
    ],
)
def test_full_names_of_images(tag: str, full: str) -> None:
    assert full_name(tag) == full


@pytest.mark.parametrize(
    ("text", "bytes_"),
    [("8Gi", 8 * 2**30), ("500M", 500_000_000), ("123", 123), ("1.5Ki", 1536)],
)
def test_quantities(text: str, bytes_: int) -> None:
    assert manifests.size_bytes(text) == bytes_
