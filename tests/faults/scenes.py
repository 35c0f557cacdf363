"""Where campaigns are hit: this computer's engine, small disks, an engine of the test's own, one
that is reached by ssh, a PostgreSQL that others run.

Each has all that it needs for itself, so that what is filled, stopped or killed is the test's.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

from orchestrator.platforms import own_images
from orchestrator.platforms.docker.engine import DockerPlatform
from orchestrator.system.clock import SystemClock
from tests import CACHE, ROOT
from tests.integration import servers
from tests.integration.conftest import Program, leftovers
from tests.integration.engines import RemoteEngine, remote_engine
from tests.integration.existing_profile import profile as existing_profile
from tests.integration.mount_points import made, mounted_at
from tests.integration.servers import Server
from tests.integration.ssh_server import ssh_to

WORKLOAD = str(ROOT / "tests/integration/workloads/short.yaml")
SIZE = ("--workloads", WORKLOAD, "--scale", "smoke", "--accept-inconclusive")
ONE_NODE = (*SIZE, "--nodes", "1")
CLOCK = ROOT / "tests" / "faults" / "false_clock"
PLAIN = """\
question: does a campaign go on?
title: a disk
tier: {TIER}
cluster:
  database: postgresql
  nodes: 1
  replication_factor: 1
  node: {smoke: {cpus: 1, memory: 192MiB, disk: 1GiB}}
"""


@dataclass
class Scene:
    """`words`: of the campaign, but for its results; `environment`: of the program; `docker`: in
    which `docker` finds the engine; `small`: a disk to be filled; `lasts_s`: about, on idle cores,
    the start and a run."""

    folder: Path
    results: Path
    words: tuple[str, ...] = (
        "--profiles",
        "premium,ultra",
        "--db",
        "postgresql",
        *ONE_NODE,
    )
    environment: Mapping[str, str] = field(default_factory=dict)
    docker: Mapping[str, str] = field(default_factory=dict)
    small: Path | None = None
    engine: RemoteEngine | None = None
    server: Server | None = None
    lasts_s: tuple[float, float] = (4.0, 16.0)
    program: Program | None = None
    left: Callable[[], list[str]] = leftovers

    def containers(self, role: str) -> list[str]:
        """Ids of ours of a role that run now."""
        return self.asked(
            "ps", "-q", "--filter", f"label=tierbench.role={role}"
        ).split()

    def asked(self, *words: str) -> str:
        """What `docker` says; nothing where it fails, as it may while the engine is being hit."""
        done = subprocess.run(
            ["docker", *words],
            capture_output=True,
            text=True,
            check=False,
            env={**os.environ, **self.docker},
            timeout=60,
        )
        return done.stdout if done.returncode == 0 else ""

    def own_cache(self) -> Scene:
        return replace(
            self,
            environment={
                **self.environment,
                "TIERBENCH_CACHE": str(self.folder / "cache"),
            },
            lasts_s=(12.0, 16.0),
        )


Place = Callable[[Path], AbstractContextManager[Scene]]


@contextmanager
def here(folder: Path) -> Iterator[Scene]:
    yield Scene(folder, folder / "results")


@contextmanager
def with_own_cache(folder: Path) -> Iterator[Scene]:
    yield Scene(folder, folder / "results").own_cache()


@contextmanager
def with_false_clock(folder: Path) -> Iterator[Scene]:
    """The program adds to its clock what a file says."""
    ahead = folder / "ahead"
    ahead.write_text("0")
    environment = {"PYTHONPATH": str(CLOCK), "AHEAD_OF_TIME": str(ahead)}
    yield replace(Scene(folder, folder / "results"), environment=environment)


def small(what: str) -> Place:
    """`results`, `cache`, `temporary` files or the disks of the `tier` are on a disk of their own,
    which is small."""

    @contextmanager
    def place(folder: Path) -> Iterator[Scene]:
        size = (
            3 * 2**30 if what in ("cache", "tier") else 2**30
        )  # of which 512 MiB must be free
        image = made(folder / "image", "ext4", size)
        with mounted_at(folder / "small", str(image), "loop") as disk:
            scene = Scene(
                folder, disk / "results" if what == "results" else folder / "results"
            )
            scene = replace(scene, small=disk)
            if (
                what == "cache"
            ):  # what it holds at most must have room, or nothing begins
                scene = replace(scene, words=_on(folder, "azure/P15")).own_cache()
                scene = replace(
                    scene, environment={"TIERBENCH_CACHE": str(disk / "cache")}
                )
            if what == "temporary":
                scene = replace(scene, environment={"TMPDIR": str(disk)})
            if what == "tier":
                tier = f"{{enforcement: mounted, path: {disk}, snapshots: copy}}"
                scene = replace(scene, words=_on(folder, tier), lasts_s=(30.0, 8.0))
            yield scene
            if what == "tier":
                subprocess.run(
                    ["find", str(disk), "-mindepth", "1", "-delete"], check=True
                )

    return place


def _on(folder: Path, tier: str) -> tuple[str, ...]:
    """The words of a campaign on this one tier."""
    file = folder / "plain.yaml"
    file.write_text(PLAIN.replace("{TIER}", tier))
    return ("--profiles", str(file), *SIZE)


@contextmanager
def own_engine(folder: Path) -> Iterator[Scene]:
    """An engine with a dockerd, a data root and sockets of its own, reached by TCP."""
    with _engine(folder) as scene:
        assert scene.engine is not None
        yield replace(scene, environment=scene.engine.environment)


@contextmanager
def over_ssh(folder: Path) -> Iterator[Scene]:
    (ways := folder / "ssh").mkdir()
    with _engine(folder) as scene:
        assert scene.engine is not None
        with ssh_to(scene.engine, ways) as (address, environment):
            yield replace(scene, environment={**environment, "DOCKER_HOST": address})


@contextmanager
def _engine(folder: Path) -> Iterator[Scene]:
    with remote_engine() as engine:
        images = [own_images.tag(ROOT, name) for name in own_images.OURS]
        engine.bring(images, folder / "images.tar")
        (folder / "images.tar").unlink()
        scene = Scene(folder, folder / "results", _on(folder, "{enforcement: none}"))
        found = {"engine": engine, "docker": engine.environment, "lasts_s": (6.0, 8.0)}
        yield replace(scene, **found, left=lambda: leftovers(**engine.environment))  # type: ignore[arg-type]


@contextmanager
def existing(folder: Path) -> Iterator[Scene]:
    """A PostgreSQL that the program did not start; its databases are as before."""
    with ExitStack() as up:
        image = own_images.need(ROOT, "postgres", DockerPlatform(SystemClock()))
        server = up.enter_context(servers.postgresql(image))
        before = server.databases()
        words = ("--profiles", str(existing_profile(server, folder)), *SIZE)
        environment = {"PG_PASSWORD": server.password, "TIERBENCH_CACHE": str(CACHE)}
        scene = Scene(folder, folder / "results", words, environment, server=server)
        scene.lasts_s = (4.0, 8.0)
        scene.left = lambda: [
            *leftovers(),
            *(f"database {name}" for name in server.databases() ^ before),
        ]
        yield scene
