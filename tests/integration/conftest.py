"""What tests with real containers share: a machine made ready once, and a count of what is left."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from orchestrator.cli import main
from orchestrator.cli.common.app import App
from orchestrator.cli.common.console import LastingConsole
from orchestrator.cli.common.progress import ConsoleProgress
from orchestrator.cli.measure.campaign_app import CampaignApp
from orchestrator.cli.prepare import provision
from orchestrator.platforms import own_images
from orchestrator.platforms.docker.engine import DockerPlatform
from orchestrator.powers import World
from orchestrator.system.clock import SystemClock
from orchestrator.system.shell import SystemShell
from orchestrator.yugabyte import counters
from tests import CACHE, ROOT, standin_image as standin_image_of
from tests.integration import host_names, servers
from tests.integration.servers import Server

# For tests that hold a rate or a latency of a real device against what was declared: a busy machine
# spoils any single figure, so such a test may try again; it still has to be true once.
measured = pytest.mark.flaky(reruns=3, reruns_delay=10, only_rerun=["AssertionError"])

HERE = Path(__file__).resolve().parent


@pytest.fixture(scope="session")
def engine() -> DockerPlatform:
    """The engine with our images built; leftovers of an earlier, killed test run removed."""
    platform = provision.provide(App(cache=CACHE))
    platform.sweep()
    servers.sweep()
    host_names.sweep()
    return platform


@pytest.fixture(scope="session")
def standin_image(engine: DockerPlatform) -> str:
    return standin_image_of.provide(engine)


@pytest.fixture
def image(standin_image: str) -> str:
    return standin_image


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """The stand-in is at rest sooner than a database."""
    monkeypatch.setattr(counters, "QUIET_S", 2.5)
    monkeypatch.setattr(counters, "POLL_S", 0.2)


@pytest.fixture(scope="session")
def postgresql(engine: DockerPlatform) -> Iterator[Server]:
    """A PostgreSQL that others run; each test leaves it as it was."""
    with servers.postgresql(own_images.need(ROOT, "postgres", engine)) as server:
        yield server


def make_world(engine: DockerPlatform) -> World:
    progress = ConsoleProgress(LastingConsole(stderr=True), SystemClock())
    return World(SystemClock(), SystemShell(), engine, progress, CACHE, ROOT)


@pytest.fixture
def world(engine: DockerPlatform) -> World:
    return make_world(engine)


def leftovers(**environment: str) -> list[str]:
    """Everything of ours that still exists: containers, networks and volumes of the engine that
    `environment` names; loops, mounts."""
    found: list[str] = []
    for kind, command in (
        ("container", ["docker", "ps", "-aq", "--filter", "label=tierbench"]),
        ("network", ["docker", "network", "ls", "-q", "--filter", "label=tierbench"]),
        ("volume", ["docker", "volume", "ls", "-q", "--filter", "label=tierbench"]),
    ):
        listed = subprocess.run(
            command,
            capture_output=True,
            text=True,
            check=True,
            env={**os.environ, **environment},
        ).stdout
        found += [f"{kind} {name}" for name in listed.split()]
    loops = subprocess.run(
        ["losetup", "-l", "-n", "-O", "NAME,BACK-FILE"],
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    found += [
        f"loop {line}" for line in loops.splitlines() if "/run/tierbench/" in line
    ]
    mounts = Path("/proc/mounts").read_text().splitlines()
    found += [f"mount {line}" for line in mounts if "tierbench" in line]
    found += [f"host's name {line}" for line in host_names.leftovers()]
    return found


@pytest.fixture
def nothing_left(engine: DockerPlatform) -> Iterator[None]:
    """Fails the test where anything of ours is left after it."""
    yield
    assert leftovers() == []


STARTED: list[subprocess.Popen[str]] = []


@pytest.fixture(scope="session", autouse=True)
def signals_as_at_a_terminal() -> None:
    """A shell that starts the tests in the background has them, and so every program they start,
    ignore Ctrl-C; tierbench then rightly ignores it too."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGHUP, signal.SIG_DFL)


@pytest.fixture(autouse=True)
def no_program_outlives_its_test() -> Iterator[None]:
    """A test that fails half-way must not leave its program measuring beside the next one."""
    yield
    while STARTED:
        process = STARTED.pop()
        if process.poll() is None:
            process.terminate()
        process.communicate(timeout=120)


@dataclass
class Program:
    """`tierbench` as a person starts it, its output followed while it runs."""

    process: subprocess.Popen[str]
    lines: list[str] = field(default_factory=list)

    @classmethod
    def start(cls, *arguments: str, **environment: str) -> Program:
        process = subprocess.Popen(
            [sys.executable, "-m", "orchestrator", *arguments],
            cwd=ROOT,
            env={**os.environ, "COLUMNS": "200", **environment},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            stdin=subprocess.DEVNULL,
            text=True,
        )
        STARTED.append(process)
        return cls(process)

    def until(self, text: str, deadline_s: float = 180.0) -> None:
        """Reads on until a line holds `text`; fails where the program ends or takes too long."""
        end = time.monotonic() + deadline_s
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self.lines.append(line.rstrip())
            if text in line:
                return
            assert time.monotonic() < end, f"no {text!r} in time:\n{self.text}"
        raise AssertionError(f"ended before {text!r}:\n{self.text}")

    def end(self, deadline_s: float = 240.0) -> int:
        """Waits for the end and returns the exit code."""
        out, _ = self.process.communicate(timeout=deadline_s)
        self.lines += out.splitlines()
        return self.process.returncode

    @property
    def text(self) -> str:
        return "\n".join(self.lines)


def tierbench(*arguments: str, **environment: str) -> tuple[int, str]:
    """Runs `tierbench` to its end: exit code and everything it printed."""
    program = Program.start(*arguments, **environment)
    code = program.end(900)
    return code, program.text


Told = Callable[..., tuple[int, str]]


@pytest.fixture
def told(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Told:
    """`tierbench` in this process, which is sooner: for what is refused before anything starts."""
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.chdir(ROOT)

    def tell(*arguments: str, **environment: str) -> tuple[int, str]:
        for name, value in environment.items():
            monkeypatch.setenv(name, value)
        code = main.exit_code(arguments, CampaignApp())
        said = capsys.readouterr()
        return code, said.out + said.err

    return tell
