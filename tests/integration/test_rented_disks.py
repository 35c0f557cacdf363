"""Three nodes on three disks with disks of their own for the WAL, as they are rented.

Goal: from a profile that names the disks by a pattern to a report that shows each of them, and a
gate that says which one is slow. Method: our disk server plays the rented disks, started by hand
so that for tierbench they are disks of this machine like any other; ext4 and XFS on them.
"""

from __future__ import annotations

import json
import subprocess
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from orchestrator.analysis.verdicts import judge
from orchestrator.design import node_disks
from orchestrator.errors import GateError
from orchestrator.planning import project_files
from orchestrator.platforms import own_images
from orchestrator.powers import World
from orchestrator.run.disks.gate_refusals import require_passed
from orchestrator.system import store
from orchestrator.tier import NodeDisks
from orchestrator.tiers.mounted import MountedTier
from tests import ROOT
from tests.campaign_tables import sampled_in
from tests.integration.conftest import HERE, measured, tierbench
from tests.integration.mount_points import made, mounted_at, sh
from tests.tiers import changed

pytestmark = [pytest.mark.docker, pytest.mark.usefixtures("nothing_left")]

IOPS, SLOW_IOPS, WAL_IOPS = 2_000, 500, 900
NODES = ("node-1", "node-2", "node-3")
FILE_SYSTEMS = {1: "ext4", 2: "xfs", 3: "ext4"}
RIGHTS = (  # of a container that makes a block device
    *("--cap-drop", "ALL", "--cap-add", "SYS_ADMIN", "--cap-add", "MKNOD"),
    *("--cap-add", "DAC_OVERRIDE", "--security-opt", "seccomp=unconfined"),
    *("--security-opt", "apparmor=unconfined", "--device-cgroup-rule", "b 7:* rwm"),
    *("--device-cgroup-rule", "c 10:229 rwm", "--device-cgroup-rule", "c 10:237 rwm"),
    *("--network", "none", "--read-only", "--tmpfs", "/run", "--tmpfs", "/tmp"),
)
PROFILE = f"""
question: do rented disks do?
title: rented
tier:
  enforcement: mounted
  disks:
    data: PLACE/p15-{{node}}
    wal: PLACE/wal-{{node}}
  mount_options: noatime
  iops: {IOPS}
  throughput: 100MB/s
  wal: {{iops: {WAL_IOPS}, throughput: 100MB/s}}
cluster: azure-d8s-v5
"""


@contextmanager
def served(image: Path, iops: int = IOPS) -> Iterator[tuple[str, str]]:
    """A device with limits on the image: name of the container that serves it, and device."""
    name = f"rented-{image.stem}"
    limits = ["--iops", str(iops), "--bytes-per-s", "100000000"]
    try:
        sh(
            *["docker", "run", "--detach", "--name", name, *RIGHTS, "-v", "/dev:/dev"],
            *["-v", f"{image.parent}:/images", own_images.tag(ROOT, "disk")],
            *["serve", "--image", f"/images/{image.name}", *limits],
        )
        for _ in range(100):
            ready = [
                line
                for line in sh("docker", "logs", name).splitlines()
                if line.startswith("{")
            ]
            if ready:
                break
            time.sleep(0.1)
        yield name, json.loads(ready[0])["device"]
    finally:
        subprocess.run(["docker", "stop", name], check=False, capture_output=True)
        sh("docker", "rm", "--force", name)


@pytest.fixture
def rented(tmp_path: Path, world: World) -> Iterator[dict[str, str]]:
    """Three disks at p15-1 … p15-3, and three for WAL at wal-1 … wal-3: node → its server."""
    servers: dict[str, str] = {}
    with ExitStack() as up:
        for number, kind in FILE_SYSTEMS.items():
            image = made(tmp_path / f"p15-{number}.img", kind)
            servers[f"node-{number}"], device = up.enter_context(served(image))
            up.enter_context(mounted_at(tmp_path / f"p15-{number}", device, "noatime"))
            log = made(tmp_path / f"wal-{number}.img", "ext4")
            _, device = up.enter_context(served(log, WAL_IOPS))
            up.enter_context(mounted_at(tmp_path / f"wal-{number}", device, "noatime"))
        yield servers


