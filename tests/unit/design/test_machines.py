"""The machines that a profile names, and what cannot run on them."""

from __future__ import annotations

from dataclasses import replace

import pytest

from orchestrator.design import machines, node_disks
from orchestrator.design.used_profiles import on_nodes
from orchestrator.errors import UsageError
from orchestrator.model import Placing, Profile
from orchestrator.planning.profiles import Nameable, read_profile
from orchestrator.tier import NodeDisks
from tests.plans import profile_text
from tests.refused_profiles import cluster_text

EMULATED = "{iops: 500, throughput: 10MB/s}"


def profile(more: str, tier: str = EMULATED, cluster: str = "") -> Profile:
    text = profile_text(tier, cluster=cluster or cluster_text(nodes="2"))
    return read_profile("x", text.rstrip("\n") + "\n" + more, Nameable(), "smoke")


def test_engines_of_nodes_and_clients_are_read() -> None:
    found = profile("machines: [vm1, 'ssh://vm2']\nclient_machine: vm3\n")
    assert found.placing == Placing(machines=("vm1", "ssh://vm2"), client_machine="vm3")
    machines.check([found, profile("")], "docker", True)


@pytest.mark.parametrize(
    ("more", "tier", "words"),
    [
        ("client_machine: vm1\n", EMULATED, "client_machine"),
        ("machines: [vm1, vm1]\n", EMULATED, "named twice"),
        (
            "machines: [vm1, vm2]\nkubernetes: {context: a}\n",
            EMULATED,
            "leave out `kubernetes`",
        ),
        (
            "machines: [vm1, vm2]\n",
            "{enforcement: storage-class, storage_class: fast}",
            "enforcement",
        ),
        ("machines: [vm1, 10.0.0.6]\n", EMULATED, "write ssh://user@10.0.0.6"),
        ("machines: [me@vm1, vm2]\n", EMULATED, "write ssh://user@vm1"),
        (
            "machines: [vm1, vm2]\nclient_machine: 10.0.0.7\n",
            EMULATED,
            "write ssh://user@10.0.0.7",
        ),
        ("machines: [vm1, 'ssh://bench@']\n", EMULATED, "write ssh://user@host"),
        ("machines: [vm1, 'ssh://me@vm2:p']\n", EMULATED, "write ssh://user@vm2"),
        ("machines: [vm1, 'http://x']\n", EMULATED, "write ssh://user@x"),
        ("machines: [vm1, 'tcp://']\n", EMULATED, "write tcp://host:port"),
        (
            "machines: [vm1, vm2]\nclient_machine: tcp://x\n",
            EMULATED,
            "write tcp://host:port",
        ),
        (
            "",
            "{enforcement: mounted, disks: '/mnt/p15-{nod}'}",
            "{nod} stands for nothing: write {node} for a node's number",
        ),
        (
            "",
            "{enforcement: mounted, path: '/mnt/p15-{nod}'}",
            "{nod} stands for nothing: write {node} for a node's number",
        ),
    ],
)
def test_what_does_not_go_together_is_refused(more: str, tier: str, words: str) -> None:
    with pytest.raises(UsageError) as refused:
        profile(more, tier)
    assert words in str([(one.where, one.what) for one in refused.value.mistakes])


@pytest.mark.parametrize(
    "engine",
    ["tcp://10.0.0.1:2376", "tcp://[::1]:2376", "ssh://vm1:22/run/docker.sock"],
)
def test_every_form_of_an_address_is_taken(engine: str) -> None:
    found = profile(f"machines: [vm1, '{engine}']\n")
    assert machines.named(found) == ("vm1", engine)


@pytest.mark.parametrize("key", ["path", "disks"])
def test_each_node_has_its_disk_on_its_own_machine(key: str) -> None:
    """One path is there on each machine; on one machine a pattern without a number is refused."""
    tier = f"{{enforcement: mounted, {key}: /mnt/data}}"
    found = on_nodes(profile("machines: [vm1, 'ssh://me@vm2:22']\n", tier), 2).tier
    expected = {f"node-{n}": NodeDisks("/mnt/data", machine=f"vm{n}") for n in (1, 2)}
    assert (found.disk.path, found.disk.of_nodes) == (None, expected)
    assert node_disks.count(found) == 2
    assert node_disks.alone(found, "node-2").disk.of_nodes == {
        "node-1": expected["node-2"]
    }
    alone = on_nodes(profile("", "{enforcement: mounted, path: /mnt/data}"), 2).tier
    assert (alone.disk.path, node_disks.count(alone)) == ("/mnt/data", 0)


def test_each_node_has_a_machine_of_this_platform() -> None:
    found = profile("machines: [vm1, vm2]\n")
    with pytest.raises(UsageError, match="engines kubernetes does not have"):
        machines.check([found], "kubernetes", False)
    larger = replace(found, cluster=replace(found.cluster, nodes=3))
    with pytest.raises(UsageError, match=r"3 nodes and names 2 machines \(vm1, vm2\)"):
        machines.check([larger], "docker", True)
