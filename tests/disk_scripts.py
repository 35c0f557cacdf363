"""A machine with real disks for tests: its containers' scripts run here, on directories of a test.

Only what a container does (to see the machine's paths below /host) is done here without one.
"""

from __future__ import annotations

import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from orchestrator.platforms import own_images
from orchestrator.platforms.common.local_machine import LocalMachine
from orchestrator.powers import Completed, ContainerSpec
from orchestrator.system.shell import SystemShell
from tests import ROOT
from tests.fakes import FakePlatform, completed

IDLE = "   8      16 sdb {0} 0 {0} 0 5 0 5 0 {1} 0 0 0\n"  # of /proc/diskstats: I/Os, in flight


class Engine(FakePlatform):
    """Runs the scripts of containers here; each `mount` is seen where it is."""

    def __init__(self, root: Path) -> None:
        super().__init__(images=[own_images.tag(ROOT, "disk")])
        self._machine = LocalMachine(root)

    def machines(self) -> tuple[LocalMachine, ...]:
        return (self._machine,)

    def once(self, spec: ContainerSpec, timeout_s: float) -> Completed:
        argv = [*(spec.entrypoint or ()), *spec.command]
        if argv[0] == "restore":  # which the image has
            argv[0] = str(ROOT / "docker/disk/restore")
        for mount in spec.mounts:
            argv = [one.replace(f"{mount.target}/", f"{mount.source}/") for one in argv]
            argv = [mount.source if one == mount.target else one for one in argv]
        env = {"PATH": "/usr/bin:/bin", **spec.environment}
        done = subprocess.run(
            argv, capture_output=True, text=True, check=False, env=env
        )
        return Completed(
            tuple(argv), done.returncode, done.stdout + done.stderr, "", 0.0
        )


@dataclass
class Shell:
    """Runs the profile's commands; the page cache of the machine is not ours to drop."""

    asked: list[tuple[str, ...]] = field(default_factory=list)

    def run(
        self,
        argv: Sequence[str],
        *,
        timeout_s: float,
        env: Mapping[str, str] | None = None,
    ) -> Completed:
        self.asked.append(tuple(argv))
        if "drop_caches" in argv[-1]:
            return completed(exit_code=1, err="Permission denied")
        return SystemShell().run(argv, timeout_s=timeout_s, env=env)
