"""What a campaign is hit by. Each takes the scene with its running program, and returns when what
it does is over; what it stopped goes on then, what it filled is free again. It says whether it
struck anything: where a client is to be killed and none runs yet, it is asked again later."""

from __future__ import annotations

import contextlib
import os
import random
import signal
import subprocess
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

import psycopg

from orchestrator.errors import EXIT_INTERRUPTED, EXIT_UNAVAILABLE
from orchestrator.platforms.docker import guard as docker_guard
from orchestrator.platforms.docker.connection import CAMPAIGN
from tests.faults import scenes
from tests.faults.scenes import Place, Scene
from tests.integration.conftest import Program

SHORTLY_S, LONG_S = 8.0, 150.0
Hit = Callable[[Scene], bool]


@dataclass(frozen=True)
class Fault:
    """`code`: with which the program ends where the fault makes it end before its last run."""

    hit: Hit
    place: Place = scenes.here
    code: int = EXIT_UNAVAILABLE


def _program(scene: Scene) -> Program:
    assert scene.program is not None
    return scene.program


def _signal(number: signal.Signals) -> Hit:
    def hit(scene: Scene) -> bool:
        process = _program(scene).process
        return process.poll() is None and _send([process.pid], number)

    return hit


def _send(processes: Iterable[int], number: signal.Signals) -> bool:
    """Whether any of them was there."""
    struck = False
    for process in processes:
        with contextlib.suppress(ProcessLookupError):
            os.kill(process, number)
            struck = True
    return struck


def _stopped(processes: list[int], scene: Scene, seconds: float) -> bool:
    """Stops them for so long, or until the program has ended."""
    if not _send(processes, signal.SIGSTOP):
        return False
    try:
        _wait(scene, seconds)
    finally:
        _send(processes, signal.SIGCONT)
    return True


def _wait(scene: Scene, seconds: float) -> None:
    end = time.monotonic() + seconds
    while time.monotonic() < end and _program(scene).process.poll() is None:
        time.sleep(0.1)


def _suspended(scene: Scene) -> bool:
    """For a few seconds, as a laptop that sleeps."""
    return _stopped([_program(scene).process.pid], scene, SHORTLY_S)


def _killed(role: str) -> Hit:
    """Kills the containers of a role."""

    def hit(scene: Scene) -> bool:
        killed = [scene.asked("kill", name) for name in scene.containers(role)]
        return any(killed)

    return hit


def _silent(role: str, seconds: float) -> Hit:
    """Stops all processes of these containers, of which the engine is not told."""

    def hit(scene: Scene) -> bool:
        listed = [
            scene.asked("top", name, "-eo", "pid") for name in scene.containers(role)
        ]
        processes = [
            int(word) for one in listed for word in one.split() if word.isdigit()
        ]
        return _stopped(processes, scene, seconds)

    return hit


def _cut_off(scene: Scene) -> bool:
    """Takes the network from the nodes."""
    struck = False
    for name in scene.containers("database"):
        shown = scene.asked("inspect", "-f", "{{json .NetworkSettings.Networks}}", name)
        for network in shown.split('"')[1:2]:
            scene.asked("network", "disconnect", "-f", network, name)
            struck = True
    return struck


def _full(scene: Scene) -> bool:
    """Fills the small disk to its last byte, and frees it when somebody has seen to it."""
    assert scene.small is not None
    rest = scene.small / "of-somebody-else"
    with contextlib.suppress(OSError), rest.open("wb", buffering=0) as file:
        for size in (2**22, 2**12, 1):
            with contextlib.suppress(OSError):
                while file.write(b"0" * size):
                    pass
    _wait(scene, 20.0)
    rest.unlink()
    return True


def _false_clock(seconds: int) -> Hit:
    def hit(scene: Scene) -> bool:
        Path(scene.environment["AHEAD_OF_TIME"]).write_text(str(seconds))
        return True

    return hit


def _taken_over(scene: Scene) -> bool:
    """While the program is suspended, a campaign on another machine takes its guard, as one does
    after minutes of silence; it is over before the program is gone on with."""
    names = [docker_guard.NAME, f"{docker_guard.NAME}-beat-feed00"]
    labels = {
        CAMPAIGN: "feed00",
        "tierbench.host": "there",
        "tierbench.process": "a b 1 1",
    }
    said = [word for item in labels.items() for word in ("--label", "=".join(item))]
    process = _program(scene).process
    process.send_signal(signal.SIGSTOP)
    try:
        if not scene.asked("volume", "rm", docker_guard.NAME):
            return False
        for name in names:
            scene.asked("volume", "create", *said, name)
    finally:
        process.send_signal(signal.SIGCONT)
    _wait(scene, 120.0)
    scene.asked("volume", "rm", *names)
    return True


