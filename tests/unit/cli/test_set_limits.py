"""`tierbench tiers set`: on which platform, and on which nodes, it changes limits.

Method: a stored campaign whose run is going on. On Kubernetes the API server is in memory and the
disks are scripts, of which each keeps its own limits; elsewhere the powers that are asked for.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from orchestrator.cli.common.app import App
from orchestrator.cli.prepare import tiers
from orchestrator.errors import UsageError
from orchestrator.extensions.kubernetes.engine import KubernetesPlatform
from orchestrator.model import Placing, Plan
from orchestrator.powers import RUNNING, Completed, ContainerEntry, ContainerSpec
from orchestrator.system import campaign_writing, unfinished_runs
from orchestrator.system.clock import SystemClock
from tests.apps import an_app
from tests.fake_cluster import FakeCluster
from tests.fakes import FakePlatform, completed
from tests.plans import a_plan, a_profile

# What `device limits` and `device set NAME=VALUE` say, without a disk; each call is written down.
DEVICE = """#!/bin/sh
echo "$@" >> {folder}/asked
[ "$1" = set ] && echo "${{2#iops=}}" > {folder}/iops
echo "{{\\"iops\\": $(cat {folder}/iops)}}"
"""


def going_on(results: Path, platform: str | None, placing: Placing | None) -> Path:
    """A campaign whose first run is going on; returns the run's folder."""
    plan = a_plan()
    profiles = (replace(a_profile(), platform=platform, placing=placing),)
    plan = replace(plan, platform=platform or "docker", profiles=profiles)
    campaign = campaign_writing.create(results, plan, {}, 0.0)
    return campaign_writing.run_folder(campaign, plan.runs[0])


def set_iops(app: App, results: Path) -> float:
    return tiers.set_limits(app, "latest", {"iops": 4000.0}, results)["iops"]


def changed(run: Path) -> list[Any]:
    return [(one["disk"], one["set"]) for one in unfinished_runs.limit_changes(run)]


