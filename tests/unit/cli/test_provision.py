"""Getting a machine ready: what cannot be had is said with what to do, before anything starts."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from orchestrator import cli
from orchestrator.cli.common.app import App
from orchestrator.cli.prepare import provision
from orchestrator.errors import EXIT_DONE, RunError, UnavailableError
from orchestrator.platforms import own_images
from orchestrator.powers import Completed
from orchestrator.system.clock import SystemClock, wait_until
from orchestrator.system.shell import SystemShell
from tests import ROOT
from tests.apps import an_app, said_by, tierbench, with_parts
from tests.calls import calls_of
from tests.fakes import FakeImages, FakePlatform, QuietProgress, completed


class Refusing:
    """A shell in which every command fails."""

    def __init__(self) -> None:
        self.ran: list[str] = []

    def run(
        self,
        argv: Sequence[str],
        *,
        timeout_s: float,
        env: Mapping[str, str] | None = None,
    ) -> Completed:
        self.ran.append(" ".join(argv))
        return completed("", 100, "no such package")


@pytest.fixture
def no_commands(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("DOCKER_HOST", raising=False)


@pytest.mark.usefixtures("no_commands")
@pytest.mark.parametrize(
    ("user", "reason", "advice"),
    [
        (1000, "only root on Linux", "start Docker"),
        (0, "no Docker engine is installed", "docker.io"),
    ],
)
def test_an_engine_that_cannot_be_started_or_installed(
    user: int, reason: str, advice: str, tmp_path: Path
) -> None:
    app = an_app(tmp_path, shell=Refusing(), user=user)
    with pytest.raises(UnavailableError, match=reason) as raised:
        provision.provide_engine(app)
    assert advice in raised.value.advice


@pytest.mark.usefixtures("no_commands")
def test_an_engine_elsewhere_is_never_replaced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DOCKER_HOST", "tcp://127.0.0.1:1")
    shell = Refusing()
    with pytest.raises(UnavailableError):
        provision.provide_engine(an_app(tmp_path, shell=shell))
    assert shell.ran == []


def test_a_base_image_that_can_neither_be_pulled_nor_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("mmdebstrap", "apt-get"):
        (tmp_path / name).touch(mode=0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    platform: Any = FakePlatform()
    with pytest.raises(UnavailableError, match="neither be pulled nor made") as raised:
        provision.provide_base(platform, an_app(tmp_path / "cache", shell=Refusing()))
    assert "docker load" in raised.value.advice
    assert raised.value.evidence == "no such package"


class Building(FakeImages):
    """Images of an engine that has the base alone, and builds others by `work`."""

    def __init__(self, work: Callable[[str], None]) -> None:
        super().__init__([own_images.BASE], [], [])
        self._work = work

    def build(self, folder: str, tag: str, on_line: Callable[[str], None]) -> None:
        self._work(tag)


def building(work: Callable[[str], None], folder: Path) -> App:
    """A program on such an engine."""
    platform = FakePlatform()
    platform.images = Building(work)
    return an_app(folder, platform)


def test_the_images_are_built_at_the_same_time(tmp_path: Path) -> None:
    """One after the other they took 217 s of a first set-up, and together 137 s."""
    all_are_building = threading.Barrier(len(own_images.OURS))

    def build(_tag: str) -> None:
        all_are_building.wait(timeout=10.0)

    app = building(build, tmp_path)
    provision.provide(app)
    assert len(said_by(app)) == len(own_images.OURS)


def test_an_image_that_cannot_be_built_is_told_when_the_others_have_ended(
    tmp_path: Path,
) -> None:
    others_may_end = threading.Event()

    def build(tag: str) -> None:
        if "client" in tag:
            others_may_end.set()
            raise RunError("no way to Debian")
        assert others_may_end.wait(timeout=10.0)

    app = building(build, tmp_path)
    with pytest.raises(RunError, match="no way to Debian"):
        provision.provide(app)
    assert len(said_by(app)) == len(own_images.OURS) - 1


def test_a_missing_image_says_how_to_get_it() -> None:
    platform: Any = FakePlatform()
    with pytest.raises(UnavailableError, match="tierbench/postgres:") as raised:
        own_images.need(ROOT, "postgres", platform)
    assert "tierbench setup" in raised.value.advice


def test_the_tag_changes_with_the_content(tmp_path: Path) -> None:
    folder = tmp_path / "docker" / "x"
    folder.mkdir(parents=True)
    (folder / "Dockerfile").write_text("FROM a\n")
    before = own_images.tag(tmp_path, "x")
    assert own_images.tag(tmp_path, "x") == before
    (folder / "Dockerfile").write_text("FROM b\n")
    assert own_images.tag(tmp_path, "x") != before


def test_what_a_tag_is_made_of_is_read_once_while_it_does_not_change() -> None:
    """A plan of a hundred runs asked for the same tags hundreds of times."""
    first = own_images.tag(ROOT, "disk")
    read: list[str] = []

    def again() -> None:
        read.append(own_images.tag(ROOT, "disk"))

    assert calls_of({"read": Path.read_bytes}, again) == {}
    assert read == [first]


def test_a_daemon_outlives_what_starts_it(tmp_path: Path) -> None:
    program, log = tmp_path / "daemon", tmp_path / "log"
    program.write_text("#!/bin/sh\ncut -d' ' -f6 /proc/$$/stat; sleep 1; echo up\n")
    program.chmod(0o755)
    log.write_text("before\n")
    done = SystemShell().run(provision._outliving(str(program), log), timeout_s=20)
    assert (done.exit_code, done.out, "up" in log.read_text()) == (0, "", False), (
        "not waited for"
    )
    assert wait_until(
        lambda: "up" in log.read_text(), deadline_s=20, clock=SystemClock()
    )
    first, session, _ = log.read_text().split()
    assert first == "before" and int(session) != os.getsid(0)


def test_a_project_in_the_cache_is_named_by_what_is_in_it(tmp_path: Path) -> None:
    """Of a wheel: another path or another byte makes it another project."""
    digests: set[str] = set()
    for name, text in (("a.yaml", "bc"), ("a.yamlb", "c"), ("a.yaml", "b")):
        file = tmp_path / "file"
        file.write_text(text)
        digests.add(cli.digest_of({Path(name): file}))
    assert len(digests) == 3
    one = {Path("a"): tmp_path / "file", Path("b"): tmp_path / "file"}
    other_order = dict(reversed(one.items()))
    assert cli.digest_of(one) == cli.digest_of(other_order)


def test_an_image_of_yugabytedb_is_packed_where_the_engine_is(tmp_path: Path) -> None:
    """Of a line of any length the terminal's moving line shows the begin."""
    asked: list[tuple[Path, Path, object]] = []

    def pack(
        tarball: Path, root: Path, engine: object, show_line: Callable[[str], None]
    ) -> str:
        asked.append((tarball, root, engine))
        show_line("x" * 200)
        return "yugabytedb:mine"

    abilities = SimpleNamespace(image_supply=SimpleNamespace(pack=pack))
    databases = {"yugabytedb": SimpleNamespace(abilities=abilities)}
    parts: Any = SimpleNamespace(databases=databases)
    engine = FakePlatform()
    progress = QuietProgress()
    app = with_parts(an_app(tmp_path, engine, progress=progress), parts)
    tarball = tmp_path / "yugabyte.tar.gz"
    assert tierbench(app, "admin", "yugabyte-image", str(tarball)) == EXIT_DONE
    assert asked == [(tarball, ROOT, engine)]
    assert progress.steps == ["x" * 100]
