"""`tierbench observe` given a second time: what goes on, and what is another observation."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from orchestrator.errors import EXIT_DONE, EXIT_INTERRUPTED, EXIT_UNAVAILABLE
from orchestrator.extensions.observe import observation_files
from orchestrator.extensions.observe.histories import files
from orchestrator.extensions.observe.judging.disk_demands import demands
from orchestrator.kernel import block_devices
from orchestrator.platforms.common.local_machine import LocalMachine
from tests import pages
from tests.apps import an_app, said_by, tierbench
from tests.clocks import SampledClock
from tests.observations import BEGIN_S, ON, Ticking, a_profile


@pytest.fixture
def clock() -> SampledClock:
    return SampledClock(BEGIN_S)


@pytest.fixture
def exporter(clock: SampledClock) -> Iterator[pages.Server]:
    with closing(pages.Server()) as server:
        server.pages = Ticking(clock)
        yield server


def line(exporter: pages.Server, results: Path, last: str = "3s") -> tuple[str, ...]:
    words = ("observe", "--exporter", exporter.url, "--device", "vda", "--last", last)
    return (*words, *ON, "--results", str(results))


def folders(results: Path) -> list[Path]:
    return sorted(results.glob("observed-*"))


def by_a_person() -> None:
    raise KeyboardInterrupt


def interrupted(words: tuple[str, ...], results: Path, clock: SampledClock) -> Path:
    """The folder of an observation that was interrupted after its first readings."""
    clock.after(2.5, by_a_person)
    assert tierbench(an_app(results, clock=clock), *words) == EXIT_INTERRUPTED
    (folder,) = folders(results)
    return folder


def test_nothing_that_was_read_before_is_shown_once_the_exporter_is_gone(
    exporter: pages.Server,
    clock: SampledClock,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    words = line(exporter, tmp_path)
    assert tierbench(an_app(tmp_path, clock=clock), *words) == EXIT_DONE
    exporter.close()
    capsys.readouterr()
    assert tierbench(an_app(tmp_path, clock=clock), *words) == EXIT_UNAVAILABLE
    told = capsys.readouterr()
    assert told.out == "" and "nothing was read" in told.err
    assert len(folders(tmp_path)) == 1  # none is left of what could not be read


def test_each_night_is_read_anew(
    exporter: pages.Server, clock: SampledClock, tmp_path: Path
) -> None:
    words = line(exporter, tmp_path)
    assert tierbench(an_app(tmp_path, clock=clock), *words) == EXIT_DONE
    (first,) = folders(tmp_path)
    again_s = clock.now()
    app = an_app(tmp_path, clock=clock)
    assert tierbench(app, *words) == EXIT_DONE
    assert len(folders(tmp_path)) == 2
    (second,) = set(folders(tmp_path)) - {first}
    (demand,) = demands(files.read(second))
    assert demand.begin_s[0] >= again_s
    said = " ".join(said_by(app))
    assert f"{first} is over" in said and f"--file {first}" in said


def test_one_that_was_interrupted_goes_on_in_its_folder(
    exporter: pages.Server, clock: SampledClock, tmp_path: Path
) -> None:
    words = line(exporter, tmp_path, "6s")
    folder = interrupted(words, tmp_path, clock)
    app = an_app(tmp_path, clock=clock)
    assert tierbench(app, *words) == EXIT_DONE
    assert folders(tmp_path) == [folder]
    assert any(f"{folder} goes on" in text for text in said_by(app))
    assert len({file.parent for file in observation_files.live(folder)}) == 2


def test_one_that_another_program_still_reads_is_left_to_it(
    exporter: pages.Server, clock: SampledClock, tmp_path: Path
) -> None:
    """A nightly command with `--last 1d` begins while that of the night before reads its last."""
    words = line(exporter, tmp_path, "6s")
    folder = interrupted(words, tmp_path, clock)
    held = os.open(folder, os.O_RDONLY)
    fcntl.flock(held, fcntl.LOCK_EX)
    try:
        assert tierbench(an_app(tmp_path, clock=clock), *words) == EXIT_DONE
    finally:
        os.close(held)
    assert len(folders(tmp_path)) == 2


def test_a_profile_with_another_host_is_another_observation(
    clock: SampledClock, tmp_path: Path
) -> None:
    device = next(iter(block_devices.counter_rows(LocalMachine())))
    file = a_profile(tmp_path, hosts="localhost", devices=device)
    asked = ("observe", "--profile", str(file), "--last", "6s", *ON)
    words = (*asked, "--results", str(tmp_path))
    folder = interrupted(words, tmp_path, clock)
    a_profile(tmp_path, hosts="127.0.0.1", devices=device)
    assert tierbench(an_app(tmp_path, clock=clock), *words) == EXIT_DONE
    assert len(folders(tmp_path)) == 2
    assert not (folder / "observed.json").exists()
