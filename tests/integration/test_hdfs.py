"""HDFS and Hadoop's own jobs: from the documented command to a report; and where a run is void.

Goal: what the disks were written is what copies and checksums take, on every disk; a scan has the
generator's checksum; a data node that is lost ends the run, though the job ends well.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from orchestrator.analysis.doubts import kinds
from orchestrator.analysis.results import Results
from orchestrator.analysis.telemetry.use import conservation
from orchestrator.errors import NodeError
from orchestrator.extensions.hadoop.hdfs import Hdfs
from orchestrator.extensions.hadoop.tera import Tera
from orchestrator.model import CLIENT, Cluster, ClusterSpec, Node, NodeSize
from orchestrator.parts import ClientLoad
from orchestrator.powers import World
from orchestrator.system import at_once, store
from tests.documented import documented_commands
from tests.hadoop import small
from tests.integration.conftest import measured, tierbench
from tests.integration.postgresql_nodes import plain_volumes

pytestmark = [pytest.mark.docker, pytest.mark.usefixtures("nothing_left")]

NETWORK = "tierbench-hdfs"
SPEC = ClusterSpec("hdfs", 3, 3, NodeSize(1.0, 2**30, 2**31))


@contextmanager
def running(world: World) -> Iterator[Cluster]:
    Hdfs().check(SPEC, world)
    with (
        plain_volumes(3, world) as volumes,
        world.platform.network(NETWORK, 3) as network,
        Hdfs().running(
            SPEC, [replace(volume, kept=False) for volume in volumes], network, world
        ) as cluster,
    ):
        yield cluster


def figures(campaign: Results) -> dict[str, dict[str, float]]:
    assert [run.record.outcome for run in campaign.runs] == ["done"] * len(
        campaign.runs
    )
    return {
        run.record.run.workload: {
            **{m.metric: m.value for m in run.record.measurements},
            **{m.metric: m.value for m in conservation.figures(run)},
        }
        for run in campaign.runs
    }


@pytest.mark.slow
@measured
def test_the_documented_command_to_a_report_whose_bytes_are_those_of_all_copies(
    tmp_path: Path,
) -> None:
    words = documented_commands("HDFS.md", "Begin")[0]
    code, text = tierbench(
        *words[1:],
        *["--scale", "smoke", "--repeats", "1", "--accept-inconclusive"],
        *["--results", str(tmp_path)],
    )
    assert code == 0, text
    campaign = store.load(tmp_path / "latest")
    (own,) = figures(campaign).values()
    assert own["written_of_copies_pct"] == pytest.approx(100, abs=1)
    assert own["node_payload_bytes_per_s"] > 1e6
    assert not [
        doubt for doubt in kinds.find(campaign) if doubt.kind == "copies differ"
    ]
    (run,) = campaign.runs
    assert [n.role for n in run.record.nodes].count("coordinator") == 1
    report = (tmp_path / "latest" / "report.md").read_text()
    assert "Written, of what all copies take" in report and "copies" in report


@pytest.mark.slow
@measured
def test_rows_are_sorted_and_scanned_cold(tmp_path: Path) -> None:
    code, text = tierbench(
        *[
            "compare",
            "--profiles",
            "ultra",
            "--workloads",
            "hdfs-sort hdfs-scan",
            "--db",
            "hdfs",
        ],
        *["--nodes", "3", "--scale", "smoke", "--repeats", "1"],
        *["--accept-inconclusive", "--results", str(tmp_path)],
    )
    assert code == 0, text
    campaign = store.load(tmp_path / "latest")
    for name, own in figures(campaign).items():
        # All of it once, from the disks.
        assert own["read_per_payload"] == pytest.approx(1.0, abs=0.05), name
    for run in campaign.runs:
        facts = {**run.record.facts["generator"], **run.record.facts["checked"]}
        assert len(set(facts["checksums"])) == 1


@pytest.mark.slow
def test_files_are_written_and_read_on_nodes_and_by_a_client(
    world: World, tmp_path: Path
) -> None:
    files = {"bytes": 96_000_000, "file_size": 8_000_000}
    generator = Tera()
    with running(world) as cluster, generator.client(NETWORK, world) as client:
        for name in ("dfsio-write", "dfsio-read", "put", "get"):
            _, window = generator.run(
                ClientLoad(small(name, **files), cluster, client, tmp_path, world)
            )
            assert 0 < window.duration_s < 60, name
        load = small("gen", bytes=24_000_000)
        load = replace(load, options={"jobs_on": "client"})
        generator.run(ClientLoad(load, cluster, client, tmp_path, world))


@pytest.mark.slow
def test_a_data_node_that_is_killed_in_mid_write_voids_the_run(
    world: World, tmp_path: Path
) -> None:
    with running(world) as cluster:
        load = ClientLoad(
            small("gen", bytes=1_200_000_000),
            cluster,
            Node(CLIENT, "client"),
            tmp_path,
            world,
        )
        ran = at_once.begun(lambda: Tera().run(load))
        world.clock.sleep(5.0)
        world.platform.container(cluster.nodes[2].container or "").stop(0)
        with pytest.raises(NodeError, match="node-2"):
            ran.result()
