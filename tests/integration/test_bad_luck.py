"""Bad input and bad luck: a clear message, its exit code, and nothing left behind."""

from __future__ import annotations

import os
import random
import signal
import socket
import subprocess
import time
from pathlib import Path

import pytest

from orchestrator.platforms.docker.engine import DockerPlatform
from orchestrator.platforms.own_images import BASE
from orchestrator.system import store
from tests.integration.conftest import HERE, Program, Told, leftovers, tierbench

pytestmark = [pytest.mark.docker, pytest.mark.usefixtures("nothing_left")]

TINY = str(HERE / "workloads" / "tiny.yaml")
SHORT = str(HERE / "workloads" / "short.yaml")
FIXED_PORT = str(HERE / "profiles" / "fixed-port.yaml")
UNLIMITED = str(HERE / "profiles" / "unlimited.yaml")


def run_arguments(
    results: Path, workload: str = TINY, profile: str = "ultra"
) -> list[str]:
    options = ["--scale", "smoke", "--nodes", "1", "--results", str(results)]
    return ["run", "--profile", profile, "--workload", workload, *options]


def fresh_workload(folder: Path) -> str:
    """A workload whose data set nobody has loaded yet."""
    text = Path(TINY).read_text().replace("5000", str(10_000 + time.time_ns() % 10_000))
    file = folder / "fresh.yaml"
    file.write_text(text)
    return str(file)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["run", "--profile", "ulta", "--workload", "tpcc"], "unknown profile 'ulta'"),
        (
            ["run", "--profile", "ultra", "--workload", "tcpp"],
            "unknown workload 'tcpp'",
        ),
        (
            ["run", "--profile", "ultra", "--workload", "tpcc", "--scale", "big"],
            "unknown scale",
        ),
        (
            ["run", "--profile", "ultra", "--workload", "tpcc", "--db", "oracle"],
            "unknown database",
        ),
        (["run", "--profile", "ultra"], "workload"),
        (["run", "--profile", "ultra", "--workload", "tpcc", "--nodes", "0"], "nodes"),
        (["analyze", "/usr"], "not the folder of a campaign"),
    ],
)
def test_wrong_arguments(arguments: list[str], said: str, told: Told) -> None:
    code, text = told(*arguments)
    assert code == 64, text
    assert said in text


def test_an_unknown_key_is_shown_with_its_path(tmp_path: Path, told: Told) -> None:
    file = tmp_path / "odd.yaml"
    file.write_text(Path(FIXED_PORT).read_text().replace("tier: {", "tier: {iosp: 3, "))
    code, text = told(*run_arguments(tmp_path, profile=str(file)))
    assert code == 64, text
    assert "tier.iosp: unknown key" in text


def test_no_engine(tmp_path: Path, told: Told) -> None:
    where = f"unix://{tmp_path}/none.sock"
    code, text = told(*run_arguments(tmp_path), DOCKER_HOST=where)
    assert code == 69, text
    assert "Docker engine does not answer" in text