def test_on_kubernetes_it_reaches_the_disks_of_the_campaign_that_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In the profile's context, and in that campaign's namespace."""
    clusters = {}
    for name in ("test", "bench"):
        (tmp_path / name).mkdir()
        clusters[name] = FakeCluster(tmp_path / name)
    monkeypatch.setenv(
        "KUBECONFIG", str(clusters["test"].kubeconfig(bench=clusters["bench"]))
    )
    script = tmp_path / "device"
    script.write_text(DEVICE.format(folder=tmp_path))
    script.chmod(0o755)
    (tmp_path / "iops").write_text("500")
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    placing = Placing(context="bench")
    run = going_on(tmp_path / "results", "kubernetes", placing)
    other = KubernetesPlatform(SystemClock(), placing)
    names = [f"tierbench-{other.campaign}-disk-node-{number}" for number in (1, 2)]
    with other.guard.held(), ExitStack() as up:
        for name in names:
            spec = ContainerSpec(
                name, "debian:trixie-slim", ("sleep", "infinity"), "disk"
            )
            up.enter_context(other.running(spec))
        assert set_iops(App(cache=tmp_path), tmp_path / "results") == 4000
    assert changed(run) == [(name, {"iops": 4000.0}) for name in names]
    assert (tmp_path / "asked").read_text().splitlines().count("set iops=4000") == 2
    assert clusters["test"].calls == []
    for one in clusters.values():
        one.close()


class Running(FakePlatform):
    """A platform on which another campaign has two disks, as the others are asked."""

    def __init__(self) -> None:
        super().__init__()
        self.guard.running = "1f2e3d"

    disks: tuple[str, ...] = ("node-2", "node-1")

    def find_containers(self, role: str = "") -> tuple[ContainerEntry, ...]:
        names = [f"tierbench-1f2e3d-4-{role}-{disk}" for disk in self.disks]
        return tuple(ContainerEntry(name, "", RUNNING) for name in names)

    def exec(self, container: str, argv: Sequence[str], **_: Any) -> Completed:
        return completed(json.dumps({"iops": 4000.0}))


@pytest.mark.parametrize(
    ("platform", "placing"),
    [
        (None, None),
        ("docker", Placing(machines=("vm1", "vm2"), client_machine="vm3")),
        ("kubernetes", Placing(context="bench", node_selector={"pool": "bench"})),
    ],
)
def test_the_platform_and_the_machines_are_those_of_the_running_campaign(
    platform: str | None, placing: Placing | None, tmp_path: Path
) -> None:
    asked: dict[str, Placing] = {}

    def connects(name: str) -> Any:
        def connect(_clock: Any, placing: Placing) -> Running:
            asked[name] = placing
            return Running()

        return connect

    known = {name: connects(name) for name in ("docker", "kubernetes")}
    run = going_on(tmp_path, platform, placing)
    assert set_iops(App(cache=tmp_path, platforms=lambda: known), tmp_path) == 4000
    assert asked == {platform or "docker": placing or Placing()}
    nodes = [disk for disk, _ in changed(run)]
    assert nodes == [f"tierbench-1f2e3d-4-disk-node-{number}" for number in (1, 2)]


def test_one_node_s_disk_alone_is_changed(tmp_path: Path) -> None:
    run = going_on(tmp_path, None, None)
    app = App(cache=tmp_path, platforms=lambda: {"docker": lambda *_: Running()})
    tiers.set_limits(app, "latest", {"iops": 4000.0}, tmp_path, "node-2")
    assert [disk for disk, _ in changed(run)] == ["tierbench-1f2e3d-4-disk-node-2"]
    with pytest.raises(UsageError, match="node-7 has no emulated disk") as raised:
        tiers.set_limits(app, "latest", {"iops": 4000.0}, tmp_path, "node-7")
    assert "name one of node-1, node-2" in raised.value.advice


class WithLogs(Running):
    """The same, where each node has a second disk for its WAL."""

    disks = ("node-2-wal", "node-2", "node-1-wal", "node-1")


@pytest.mark.parametrize(
    ("node", "disks"),
    [
        (None, ["node-1", "node-2"]),
        ("node-2", ["node-2"]),
        ("node-2.wal", ["node-2-wal"]),
    ],
)
def test_the_disk_of_the_wal_is_changed_where_it_is_named(
    node: str | None, disks: list[str], tmp_path: Path
) -> None:
    run = going_on(tmp_path, None, None)
    app = App(cache=tmp_path, platforms=lambda: {"docker": lambda *_: WithLogs()})
    tiers.set_limits(app, "latest", {"iops": 4000.0}, tmp_path, node)
    assert [disk for disk, _ in changed(run)] == [
        f"tierbench-1f2e3d-4-disk-{disk}" for disk in disks
    ]
    with pytest.raises(UsageError, match=r"node-7.wal has no emulated disk") as raised:
        tiers.set_limits(app, "latest", {"iops": 4000.0}, tmp_path, "node-7.wal")
    assert "node-1, node-2, node-1.wal, node-2.wal" in raised.value.advice


def test_without_a_run_nothing_is_asked(tmp_path: Path) -> None:
    app = an_app(tmp_path, connect=lambda *_: pytest.fail("nothing to change"))
    with pytest.raises(UsageError, match="no run is going on"):
        set_iops(app, tmp_path)
    plan: Plan = a_plan()
    campaign_writing.create(tmp_path, plan, {}, 0.0)
    with pytest.raises(UsageError, match="no run is going on"):
        set_iops(app, tmp_path)


def test_a_disk_whose_limits_are_lifted_is_not_changed(tmp_path: Path) -> None:
    """Its limits are set to the tier's before the warm-up: what was changed would be lost."""
    platform = Running()
    limits = {
        "iops": 0.0,
        "bytes_per_s": 0.0,
        "read_latency_us": 0.0,
        "write_latency_us": 0.0,
    }
    platform.exec = lambda *_, **__: completed(json.dumps(limits))  # type: ignore[method-assign]
    run = going_on(tmp_path, None, None)
    with pytest.raises(UsageError, match="are lifted at this moment") as refused:
        set_iops(an_app(tmp_path, platform), tmp_path)
    assert "in its warm-up or window" in refused.value.advice
    assert changed(run) == []