@pytest.mark.slow
@measured
def test_three_nodes_on_rented_disks(
    rented: dict[str, str], tmp_path: Path, world: World
) -> None:
    profile = tmp_path / "rented.yaml"
    profile.write_text(PROFILE.replace("PLACE", str(tmp_path)))
    code, text = tierbench(
        *["run", "--profile", str(profile), "--scale", "smoke", "--nodes", "3"],
        *[
            "--workload",
            str(HERE / "workloads" / "short-insert.yaml"),
            "--db",
            "postgresql",
        ],
        *["--results", str(tmp_path / "results")],
    )
    assert code == 0, text
    campaign = store.load(tmp_path / "results" / "latest")
    (run,) = campaign.runs
    record = run.record

    assert record.gate is not None
    verdicts = {
        c.disk: (c.verdict, c.declared)
        for c in record.gate.checks
        if c.quantity == "iops_read"
    }
    assert verdicts == {
        **{f"{name} ({tmp_path}/p15-{name[-1]})": ("ok", IOPS) for name in NODES},
        **{
            f"{name}'s WAL ({tmp_path}/wal-{name[-1]})": ("ok", WAL_IOPS)
            for name in NODES
        },
    }
    found = record.facts["tier"]["disks"]
    kinds = {
        number: found[f"{tmp_path}/p15-{number}"]["file_system"]
        for number in FILE_SYSTEMS
    }
    assert kinds == FILE_SYSTEMS

    nodes = {node.name: node for node in record.nodes if node.role == "database"}
    devices = {node.device for node in nodes.values()} | {
        n.wal_device for n in nodes.values()
    }
    assert len(devices) == 6 and None not in devices
    assert record.facts["database"]["wal_devices"] == {
        n: nodes[n].wal_device for n in NODES
    }
    for metric in ("disk_written_bytes_total", "wal_disk_written_bytes_total"):
        rows = sampled_in(run)[sampled_in(run)["metric"] == metric]
        grown = rows.groupby("node")["value"].agg(
            lambda values: values.max() - values.min()
        )
        assert set(grown.index) == set(NODES)
        if metric.startswith("wal"):  # every commit is in the logs of a majority
            assert (grown > 0).all(), grown
    verdict = judge(campaign)
    assert all("wal_iops_of_cap_pct" in cause.evidence for cause in verdict.bottlenecks)
    values = {(cell.metric, cell.scope): cell.mean for cell in verdict.cells}
    of_nodes = sum(values["wal_disk_iops", name] for name in NODES)
    assert values["wal_disk_iops", "all"] == pytest.approx(of_nodes)
    report = (
        (tmp_path / "results" / "latest" / "report.md").read_text().replace("\\_", "_")
    )
    assert "As found" in report and f"{tmp_path}/wal-2" in report

    (read,), _ = project_files.read(
        ROOT, [str(profile)], [], "smoke", {"mounted": "mounted"}
    )
    tier = node_disks.of_nodes(read.tier, 2)
    only_data = {
        name: NodeDisks(disk.data) for name, disk in tier.disk.of_nodes.items()
    }
    sh("docker", "exec", rented["node-2"], "device", "set", f"iops={SLOW_IOPS}")
    try:
        gate = MountedTier().gate(changed(tier, disks=only_data), world, thorough=False)
    finally:
        sh("docker", "exec", rented["node-2"], "device", "set", f"iops={IOPS}")
    with pytest.raises(
        GateError, match=rf"node-2 \({tmp_path}/p15-2\) is slow"
    ) as slow:
        require_passed(gate)
    assert "node-1" not in slow.value.what
    for place in ("p15-1", "wal-1"):
        assert {child.name for child in (tmp_path / place).iterdir()} == {"lost+found"}