def test_a_taken_port(tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        taken.bind(("127.0.0.1", 55432))
        taken.listen()
        code, text = tierbench(*run_arguments(tmp_path, profile=FIXED_PORT))
    assert code == 69, text
    assert "55432" in text
    assert not list(tmp_path.glob("*/runs")), "nothing may have been started"


@pytest.mark.slow
@pytest.mark.parametrize("moment", ["loading", "disk check", "starting", "measuring"])
def test_interrupt(tmp_path: Path, moment: str) -> None:
    workload = fresh_workload(tmp_path) if moment == "loading" else TINY
    program = Program.start(*run_arguments(tmp_path, workload))
    program.until(moment)
    time.sleep(0.7)
    began_s = int(time.time())
    program.process.send_signal(signal.SIGINT)
    assert program.end() == 130, program.text
    assert "interrupted" in program.text
    assert "9" not in signals_to_disks(began_s), (
        "a disk that starts heeds the polite one too"
    )
    (data,) = store.load(tmp_path / "latest").runs
    assert data.record.outcome == "interrupted"


def signals_to_disks(since_s: int) -> list[str]:
    """The numbers of those that the engine has sent: 9 to what does not heed the polite one."""
    of_these = ("--filter", "event=kill", "--filter", "label=tierbench.role=disk")
    until = ("--since", str(since_s), "--until", str(int(time.time()) + 1))
    argv = [
        "docker",
        "events",
        *until,
        *of_these,
        "--format",
        "{{.Actor.Attributes.signal}}",
    ]
    return subprocess.run(
        argv, capture_output=True, text=True, check=True
    ).stdout.split()


def test_a_polite_kill_is_an_interrupt(tmp_path: Path) -> None:
    program = Program.start(*run_arguments(tmp_path))
    program.until("measuring")
    program.process.terminate()
    time.sleep(0.2)
    program.process.terminate()  # impatience must not cut the cleaning short
    assert program.end() == 130, program.text


def kill_the_only(role: str) -> None:
    (name,) = subprocess.run(
        [
            "docker",
            "ps",
            "--filter",
            f"label=tierbench.role={role}",
            "--format",
            "{{.Names}}",
        ],
        capture_output=True,
        text=True,
        check=True,
    ).stdout.split()
    subprocess.run(["docker", "kill", name], check=True, capture_output=True)


@pytest.mark.slow
def test_a_database_node_dies(tmp_path: Path) -> None:
    program = Program.start(
        *run_arguments(tmp_path, profile=UNLIMITED), "--db", "postgresql"
    )
    program.until("measuring")
    kill_the_only("database")
    assert program.end() == 2, program.text
    assert "died in the middle of the run" in program.text
    failed, repeated = (data.record for data in store.load(tmp_path / "latest").runs)
    assert (failed.outcome, repeated.outcome) == ("failed", "done")
    assert "died" in str(failed.failure)
    assert "out of order" in [doubt.kind for doubt in repeated.doubts]
    assert (tmp_path / "latest" / "report.md").is_file()


@pytest.mark.slow  # what a run does that failed: a node that dies
def test_the_disk_dies(tmp_path: Path) -> None:
    program = Program.start(*run_arguments(tmp_path))
    program.until("measuring")
    kill_the_only("disk")
    assert program.end() == 2, program.text
    failed, repeated = (data.record for data in store.load(tmp_path / "latest").runs)
    assert (failed.outcome, repeated.outcome) == ("failed", "done")
    ended = "the disk of node-1 ended, exited (exit 137); "
    assert str(failed.failure).startswith(ended)


@pytest.mark.slow
def test_leftovers_of_a_killed_program_are_removed_by_the_next(
    tmp_path: Path, engine: DockerPlatform
) -> None:
    program = Program.start(*run_arguments(tmp_path))
    program.until("measuring")
    os.kill(program.process.pid, signal.SIGKILL)
    program.end()
    assert leftovers(), (
        "a killed program cannot have cleaned up: this test would test nothing"
    )
    code, text = tierbench(*run_arguments(tmp_path, SHORT))
    assert code == 0, text
    assert "removed a leftover" in text


@pytest.mark.slow
def test_no_hangup_ends_what_was_started_with_nohup(tmp_path: Path) -> None:
    before = signal.signal(
        signal.SIGHUP, signal.SIG_IGN
    )  # inherited by what is started now
    try:
        program = Program.start(*run_arguments(tmp_path))
    finally:
        signal.signal(signal.SIGHUP, before)
    program.until("measuring")
    program.process.send_signal(signal.SIGHUP)
    assert program.end() == 0, program.text


@pytest.mark.slow
def test_what_holds_a_volume_of_one_run_does_not_cost_the_next(tmp_path: Path) -> None:
    """Somebody looks into the disk of run 1, and stays there: run 1 is kept, with a doubt."""
    program = Program.start(
        *run_arguments(tmp_path, profile=UNLIMITED), "--repeats", "2"
    )
    program.until("measuring")
    (volume,) = subprocess.run(
        ["docker", "volume", "ls", "-q", "--filter", "name=-node-1"],
        capture_output=True,
        text=True,
        check=True,
    ).stdout.split()
    looking = [
        "docker",
        "run",
        "-d",
        "--rm",
        "-v",
        f"{volume}:/v",
        BASE,
        "sleep",
        "600",
    ]
    done = subprocess.run(looking, capture_output=True, text=True, check=True)
    try:
        program.until("[2/2]")
    finally:
        subprocess.run(
            ["docker", "rm", "-f", done.stdout.strip()], check=True, capture_output=True
        )
    program.end()
    runs = [data.record for data in store.load(tmp_path / "latest").runs]
    assert [record.outcome for record in runs] == ["done"] * 2, program.text
    assert [doubt.kind for doubt in runs[0].doubts] == ["teardown"]
    assert [doubt.kind for doubt in runs[1].doubts] == ["leftovers"]
    assert runs[0].measurements


def test_two_campaigns_at_once_are_refused(tmp_path: Path) -> None:
    program = Program.start(*run_arguments(tmp_path))
    program.until("disk check")
    code, text = tierbench(*run_arguments(tmp_path))
    program.process.send_signal(signal.SIGINT)
    program.end()
    assert code == 69, text
    assert "another campaign is running" in text


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(20))
def test_a_second_ctrl_c_at_any_moment_of_teardown(tmp_path: Path, seed: int) -> None:
    """It gives up logs and files, and no removal; on a quiet machine a teardown takes 2 s."""
    program = Program.start(*run_arguments(tmp_path))
    program.until("measuring")
    program.process.send_signal(signal.SIGINT)
    time.sleep(random.Random(seed).uniform(0.02, 3.0))
    program.process.send_signal(signal.SIGINT)  # to one that has ended it says nothing
    began_s = time.monotonic()
    # A shell says 130 too of a program that a signal ends in its last moments.
    assert program.end() in (130, -signal.SIGINT), program.text
    assert time.monotonic() - began_s < 300
