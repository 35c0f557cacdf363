"""A wheel, installed away from the checkout, in a folder of the user's.

Method: the wheel is built as `make release` does, unpacked beside the libraries of this environment
(whose own installation of the checkout is not looked at), and run as a program of its own.
"""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from orchestrator.errors import UnavailableError
from orchestrator.model import Placing
from orchestrator.platforms import own_images, platforms
from orchestrator.system.clock import SystemClock
from tests import ROOT

VARIABLES = ("TIERBENCH_CACHE", "PYTHONPATH")


@dataclass(frozen=True)
class Installed:
    """`site`: the unpacked wheel; `home`: where commands are given."""

    site: Path
    home: Path

    def run(self, *words: str) -> subprocess.CompletedProcess[str]:
        others = {
            name: value for name, value in os.environ.items() if name not in VARIABLES
        }
        libraries = sysconfig.get_path(
            "purelib"
        )  # as a path, so the checkout's .pth is not read
        search = os.pathsep.join([str(self.site), libraries])
        cache = str(self.home / "xdg")
        return subprocess.run(
            [sys.executable, "-S", "-m", "orchestrator", *words],
            cwd=self.home,
            env={
                **others,
                "PYTHONPATH": search,
                "XDG_CACHE_HOME": cache,
                "COLUMNS": "200",
            },
            capture_output=True,
            text=True,
            check=False,
            timeout=120,
        )


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Installed:
    folder = tmp_path_factory.mktemp("installed")
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--quiet"]
    build = [
        *pip,
        "wheel",
        "--no-deps",
        "--no-build-isolation",
        "--wheel-dir",
        str(folder),
        str(ROOT),
    ]
    subprocess.run(build, check=True, capture_output=True)
    (wheel,) = folder.glob("*.whl")
    site, home = folder / "site", folder / "home"
    unpack = [
        *pip,
        "install",
        "--no-deps",
        "--no-compile",
        "--target",
        str(site),
        str(wheel),
    ]
    subprocess.run(unpack, check=True, capture_output=True)
    home.mkdir()
    return Installed(site, home)


def test_it_is_not_the_checkout_that_runs(installed: Installed) -> None:
    shown = installed.run("--version")
    assert (shown.returncode, shown.stdout) == (0, "tierbench 0.1.0\n"), shown.stderr
    assert (
        installed.site / "orchestrator" / "shipped" / "docker" / "disk" / "device"
    ).is_file()


def test_what_was_shipped_is_known(installed: Installed) -> None:
    shown = installed.run("list")
    assert shown.returncode == 0, shown.stderr
    for name in ("premium-v2", "ultra", "tpcc", "disk-matrix"):
        assert name in shown.stdout
    schema = installed.run("admin", "schema", "cluster")
    assert schema.stdout == (ROOT / "docs/schema/cluster.json").read_text(), (
        schema.stderr
    )


def test_a_profile_of_the_users_is_written_and_found_in_his_folder(
    installed: Installed,
) -> None:
    written = installed.run("init", "my-disk", "--tier", "azure/P15")
    assert written.returncode == 0, written.stderr
    assert (installed.home / "profiles" / "my-disk.yaml").is_file()
    planned = installed.run(
        "compare", "--profiles", "my-disk ultra", "--workloads", "insert", "--dry-run"
    )
    assert planned.returncode == 0, planned.stderr
    assert "my-disk" in planned.stdout


def test_a_rehearsal_leaves_its_report_in_the_users_folder(
    installed: Installed,
) -> None:
    done = installed.run("rehearse", "--repeats", "2", "--results", "results")
    assert done.returncode == 0, done.stderr
    assert (installed.home / "results" / "latest" / "report.html").is_file()
    assert (installed.home / "xdg" / "tierbench").is_dir()
    assert not (installed.home / ".cache").exists()


def test_images_have_the_tags_of_the_checkout(installed: Installed) -> None:
    """So that a registry serves both, and neither builds what the other has built. Agents on other
    machines are started from them without the project folder of the command."""
    ask = (
        "from orchestrator.cli import root; from orchestrator.platforms import own_images; "
        "print(*(own_images.tag(folder, name) for folder in (root(), own_images.PROJECT) "
        "for name in own_images.OURS))"
    )
    search = os.pathsep.join([str(installed.site), sysconfig.get_path("purelib")])
    tags = subprocess.run(
        [sys.executable, "-S", "-c", ask],
        cwd=installed.home,
        env={
            **os.environ,
            "PYTHONPATH": search,
            "XDG_CACHE_HOME": str(installed.home / "xdg"),
        },
        capture_output=True,
        text=True,
        check=True,
    ).stdout.split()
    assert tags == 2 * [own_images.tag(ROOT, name) for name in own_images.OURS]


def test_without_the_client_of_kubernetes_it_is_said_what_to_install(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "orchestrator.platforms.kubernetes.engine", None)
    with pytest.raises(UnavailableError) as raised:
        platforms()["kubernetes"](SystemClock(), Placing())
    assert raised.value.advice == "pip install 'tierbench[kubernetes]'"


def needed(name: str, extras: frozenset[str] = frozenset()) -> Iterator[str]:
    """The distributions that an installation of `name` brings, itself included; some repeatedly."""
    yield name
    for line in metadata.requires(name) or ():
        wanted = Requirement(line)
        asked = [{"extra": extra} for extra in ("", *extras)]
        if wanted.marker is None or any(map(wanted.marker.evaluate, asked)):
            yield from needed(wanted.name, frozenset(wanted.extras))


def mebibytes(distribution: str) -> float:
    files = [Path(str(file.locate())) for file in metadata.files(distribution) or ()]
    return sum(file.stat().st_size for file in files if file.is_file()) / 2**20


def test_the_smallest_installation_is_small() -> None:
    """Below 650 MiB of a new environment's site-packages, where the wheel itself, pip, setuptools
    and whole blocks took 64 more. Neither what draws charts nor the client of Kubernetes is in it.
    """
    sizes = {name: mebibytes(name) for name in {*needed("tierbench")}}
    assert not {"vl-convert-python", "kubernetes"} & set(sizes)
    assert sum(sizes.values()) < 586, sizes
