"""HDFS: its containers, what is refused, and what is read from its servers' pages."""

from __future__ import annotations

from dataclasses import replace

import pytest

from orchestrator.errors import NodeError, RunError, UsageError
from orchestrator.extensions.hadoop import pages
from orchestrator.extensions.hadoop.hdfs import Hdfs
from orchestrator.extensions.hadoop.settings import is_setting
from orchestrator.model import ClusterSpec, NodeSize, Volume
from orchestrator.platforms import own_images
from orchestrator.powers import Mount, Network, World
from tests import ROOT, hadoop
from tests.fakes import FakePlatform, completed, fake_world
from tests.pages import serving

GIB = 2**30
SPEC = ClusterSpec(
    "hdfs", 3, 2, NodeSize(1.0, GIB, 2 * GIB), settings={"dfs.blocksize": "32m"}
)
NETWORK = Network("net", ("10.0.0.11", "10.0.0.12", "10.0.0.13"))
IMAGE = own_images.tag(ROOT, "hadoop")
FEWER = hadoop.said("fsck.txt").replace(
    "Under-replicated blocks:	0", "Under-replicated blocks:	4"
)


def volumes(kept: bool = True) -> list[Volume]:
    return [
        Volume(f"disk-{n}", f"/dev/loop{n}", restored=False, kept=kept)
        for n in (1, 2, 3)
    ]


class Engine(FakePlatform):
    """Its published ports are those of the pages that a real cluster showed."""

    def __init__(self, port: int) -> None:
        super().__init__(images=[IMAGE])
        self.port = port
        self.said |= {"net-name-node": "node: ended\n"}
        self.said |= {f"net-node-{n}": "node: ended\n" for n in (1, 2, 3)}

    def running(self, spec):  # type: ignore[no-untyped-def]
        bracket = super().running(spec)
        port = self.port

        class Published:
            def __enter__(self):  # type: ignore[no-untyped-def]
                return replace(
                    bracket.__enter__(), ports=dict.fromkeys(spec.ports, port)
                )

            def __exit__(self, *error):  # type: ignore[no-untyped-def]
                return bracket.__exit__(*error)

        return Published()


def started(kept: bool = True, **logs: str) -> tuple[Engine, World]:
    with serving(hadoop.pages()) as at:
        engine = Engine(int(at.rpartition(":")[2]))
        engine.said |= {name.replace("_", "-"): log for name, log in logs.items()}
        world = fake_world(platform=engine)
        with Hdfs().running(SPEC, volumes(kept), NETWORK, world) as cluster:
            roles = [(node.name, node.role, node.device) for node in cluster.nodes]
            assert roles == [
                ("name-node", "coordinator", None),
                *((f"node-{n}", "database", f"loop{n}") for n in (1, 2, 3)),
            ]
            assert cluster.version == "3.4.2"
            assert cluster.handle.environment["COPIES"] == "2"
    return engine, world


def test_a_data_node_on_each_disk_and_a_name_node_beside_them() -> None:
    engine, _ = started()
    first, *others = engine.specs.values()
    assert first.command == ("name", "-Ddfs.blocksize=32m")
    assert first.placement == "node-1"
    # No part of node 1's CPU, where all that is promised must be free.
    assert first.cpus is None and first.role == "coordinator"
    assert [spec.mounts for spec in others] == [
        (Mount(f"disk-{n}", "/data"),) for n in (1, 2, 3)
    ]
    assert {spec.command for spec in others} == {("data", "-Ddfs.blocksize=32m")}
    assert [spec.address for spec in others] == list(NETWORK.addresses)
    assert {spec.environment["NAME_NODE"] for spec in others} == {"net-name-node"}
    assert {spec.environment["SPILL"] for spec in others} == {"/data/spill"}


