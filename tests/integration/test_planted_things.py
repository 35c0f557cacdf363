"""Thirty things of others on a real engine, whose names and labels are like ours: a campaign, one
that is killed, the next that sweeps after it and `clean --yes` leave each as it was.

`tests/faults/test_planted.py` does the same twenty times on fakes.
"""

from __future__ import annotations

import json
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from orchestrator.platforms.own_images import BASE
from tests.faults.planted import planted
from tests.integration.conftest import HERE, Program, tierbench

pytestmark = [
    pytest.mark.docker,
    pytest.mark.slow,
    pytest.mark.usefixtures("nothing_left"),
]

# What others do to it meanwhile, if they do; a network's time is that of its last change.
TELLING = {
    "container": "{{json .State.StartedAt}}",
    "volume": "{{json .}}",
    "network": "{{.Id}}",
}


def docker(*words: str) -> str:
    done = subprocess.run(
        ["docker", *words], capture_output=True, text=True, check=True
    )
    return done.stdout.strip()


@pytest.fixture
def others() -> Iterator[dict[str, list[str]]]:
    """Ten containers that run, ten volumes and ten networks, by kind."""
    made: dict[str, list[str]] = {"container": [], "volume": [], "network": []}
    try:
        for name, labels in planted():
            words = [
                word
                for key, value in labels.items()
                for word in ("--label", f"{key}={value}")
            ]
            docker("run", "--detach", "--name", name, *words, BASE, "sleep", "infinity")
            made["container"].append(name)
            docker("volume", "create", *words, name)
            made["volume"].append(name)
            docker("network", "create", *words, name)
            made["network"].append(name)
        yield made
    finally:
        for kind, names in made.items():
            force = ["--force"] if kind == "container" else []
            for name in names:
                docker(kind, "rm", *force, name)


def told(others: dict[str, list[str]]) -> dict[str, Any]:
    return {
        kind: json.dumps(
            [docker(kind, "inspect", "--format", TELLING[kind], name) for name in names]
        )
        for kind, names in others.items()
    }


def test_they_stay(others: dict[str, list[str]], tmp_path: Path) -> None:
    before = told(others)
    assert sum(map(len, others.values())) == 30
    workload = str(HERE / "workloads" / "tiny.yaml")
    options = ["--scale", "smoke", "--nodes", "1", "--results", str(tmp_path)]
    run = ["run", "--profile", "ultra", "--workload", workload, *options]
    killed = Program.start(*run)
    killed.until("measuring")
    killed.process.send_signal(signal.SIGKILL)
    killed.end()
    code, text = tierbench(*run)  # which removes what that one left
    assert code == 0, text
    assert "removed a leftover" in text
    code, text = tierbench("clean", "--yes", TIERBENCH_CACHE=str(tmp_path / "cache"))
    assert code == 0, text
    assert told(others) == before
