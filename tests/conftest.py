"""What all tests share: those that need what this machine has not are skipped, with the reason.

In CI, where a Docker engine must be, the lack of one is a failure.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import os
from collections.abc import Generator
from pathlib import Path

import pytest

from orchestrator.errors import UnavailableError
from orchestrator.platforms.docker.engine import DockerPlatform
from orchestrator.system import redaction
from orchestrator.system.clock import SystemClock
from tests import ROOT, turns
from tests.cluster import programs

NEEDING_AN_ENGINE = ("docker", "kubernetes")
NOBODY = "unix:///nobody/listens/here.sock"
# By these a make that a test starts would be given the variables of the one that runs the tests.
for _name in ("MAKEFLAGS", "MAKEOVERRIDES", "MFLAGS", "MAKELEVEL"):
    os.environ.pop(_name, None)


def _engine() -> str:
    """The engine's version, or why there is none."""
    try:
        return f"Docker engine {DockerPlatform(SystemClock()).facts()['ServerVersion']}"
    except UnavailableError as error:
        return f"no Docker engine: {error.what}"


@pytest.fixture(autouse=True)
def nothing_remembered() -> Generator[None]:
    """Secrets of one test are words of another."""
    yield
    redaction._remembered.clear()


def pytest_report_header() -> str:
    return _engine()


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--turn",
        type=int,
        help=f"of the slow tests only those of this turn; there are {turns.TURNS}",
    )


@pytest.hookimpl(tryfirst=True)
def pytest_collection(session: pytest.Session) -> None:
    """Where several processes test, each compiles its share of the tests first. All of them collect
    all tests, in the same order: each would compile all."""
    # All that is made meanwhile stays: each full collection of garbage would walk through it.
    gc.disable()
    name = os.environ.get("PYTEST_XDIST_WORKER")
    if name is None:
        return
    place = int(name.removeprefix("gw"))
    workers = int(os.environ["PYTEST_XDIST_WORKER_COUNT"])
    files = _test_files([Path(argument) for argument in session.config.args])
    for file in files[place::workers]:
        module = file.relative_to(ROOT).with_suffix("")
        # What cannot be imported is told when it is collected.
        with contextlib.suppress(Exception):
            importlib.import_module(".".join(module.parts))


def _test_files(places: list[Path]) -> list[Path]:
    """The files of tests below those of the places that are folders."""
    files: set[Path] = set()
    for place in places:
        if place.is_dir():
            files.update(place.resolve().rglob("test_*.py"))
    return sorted(files)


@pytest.hookimpl(trylast=True)  # of what is left by -m: fast tests need no engine
def pytest_collection_modifyitems(
    config: pytest.Config, items: list[pytest.Item]
) -> None:
    turn = config.getoption("--turn")
    if turn is not None:
        left = [one for one in items if one.get_closest_marker("slow")]
        left = [one for one in left if turns.turn_of(one.nodeid) != turn % turns.TURNS]
        config.hook.pytest_deselected(items=left)
        items[:] = [one for one in items if one not in left]
    _skip_without_an_engine(items)
    if lacking := programs.missing():
        for item in items:
            if item.get_closest_marker("kubernetes"):
                item.add_marker(pytest.mark.skip(reason=lacking))


def pytest_collection_finish() -> None:
    """Later collections of garbage pass over what collecting tests has made."""
    gc.freeze()
    gc.enable()
    # Tests make much that does not stay: a collection for each 700 objects takes 5 % of the time.
    gc.set_threshold(20_000, 20, 20)


def pytest_unconfigure() -> None:
    """The last collection of garbage, too."""
    gc.freeze()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    """Other tests meet no engine even where one runs: one that asked it would fail where none does,
    as in CI before Docker is up. Nor do they wait for the disk: none of them cuts the power."""
    with pytest.MonkeyPatch.context() as environment:
        if not any(item.get_closest_marker(mark) for mark in NEEDING_AN_ENGINE):
            environment.setenv("DOCKER_HOST", NOBODY)
            environment.setattr(os, "fsync", _in_memory)
        return (yield)


def _in_memory(number: int) -> None:
    """Instead of `os.fsync`: OSError if that is no open file."""
    os.fstat(number)


def _skip_without_an_engine(items: list[pytest.Item]) -> None:
    marked = [item for item in items if item.get_closest_marker("docker")]
    if not marked or not (state := _engine()).startswith("no "):
        return
    if os.environ.get("CI") == "true":
        pytest.exit(
            f"tests with real containers must run in CI, but there is {state}", 1
        )
    for item in marked:
        item.add_marker(pytest.mark.skip(reason=state))
