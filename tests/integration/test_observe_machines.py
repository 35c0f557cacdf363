"""`tierbench observe` on machines without node_exporter: by the agent, over ssh and a context.

Goal: who writes the documented `machines` and the documented line gets a report, and nothing stays
there. Method: two engines, one behind an ssh server; both see this kernel's disks, so that writes
to a loop device here are what they must have read.
"""

from __future__ import annotations

import json
import signal
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
import yaml

from orchestrator.errors import EXIT_INTERRUPTED, EXIT_UNAVAILABLE
from orchestrator.extensions.observe.histories import files
from orchestrator.extensions.observe.judging.demand import Demand
from orchestrator.extensions.observe.judging.disk_demands import demands
from orchestrator.platforms import own_images
from orchestrator.platforms.docker.engine import DockerPlatform
from orchestrator.system.clock import SystemClock, wait_until
from tests import ROOT
from tests.documented import examples
from tests.integration.conftest import Program, tierbench
from tests.integration.engines import (
    NEEDS_ENGINES,
    RemoteEngine,
    left_on,
    remote_engines,
)
from tests.integration.ssh_server import SshServer, ssh_server
from tests.observed_writes import Writes, writing

pytestmark = NEEDS_ENGINES  # two, and the agent's image is brought to each


@dataclass(frozen=True)
class Machines:
    engines: tuple[RemoteEngine, ...]
    ssh: SshServer
    environment: dict[str, str]

    def left(self) -> str:
        return left_on(self.engines)


@pytest.fixture(scope="module")
def machines(
    engine: DockerPlatform, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Machines]:
    configuration = tmp_path_factory.mktemp("configuration")
    with (
        remote_engines(2) as engines,
        ssh_server(engines[0], tmp_path_factory.mktemp("ssh")) as server,
    ):
        engines[1].is_context("vm2", configuration)
        environment = {**server.environment, "DOCKER_CONFIG": str(configuration)}
        yield Machines(engines, server, environment)


@pytest.fixture
def writes(tmp_path: Path) -> Iterator[Writes]:
    with writing(tmp_path) as made:
        yield made


@dataclass(frozen=True)
class Line:
    """The documented line, with these machines and this disk."""

    words: tuple[str, ...]
    results: Path
    environment: dict[str, str]

    @classmethod
    def of(cls, machines: Machines, device: str, folder: Path, last: str) -> Line:
        profile = yaml.safe_load(
            examples("OBSERVE.md", "Machines without node_exporter")[0]
        )
        profile["machines"] = [machines.ssh.address, "vm2"]
        (folder / "machines.yaml").write_text(yaml.safe_dump(profile))
        environment = {**machines.environment, "TIERBENCH_CACHE": str(folder / "cache")}
        words = (
            "observe",
            "--profile",
            str(folder / "machines.yaml"),
            "--device",
            device,
        )
        more = (
            "--size",
            "250GiB",
            "--last",
            last,
            "--results",
            str(folder / "results"),
        )
        return cls((*words, *more), folder / "results", environment)

    def begun(self) -> Program:
        """Returns when it reads each second."""
        before = set(self.results.glob("observed-*/samples/*"))
        program = Program.start(*self.words, **self.environment)
        program.until("the same command goes on")
        assert wait_until(
            lambda: set(self.results.glob("observed-*/samples/*")) - before,
            deadline_s=60,
            clock=SystemClock(),
        )
        return program

    def read(self) -> dict[str, Demand]:
        """By the machine's name; there is a report."""
        (folder,) = self.results.glob("observed-*")
        assert (folder / "report.html").is_file()
        return {each.node: each for each in demands(files.read(folder))}


def test_disks_of_machines_are_read_to_a_report_and_nothing_stays(
    machines: Machines, writes: Writes, tmp_path: Path
) -> None:
    line = Line.of(machines, writes.device, tmp_path, "15s")
    program = line.begun()
    for one in machines.engines:
        (agent,) = json.loads(
            one.docker("inspect", *one.docker("ps", "--quiet").split())
        )
        assert [(m["Source"], m["RW"]) for m in agent["Mounts"]] == [("/", False)]
        assert agent["Config"]["Labels"]["tierbench.role"] == "agent"
        tags = one.docker("images", "--format", "{{.Repository}}:{{.Tag}}").split()
        assert tags == [own_images.tag(ROOT, "disk")], (
            "and nothing else is brought there"
        )
    code, text = tierbench(*line.words, **line.environment)
    assert code == EXIT_UNAVAILABLE and "vm1: another campaign is running" in text, text
    assert program.end() == 0, program.text
    read = line.read()
    assert set(read) == {"vm1", "vm2"}
    for demand in read.values():
        assert demand.is_fine and demand.end_s[-1] - demand.begin_s[0] > 10
        writes.hold(demand)
    assert machines.left() == ""


def test_it_goes_on_after_ctrl_c(
    machines: Machines, writes: Writes, tmp_path: Path
) -> None:
    line = Line.of(machines, writes.device, tmp_path, "30s")
    program = line.begun()
    time.sleep(6)
    program.process.send_signal(signal.SIGINT)
    assert program.end() == EXIT_INTERRUPTED, program.text
    assert "the same command goes on in the same folder" in program.text
    assert machines.left() == ""
    program = line.begun()
    assert program.end() == 0, program.text
    for demand in line.read().values():
        assert len(demand.starts) > 1, "what was not read is a gap"
        assert 20 < demand.end_s[-1] - demand.begin_s[0] <= 32
        writes.hold(demand)
    assert machines.left() == ""


def test_a_machine_that_is_cut_off_is_a_gap_and_the_others_are_read_on(
    machines: Machines, writes: Writes, tmp_path: Path
) -> None:
    """It is told meanwhile, and the machine is read again once there is a way to it."""
    line = Line.of(machines, writes.device, tmp_path, "50s")
    program = line.begun()
    time.sleep(6)
    machines.ssh.cut()
    cut_s = time.time()
    program.until(f"vm1 {writes.device}: the machine vm1 does not answer")
    assert "reading goes on" in program.lines[-1] and time.time() < cut_s + 15
    machines.ssh.start()
    back_s = time.time()
    assert program.end() == 0, program.text
    of_first, of_second = (line.read()[name] for name in ("vm1", "vm2"))
    (gap,) = of_first.starts[1:]
    assert (
        of_first.end_s[gap - 1] < cut_s + 2
        and back_s < of_first.begin_s[gap] < back_s + 15
    )
    assert of_second.is_fine and of_second.coverage > 0.9 > of_first.coverage
    for demand in (of_first, of_second):
        writes.hold(demand)
    (report,) = line.results.glob("observed-*/report.md")
    assert "of the time was read" in report.read_text()
    assert "vm1 does not answer" in report.read_text()
    assert machines.left() == ""
