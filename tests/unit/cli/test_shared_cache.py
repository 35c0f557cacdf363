"""Machines that share one cache folder, as with a home on NFS: each has its own part of it, also
when it is renamed, and what others left there can be seen and removed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from orchestrator.cli import CACHE
from orchestrator.cli.main import exit_code
from orchestrator.cli.measure.campaign_app import CampaignApp
from orchestrator.errors import EXIT_DONE, EXIT_USAGE, UnavailableError
from orchestrator.system import machine_caches, marked
from orchestrator.system.machine_caches import MachineIdentity
from tests import ROOT
from tests.apps import Terminal, said_by, with_parts
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
On = Callable[..., CampaignApp]


@pytest.fixture
def on(tmp_path: Path) -> On:
    """The program as it starts on the machine of this name and id."""
    platform: Any = FakePlatform()

    def started(name: str, identity: str | None = None) -> CampaignApp:
        if identity is None:
            identity = f"id of {name}"
        machine = MachineIdentity(name, identity)
        return CampaignApp(
            ROOT,
            machine_caches.part_of(tmp_path / "cache", machine),
            machine=machine,
            results=tmp_path / name,
            lock=tmp_path / f"{name}.lock",
            clock=FakeClock(),
            progress=QuietProgress(),
            platforms=lambda: {"docker": lambda *_: platform},
        )

    return started


def test_the_program_begins_with_the_part_of_this_machine() -> None:
    app = CampaignApp()
    assert app.machine == machine_caches.here()
    assert app.cache == machine_caches.part_of(CACHE, app.machine)


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
    with pytest.raises(UnavailableError, match="was taken by vm2 a moment ago"):
        first.at_work().__enter__()
    assert on("vm1").cache == first.cache / "machines" / "vm1"


# ------------------------------------------------------------------ which machine it is


@pytest.mark.parametrize(
    ("file", "text", "has_id"),
    [
        ("etc/machine-id", "0123456789abcdef0123456789abcdef\n", True),
        ("var/lib/dbus/machine-id", "0123456789abcdef0123456789abcdef", True),
        ("etc/machine-id", "uninitialized\n", False),
        ("etc/machine-id", "", False),
        ("etc/hostname", "vm1", False),
    ],
)
def test_a_machine_is_told_by_its_id_which_is_not_shown(
    file: str, text: str, has_id: bool, tmp_path: Path
) -> None:
    (tmp_path / file).parent.mkdir(parents=True)
    (tmp_path / file).write_text(text)
    machine = machine_caches.here(tmp_path)
    assert bool(machine.id) == has_id
    assert "0123456789abcdef" not in machine.id


def signed(app: CampaignApp) -> Path:
    with app.at_work():
        pass
    return app.cache


def test_a_renamed_machine_keeps_its_cache(on: On) -> None:
    whole = signed(on("vm1", "1"))
    part = signed(on("vm2", "2"))
    assert on("renamed", "1").cache == whole
    assert signed(on("renamed too", "2")) == part != whole


def test_two_machines_of_one_name_are_two(on: On) -> None:
    whole = signed(on("vm1", "1"))
    second = signed(on("vm1", "2"))
    third = signed(on("vm1", "3"))
    assert len({whole, second, third}) == 3
    assert on("vm1", "2").cache == second and on("vm1", "3").cache == third


def test_a_cache_of_an_earlier_release_is_taken_over_once(
    on: On, tmp_path: Path
) -> None:
    cache = tmp_path / "cache"
    (cache / "machines" / "vm2").mkdir(parents=True)
    (cache / ".owner").symlink_to("vm1")
    assert signed(on("vm1", "1")) == cache
    assert signed(on("vm2", "2")) == cache / "machines" / "vm2"
    for name, other in (("vm1", "3"), ("vm2", "4")):
        assert on(name, other).cache not in (cache, cache / "machines" / "vm2")
    assert on("renamed", "1").cache == cache
    assert not (cache / ".owner.next").is_symlink()


def test_of_two_that_take_it_over_at_the_same_moment_one_is_refused(
    on: On, tmp_path: Path
) -> None:
    cache = tmp_path / "cache"
    cache.mkdir()
    (cache / ".owner").symlink_to("vm1")
    first, second = on("vm1", "1"), on("vm1", "2")
    assert first.cache == second.cache == cache
    signed(second)
    with pytest.raises(UnavailableError, match="was taken by vm1 a moment ago"):
        first.at_work().__enter__()


def test_a_container_without_an_id_is_told_by_its_name_and_told_so(on: On) -> None:
    app = on("box", "")
    cache = signed(app)
    assert any("there is no /etc/machine-id" in line for line in said_by(app))
    assert on("box", "").cache == cache != on("another", "").cache


# ------------------------------------------------------------------ what others left


def left_by(machine: MachineIdentity, cache: Path) -> Path:
    """A data set of a machine in its cache."""
    folder = cache / "datasets" / "abc"
    whose = marked.owned_by(machine.name, machine.id, cache, "c1")
    assert marked.make(str(folder), whose) == ""
    (folder / "dataset.json").write_text("{}")
    (folder / "node-1.img").write_bytes(b"x" * 2**20)
    return folder


@pytest.mark.parametrize("made_with_id", [True, False])
def test_what_another_owner_left_is_shown_and_removed_by_its_marks(
    on: On, made_with_id: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    gone = on("gone", "1")
    signed(gone)
    machine = gone.machine
    if not made_with_id:  # by an earlier release
        machine = MachineIdentity("gone")
    theirs = left_by(machine, gone.cache)
    unmarked = gone.cache / "datasets" / "of a person"
    unmarked.mkdir()
    (unmarked / "dataset.json").write_text("{}")
    signed(on("vm2", "2"))
    app = on("vm2", "2")
    assert exit_code(["clean", "--yes"], app) == EXIT_DONE
    said = " ".join(capsys.readouterr().out.split())
    assert f"{gone.cache} belongs to gone: 1.01 MiB, used " in said
    assert "`tierbench clean --owner gone`" in said and theirs.exists()
    assert exit_code(["clean", "--owner", "gone", "--dry-run"], app) == EXIT_DONE
    assert theirs.exists()
    assert exit_code(["clean", "--owner", "gone", "--yes"], app) == EXIT_DONE
    assert not theirs.exists() and unmarked.exists()
    assert exit_code(["clean", "--owner", "nobody", "--yes"], app) == EXIT_USAGE


def test_what_another_owner_left_is_removed_after_asking(
    on: On, capsys: pytest.CaptureFixture[str]
) -> None:
    gone = on("gone", "1")
    signed(gone)
    theirs = left_by(gone.machine, gone.cache)
    for answer, stays in (("n\n", True), ("y\n", False)):
        app = replace(on("vm2", "2"), stdin=Terminal(answer))
        exit_code(["clean", "--owner", "gone"], app)
        said = " ".join("".join(capsys.readouterr()).split())
        assert "gone may be using" in said and "Its newest file changed " in said
        assert theirs.exists() == stays


def foreign(folder: Path, whose: str) -> str:
    """Why it is not removed; "" if it was."""
    state = marked.remove(str(folder), whose, only_list=False)
    assert state is not None
    return str(state["foreign"])


def test_a_mark_of_an_earlier_name_is_ours_if_the_cache_was_signed_by_it(
    tmp_path: Path,
) -> None:
    cache = tmp_path / "cache"
    machine_caches.sign(cache, MachineIdentity("before", "1"))
    theirs = left_by(MachineIdentity("before"), cache)
    renamed = marked.owned_by("renamed", "1", cache, "c2")
    other = marked.owned_by("renamed", "1", tmp_path / "another cache", "c2")
    assert "belongs to the cache" in foreign(theirs, other)
    assert foreign(theirs, renamed) == ""
    assert not theirs.exists()