def _engine_killed(scene: Scene) -> bool:
    assert scene.engine is not None
    scene.engine.kill()
    time.sleep(3.0)
    scene.engine.start()
    return True


def _engine_silent(seconds: float) -> Hit:
    def hit(scene: Scene) -> bool:
        assert scene.engine is not None
        return _stopped([scene.engine.process.pid], scene, seconds)

    return hit


def _ssh_cut(scene: Scene) -> bool:
    """Kills the connections of the program."""
    found = subprocess.run(
        ["pgrep", "-P", str(_program(scene).process.pid), "-x", "ssh"],
        capture_output=True,
        text=True,
        check=False,
    )
    return _send(map(int, found.stdout.split()), signal.SIGKILL)


def _sessions_ended(scene: Scene) -> bool:
    """The owner of the server ends all sessions in our database."""
    assert scene.server is not None
    with contextlib.suppress(psycopg.Error):
        asked = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = 'tierbench'"
        return bool(scene.server.ask(asked))
    return False


def _files_cut(folder: Callable[[Scene], Path], spared: Callable[[Path], bool]) -> Hit:
    """Kills the program; then each file is cut at a byte that is drawn, as a machine may leave it
    that lost its power."""

    def hit(scene: Scene) -> bool:
        files = [
            file for file in sorted(folder(scene).rglob("*")) if not file.is_symlink()
        ]
        if not any(
            file.is_file() and file.stat().st_size and not spared(file)
            for file in files
        ):
            return False
        _program(scene).process.kill()
        _program(scene).end()
        dice = random.Random(str(scene.lasts_s))
        for file in sorted(folder(scene).rglob("*")):
            if file.is_file() and not file.is_symlink() and not spared(file):
                os.truncate(file, dice.randrange(file.stat().st_size + 1))
        return True

    return hit


def _is_finished(file: Path) -> bool:
    """Whether it was whole before the kill: the plan, and all of a run that has its record."""
    folders = [folder for folder in file.parents if folder.parent.name == "runs"]
    return not folders or (folders[0] / "record.json").is_file()


FAULTS: Mapping[str, Fault] = {
    "kill -9": Fault(_signal(signal.SIGKILL), code=-signal.SIGKILL),
    "node silent for a moment": Fault(_silent("database", SHORTLY_S)),
    "client killed": Fault(_killed("client")),
    "disk server silent for a moment": Fault(_silent("disk", SHORTLY_S)),
    "network cut": Fault(_cut_off),
    "clock ahead": Fault(_false_clock(7200), scenes.with_false_clock),
    "guard taken over": Fault(_taken_over),
    "results full": Fault(_full, scenes.small("results")),
    "unfinished results cut": Fault(
        _files_cut(lambda s: s.results, _is_finished), code=-signal.SIGKILL
    ),
    "existing: kill -9": Fault(
        _signal(signal.SIGKILL), scenes.existing, -signal.SIGKILL
    ),
    "existing: sessions ended": Fault(_sessions_ended, scenes.existing),
    "engine killed": Fault(_engine_killed, scenes.own_engine),
    "temporary files full": Fault(_full, scenes.small("temporary")),
    "Ctrl-C": Fault(_signal(signal.SIGINT), code=EXIT_INTERRUPTED),
    "closed console": Fault(_signal(signal.SIGHUP), code=EXIT_INTERRUPTED),
    "suspended": Fault(_suspended),
    "node killed": Fault(_killed("database")),
    "disk server killed": Fault(_killed("disk")),
    "client silent for a moment": Fault(_silent("client", SHORTLY_S)),
    "clock behind": Fault(_false_clock(-7200), scenes.with_false_clock),
    "cache full": Fault(_full, scenes.small("cache")),
    "tier full": Fault(_full, scenes.small("tier")),
    "cache cut": Fault(
        _files_cut(lambda s: s.folder / "cache", lambda _: False),
        scenes.with_own_cache,
        -signal.SIGKILL,
    ),
    "engine silent for a moment": Fault(_engine_silent(SHORTLY_S), scenes.own_engine),
    "agent killed": Fault(_killed("agent"), scenes.own_engine),
    "agent silent for a moment": Fault(_silent("agent", SHORTLY_S), scenes.own_engine),
    "ssh cut": Fault(_ssh_cut, scenes.over_ssh),
    "existing: client killed": Fault(_killed("client"), scenes.existing),
    "node silent": Fault(_silent("database", LONG_S)),
    "client silent": Fault(_silent("client", LONG_S)),
    "disk server silent": Fault(_silent("disk", LONG_S)),
    "engine silent": Fault(_engine_silent(LONG_S), scenes.own_engine),
    "agent silent": Fault(_silent("agent", LONG_S), scenes.own_engine),
}
