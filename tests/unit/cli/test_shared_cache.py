"""Two machines that share one cache folder, as with a home on NFS: each has its own part of it."""

from __future__ import annotations

import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from orchestrator.cli import CACHE
from orchestrator.cli.campaign_app import CampaignApp
from orchestrator.cli.main import exit_code
from orchestrator.errors import UnavailableError
from orchestrator.system import host
from tests import ROOT
from tests.apps import said_by, with_parts
from tests.fake_parts import fake_parts
from tests.fakes import FakeClock, FakePlatform, Log, QuietProgress

RUN = [
    "run",
    "-p",
    "premium",
    "-w",
    "point-select",
    "--db",
    "postgresql",
    "--scale",
    "smoke",
]
On = Callable[[str], CampaignApp]


@pytest.fixture
def on(tmp_path: Path) -> On:
    """The program as it starts on the machine of this name."""
    platform: Any = FakePlatform()

    def started(name: str) -> CampaignApp:
        return CampaignApp(
            ROOT,
            host.part_of(tmp_path / "cache", name),
            machine=name,
            results=tmp_path / name,
            lock=tmp_path / f"{name}.lock",
            clock=FakeClock(),
            progress=QuietProgress(),
            platforms=lambda: {"docker": lambda *_: platform},
        )

    return started


def test_the_program_begins_with_the_part_of_this_machine() -> None:
    app = CampaignApp()
    assert app.machine == socket.gethostname()
    assert app.cache == host.part_of(CACHE, app.machine)


def test_each_machine_loads_and_keeps_its_own_data(on: On, tmp_path: Path) -> None:
    log = Log()
    for name, loads in (("vm1", 1), ("vm2", 2), ("vm1", 2), ("vm2", 2)):
        app = on(name)
        exit_code(
            [*RUN, "--results", str(tmp_path / name)], with_parts(app, fake_parts(log))
        )
        assert log.words.count("load") == loads
        told = [line for line in said_by(app) if "belongs to vm1" in line]
        assert len(told) == (name == "vm2")
    for part in (tmp_path / "cache", tmp_path / "cache/machines/vm2"):
        assert len(list(part.glob("datasets/*/dataset.json"))) == 1


def test_nothing_is_signed_by_looking(on: On, tmp_path: Path) -> None:
    assert on("vm1").cache == on("vm2").cache == tmp_path / "cache"
    assert not (tmp_path / "cache").exists()


def test_of_two_machines_that_begin_at_the_same_moment_one_is_refused(on: On) -> None:
    apps = {name: on(name) for name in ("vm1", "vm2")}
    with apps["vm2"].at_work():
        pass
    first = apps["vm1"]
    with pytest.raises(UnavailableError, match="belongs to vm2 since this moment"):
        first.at_work().__enter__()
    assert on("vm1").cache == first.cache / "machines" / "vm1"