def test_disks_are_kept_only_after_a_clean_end() -> None:
    with pytest.raises(NodeError, match="net-name-node did not stop cleanly"):
        started(net_name_node="killed")
    with pytest.raises(NodeError, match="net-node-2 did not stop cleanly"):
        started(net_node_2="killed")
    started(kept=False, net_name_node="killed")  # their disks are thrown away


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"replication_factor": 4}, "every copy needs a node of its own"),
        ({"node": NodeSize(1.0, GIB // 2, GIB)}, "too little for a data node"),
        ({"version": "3.3"}, "the image's own is taken"),
        ({"settings": {"dfs.datanode.synconclose": "false"}}, "a write ends in memory"),
        ({"settings": {"dfs.replication": "2"}}, "`replication_factor` sets it"),
        ({"settings": {"shared_buffers": "1GB"}}, "is not a setting of HDFS"),
        ({"settings": {"dfs.blocksize": "1m -Dx=y"}}, "is not a setting of HDFS"),
        ({"settings": {"fs.s3a.endpoint": "a"}}, "is not a setting of HDFS"),
    ],
)
def test_what_cannot_run_is_refused(change: dict[str, object], said: str) -> None:
    with pytest.raises(UsageError) as refused:
        Hdfs().check(replace(SPEC, **change), fake_world(platform=FakePlatform()))  # type: ignore[arg-type]
    assert said in refused.value.mistakes[0].what


def test_names_of_settings_have_letters_of_either_case() -> None:
    assert is_setting("dfs.", "dfs.datanode.fsdatasetcache.max.threads.perVolume", "4")
    assert not is_setting("dfs.", "dfs.", "4")


def test_the_image_is_built_when_it_is_first_needed() -> None:
    platform = FakePlatform()
    Hdfs().check(SPEC, fake_world(platform=platform))
    Hdfs().check(SPEC, fake_world(platform=platform))
    assert [asked[:2] for asked in platform.asked] == [("build", IMAGE)]


def test_facts_are_read_back_from_the_data_nodes() -> None:
    with hadoop.cluster() as cluster:
        facts = Hdfs().facts(cluster, fake_world())
    assert facts.durable is True
    assert facts.durability == {"dfs.datanode.synconclose": "true"}
    assert facts.given_bytes == dict.fromkeys(hadoop.NODES, 150_000_000.0)
    assert facts.bytes_of_copy == pytest.approx(1.0078, abs=1e-4)


def test_a_server_that_does_not_answer_is_an_error_of_the_run() -> None:
    with (
        hadoop.cluster({"/conf?name=dfs.blocksize": "<html>"}) as cluster,
        pytest.raises(RunError, match="data node's pages"),
    ):
        Hdfs().facts(cluster, fake_world())


def test_files_of_blocks_are_dropped_from_memory_on_data_nodes_alone() -> None:
    platform = FakePlatform()
    with hadoop.cluster() as cluster:
        Hdfs().begin_measuring(cluster, fake_world(platform=platform))
    assert sorted(platform.asked) == [
        ("exec", node, "node", "forget") for node in hadoop.NODES
    ]


def test_a_failure_to_drop_them_is_told() -> None:
    platform = FakePlatform(
        answer=lambda *_: completed("", 1, "dd: failed to discard cache")
    )
    with (
        hadoop.cluster() as cluster,
        pytest.raises(RunError, match="node forget failed"),
    ):
        Hdfs().begin_measuring(cluster, fake_world(platform=platform))


def test_a_load_settles_when_all_copies_are_there() -> None:
    with (
        hadoop.cluster({hadoop.FSCK: FEWER}) as cluster,
        pytest.raises(RunError, match="4 under-replicated blocks"),
    ):
        Hdfs().settle(cluster, fake_world())
    with hadoop.cluster() as cluster:
        Hdfs().settle(cluster, fake_world())


def test_pages_that_are_no_pages_of_hadoop() -> None:
    for page, read in (("/jmx", pages.live_nodes), ("/fsck", pages.lacking)):
        with (
            serving({page: '{"beans": []}'}) as at,
            pytest.raises(OSError, match="unknown form"),
        ):
            read(at)


def test_copies_that_were_made_again_are_counted() -> None:
    for said, count in (("dnact.json", 0), ("dnact-copied.json", 3)):
        with serving({"/jmx": hadoop.said(said)}) as at:
            assert pages.copied_blocks(at) == count
