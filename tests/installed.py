"""Wheels of this project and of others, installed away from the checkout, without a network."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
from dataclasses import dataclass
from pathlib import Path

from tests import ROOT

STRANGER = ROOT / "examples" / "tierbench-pgbench"
VARIABLES = ("TIERBENCH_CACHE", "PYTHONPATH")


@dataclass(frozen=True)
class Installed:
    """`site`: the unpacked wheel; `home`: where commands are given; `cache`: that of its user."""

    site: Path
    home: Path
    cache: Path

    def run(
        self, *words: str, within_s: float = 120
    ) -> subprocess.CompletedProcess[str]:
        """`tierbench` with these words."""
        return self.python("-m", "orchestrator", *words, within_s=within_s)

    def python(
        self, *words: str, within_s: float = 120
    ) -> subprocess.CompletedProcess[str]:
        others = {
            name: value for name, value in os.environ.items() if name not in VARIABLES
        }
        libraries = sysconfig.get_path(
            "purelib"
        )  # as a path, so the checkout's .pth is not read
        search = os.pathsep.join([str(self.site), libraries])
        return subprocess.run(
            [sys.executable, "-S", *words],
            cwd=self.home,
            env={
                **others,
                "PYTHONPATH": search,
                "XDG_CACHE_HOME": str(self.cache),
                "COLUMNS": "200",
            },
            capture_output=True,
            text=True,
            check=False,
            timeout=within_s,
        )


PIP = (sys.executable, "-m", "pip", "--disable-pip-version-check", "--quiet")


def install(project: Path, folder: Path, site: Path) -> None:
    """Builds the project's wheel in a folder, and unpacks it into `site`; without a network."""
    wheels = folder / f"wheels-{project.name}"
    build = ("wheel", "--no-deps", "--no-build-isolation", "--wheel-dir", str(wheels))
    subprocess.run([*PIP, *build, str(project)], check=True, capture_output=True)
    (wheel,) = wheels.glob("*.whl")
    unpack = ("install", "--no-deps", "--no-index", "--no-compile", "--upgrade")
    target = ("--target", str(site), str(wheel))
    subprocess.run([*PIP, *unpack, *target], check=True, capture_output=True)


def copied(installed: Installed, folder: Path) -> Installed:
    """Another installation of the same user, who gives commands in another folder."""
    site = folder / "site"
    shutil.copytree(installed.site, site)
    home = folder / "home"
    home.mkdir()
    return Installed(site, home, installed.cache)
