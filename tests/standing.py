"""A machine without disks on which disks are put up: its mounts are a file, which a shell writes as
mount(8) and umount(8) do, and its engine keeps containers in memory.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from orchestrator.cli.measure.campaign_app import CampaignApp
from orchestrator.errors import RunError, UnavailableError
from orchestrator.extensions.standing_disks import requests, standing
from orchestrator.platforms import own_images
from orchestrator.platforms.common.local_machine import LocalMachine
from orchestrator.powers import Completed, ContainerSpec, World
from orchestrator.tiers.common.emulated.standing_notes import StandingDisk
from tests import ROOT
from tests.apps import an_app
from tests.fakes import FakePlatform, completed, fake_world

GIB = 2**30
LIMITS = {"iops": 1100, "bytes_per_s": 125_000_000}
ENFORCED: dict[str, float] = {"iops": 1100, "bytes_per_s": 125_000_000}
READY = {"device": "/dev/loop7"}
BUSY = "umount: /mnt/p15: target is busy."  # as util-linux 2.38 says it


class Engine(FakePlatform):
    """Makes images and serves them; a disk says that it enforces what it was last asked for.
    `refuses`: what it cannot do."""

    def __init__(self, proc: Path) -> None:
        super().__init__(images=[own_images.tag(ROOT, "disk")])
        self.root, self.refuses = proc.parent, ""
        self.said.default_factory = lambda: json.dumps({**READY, "limits": self.limits})
        self.answer = self._enforced
        self.limits: dict[str, float] = dict(ENFORCED)

    def _enforced(self, _container: str, argv: Sequence[str]) -> str:
        settings = [word.partition("=") for word in argv if "=" in word]
        self.limits |= {name: float(value) for name, _, value in settings}
        return json.dumps(self.limits)

    def machines(self) -> tuple[LocalMachine, ...]:
        return (LocalMachine(self.root),)

    def once(self, spec: ContainerSpec, timeout_s: float) -> Completed:
        if self.refuses == "create":
            return completed("no space left on device", 70)
        file = Path(spec.mounts[0].source) / Path(spec.command[2]).name
        file.write_text("an empty file system")
        return completed("{}")

    def stand(self, spec: ContainerSpec) -> Any:
        if self.refuses == "stand":
            raise RunError("the engine refused")
        options = zip(spec.command[3::2], spec.command[4::2], strict=True)
        given = {
            name.removeprefix("--").replace("-", "_"): value for name, value in options
        }
        self.limits |= {name: float(value) for name, value in given.items()}
        return super().stand(spec)


class Shell:
    """mount, umount and fuser. `refuses`: the one that fails."""

    def __init__(self, proc: Path) -> None:
        self.refuses, self._mountinfo = "", proc / "self/mountinfo"
        self.ran: list[str] = []

    def run(
        self,
        argv: Sequence[str],
        *,
        timeout_s: float,
        env: Mapping[str, str] | None = None,
    ) -> Completed:
        self.ran.append(argv[0])
        lines = self._mountinfo.read_text().splitlines()
        if argv[0] == "fuser":
            if self.refuses == "fuser":
                raise UnavailableError("the command fuser is not installed")
            return completed(" 4711", 0, "/mnt/p15:  c\n")
        if self.refuses.startswith(argv[0]) or (
            self.refuses == "fuser" and argv[0] == "umount"
        ):
            return completed("", 32, BUSY)
        if argv[0] == "mount":
            lines.append(f"99 1 7:7 / {argv[-1]} rw,noatime - xfs {argv[-2]} rw")
        else:
            lines = [line for line in lines if line.split(" ")[4] != argv[1]]
        self._mountinfo.write_text("\n".join(lines))
        return completed()


class Place:
    """A machine, an engine, and a folder to mount in."""

    def __init__(self, folder: Path) -> None:
        proc = folder / "machine/proc"
        for process in ("self", "4711"):
            (proc / process).mkdir(parents=True)
        (proc / "self/mountinfo").write_text("20 1 254:0 / / rw - ext4 /dev/vda rw")
        (proc / "4711/mountinfo").write_text("20 1 254:0 / / rw - ext4 /dev/vda rw")
        (proc / "4711/comm").write_text("postgres\n")
        loop = folder / "machine/sys/class/block/loop7/loop"
        loop.mkdir(parents=True)
        self.backing = loop / "backing_file"
        self.backing.write_text("/run/tierbench/tierbench-standing-p15/disk.img\n")
        self.proc, self.at = proc, folder / "p15"
        self.engine, self.shell = Engine(proc), Shell(proc)
        made = fake_world(cache=ROOT, platform=self.engine, shell=self.shell)
        self.world: World = replace(made, cache=folder / "cache")

    def up(self, **other: Any) -> StandingDisk:
        asked = {
            "name": "p15",
            "at": self.at,
            "size_bytes": None,
            "data": None,
            **other,
        }
        disk = requests.prepared(
            tier="Azure Premium SSD P15", default_bytes=GIB, world=self.world, **asked
        )
        with standing.put_up(disk, LIMITS, self.world):
            pass
        return disk

    def app(self, **fields: Any) -> CampaignApp:
        """The program of root on this machine."""
        given = {"clock": self.world.clock, "shell": self.shell, "user": 0, **fields}
        platform = None if "connect" in fields else self.engine
        return an_app(self.world.cache, platform, progress=self.world.progress, **given)

    def down(self, keep_data: bool = False) -> Path | None:
        return standing.take_down(
            standing.named("p15", self.world), self.world, keep_data
        )

    def state(self) -> tuple[bool, bool, bool]:
        """Whether there is a container, a mount, an image."""
        images = list((self.world.cache / "standing").glob("*"))
        mounted = str(self.at) in (self.proc / "self/mountinfo").read_text()
        return bool(self.engine.stood), mounted, bool(images)

    def is_clean(self) -> bool:
        return self.state() == (False, False, False) and not self.at.exists()
