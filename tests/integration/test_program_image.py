"""tierbench out of its own image, as docs/recipes/in-cluster.md says: beside a Docker engine."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
from pathlib import Path

import pytest

from orchestrator.platforms.docker.engine import DockerPlatform
from orchestrator.system import store
from tests import CACHE, ROOT, program_image
from tests.campaign_tables import sampled_in
from tests.integration.conftest import HERE

pytestmark = [
    pytest.mark.docker,
    pytest.mark.slow,
    pytest.mark.usefixtures("nothing_left"),
]


@pytest.fixture(scope="module")
def tag(engine: DockerPlatform) -> str:
    return program_image.provide()


def documented(tag: str, work: Path) -> list[str]:
    """The recipe's `docker run` up to the image, with these tests' cache and folder."""
    text = (ROOT / "docs/recipes/in-cluster.md").read_text().replace("\\\n", " ")
    (line,) = re.findall(r"^docker run .*$", text, re.MULTILINE)
    words = shlex.split(
        line.replace("/var/lib/tierbench", str(CACHE)).replace("$PWD", str(work))
    )
    return [word for word in words[: words.index(tag) + 1] if word != "-it"]


def run(command: list[str], *words: str, within_s: float = 120) -> str:
    done = subprocess.run(
        [*command, *words],
        capture_output=True,
        text=True,
        timeout=within_s,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    return done.stdout


def test_it_lists_what_was_shipped_and_plans_a_campaign(
    tag: str, tmp_path: Path
) -> None:
    assert "disk-matrix" in run(["docker", "run", "--rm", tag], "list")
    command = documented(tag, tmp_path)
    planned = run(
        command,
        "compare",
        "--profiles",
        "premium ultra",
        "--workloads",
        "insert",
        "--dry-run",
    )
    assert "premium" in planned and "ultra" in planned


def test_all_that_it_can_need_is_in_it(tag: str, tmp_path: Path) -> None:
    """Charts, ssh, and the client of Kubernetes, which finds no cluster here."""
    command = ["docker", "run", "--rm", "-v", f"{tmp_path}:/work", tag]
    run(command, "rehearse", "--repeats", "2", "--results", "results")
    report = (tmp_path / "results" / "latest" / "report.html").read_text()
    assert "data-chart" in report and "Not drawn" not in report
    run(["docker", "run", "--rm", "--entrypoint", "ssh", tag], "-V")
    asked = [*command, "doctor", "--platform", "kubernetes"]
    refused = subprocess.run(
        asked, capture_output=True, text=True, timeout=60, check=False
    )
    assert refused.returncode == 69
    assert "no Kubernetes cluster is configured here" in refused.stdout + refused.stderr


def test_nothing_of_the_package_index_or_of_pip_stays_in_it(tag: str) -> None:
    listed = run(
        ["docker", "run", "--rm", "--entrypoint", "sh", tag],
        "-c",
        "ls / /opt/tierbench/bin /opt/program/bin /opt/tierbench/lib/python3*/site-packages",
    )
    assert not {"pip", "pip3", "authorities.crt", "requirements.lock"} & set(
        listed.split()
    )


def test_a_campaign_on_the_engine_beside_it_is_read_as_from_outside(
    tag: str, tmp_path: Path
) -> None:
    """Processes, control groups, disks and the ports of the database are the engine's machine's."""
    workload = tmp_path / "tiny.yaml"
    workload.write_text((HERE / "workloads" / "tiny.yaml").read_text())
    words = (
        "run",
        "--profile",
        "premium",
        "--workload",
        "tiny.yaml",
        "--scale",
        "smoke",
    )
    run(
        documented(tag, tmp_path),
        *words,
        "--nodes",
        "1",
        "--db",
        "postgresql",
        within_s=400,
    )
    (data,) = store.load(tmp_path / "results" / "latest").runs
    assert data.record.outcome == "done", data.record.failure
    samples = sampled_in(data)
    node = samples[samples["node"] == "node-1"]
    assert {
        "cpu_seconds_total",
        "memory_used_bytes",
        "disk_writes_total",
        "network_received_bytes_total",
    } <= set(node["metric"])
    assert data.record.facts["telemetry"]["misses"] == {}
    machine = {node.machine for node in data.record.nodes if node.role == "database"}
    assert machine == {os.uname().nodename}
