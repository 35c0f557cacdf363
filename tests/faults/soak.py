"""Campaigns that are hit at a moment drawn by a seed, and gone on with: what is lost, what stays.

    python -m tests.faults.soak 100      faults 1 to 100; those that were tried are not tried again

A campaign of two tiers with windows of two seconds on a Docker engine is hit once.
`tierbench resume` then has to give the planned runs, each once; records that were finished stay as
they are, byte for byte, `verify` counts the same figures, and nothing of ours is left.
"""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from tests import CACHE, ROOT
from tests.integration.conftest import Program, leftovers, tierbench

KEPT = CACHE / "soak"
START_S, RUN_S = 4.0, 8.0  # about what start and a run take on two idle cores
_WORKLOAD = str(ROOT / "tests/integration/workloads/short.yaml")
_CAMPAIGN = ("--profiles", "premium,ultra", "--workloads", _WORKLOAD, "--db", "postgresql")
_SIZE = ("--scale", "smoke", "--nodes", "1", "--accept-inconclusive")


@dataclass(frozen=True)
class Outcome:
    """Of one fault. `lost`: runs that had finished and are gone or changed; `wrong`: what is not as
    planned after going on; `left`: things of ours that are still there."""

    seed: int
    fault: str
    moment_s: float
    lost: tuple[str, ...] = ()
    wrong: tuple[str, ...] = ()
    left: tuple[str, ...] = ()

    @property
    def is_well(self) -> bool:
        return not (self.lost or self.wrong or self.left)


def _signal(number: signal.Signals) -> Callable[[Program], None]:
    return lambda program: program.process.send_signal(number)


def _suspend(program: Program) -> None:
    """For a few seconds, as a laptop that sleeps."""
    program.process.send_signal(signal.SIGSTOP)
    time.sleep(4.0)
    program.process.send_signal(signal.SIGCONT)


def _container(role: str) -> Callable[[Program], None]:
    """Kills the containers of a role, if there are any at that moment."""

    def kill(_: Program) -> None:
        names = subprocess.run(
            ["docker", "ps", "-q", "--filter", f"label=tierbench.role={role}"],
            capture_output=True,
            text=True,
            check=True,
        ).stdout.split()
        for name in names:
            subprocess.run(["docker", "kill", name], check=False, capture_output=True)

    return kill


FAULTS: Mapping[str, Callable[[Program], None]] = {
    "kill -9": _signal(signal.SIGKILL),
    "Ctrl-C": _signal(signal.SIGINT),
    "closed console": _signal(signal.SIGHUP),
    "suspended": _suspend,
    "node killed": _container("database"),
    "client killed": _container("client"),
    "disk server killed": _container("disk"),
}


def tried(seed: int, folder: Path, repetitions: int) -> Outcome:
    """One campaign below `folder`, its fault and what came of it."""
    dice = random.Random(seed)
    names = [*FAULTS, "kill -9", "kill -9"]  # the most frequent, and the worst
    fault, moment_s = (
        dice.choice(names),
        round(dice.uniform(0.5, START_S + 2 * repetitions * RUN_S), 1),
    )
    results = folder / "results"
    campaign = ("compare", *_CAMPAIGN, *_SIZE, "--repeats", str(repetitions))
    program = Program.start(*campaign, "--results", str(results))
    begun_s = time.monotonic()
    while time.monotonic() < begun_s + moment_s and program.process.poll() is None:
        time.sleep(0.1)
    if program.process.poll() is None:
        FAULTS[fault](program)
    program.end(400)
    finished = _finished(results)
    wrong = _gone_on(results, campaign)
    now = _finished(results)
    lost = tuple(name for name, text in finished.items() if now.get(name) != text)
    return Outcome(seed, fault, moment_s, lost, wrong, tuple(leftovers()))


def _finished(results: Path) -> dict[str, str]:
    """Folder of a run → the text of its record, if the run is done."""
    records = {file.parent.name: file.read_text() for file in results.glob("*/runs/*/record.json")}
    return {name: text for name, text in records.items() if json.loads(text)["outcome"] == "done"}


def _gone_on(results: Path, campaign: Sequence[str]) -> tuple[str, ...]:
    """Resumes the campaign, or begins one where the fault came before there was any; what is not as
    planned then."""
    if not (results / "latest" / "plan.json").is_file():
        code, text = tierbench(*campaign, "--results", str(results))
    else:
        code, text = tierbench(
            "resume", "latest", "--accept-inconclusive", "--results", str(results)
        )
    wrong = [] if code == 0 else [f"exit {code}: {text[-1500:]}"]
    made = (results / "latest").resolve()
    planned = json.loads((made / "plan.json").read_text())["runs"]
    done = [json.loads(text)["run"] for text in _finished(results).values()]
    for run in planned:
        of_this = [one for one in done if _cell(one) == _cell(run)]
        if len(of_this) != 1:
            wrong.append(f"{_cell(run)} was made {len(of_this)} times")
    code, text = tierbench("verify", str(made), "--results", str(results))
    return (*wrong, *([] if code == 0 else [f"verify: exit {code}: {text[-500:]}"]))


def _cell(run: Mapping[str, object]) -> tuple[object, ...]:
    return run["profile"], run["workload"], run["repetition"]


def main(count: int) -> int:
    """Tries the faults that have not been tried yet; the exit code says whether all went well."""
    KEPT.mkdir(parents=True, exist_ok=True)
    revision = subprocess.run(
        ["git", "rev-parse", "--short", "HEAD"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    ).stdout.strip()
    kept, outcomes = KEPT / f"{revision}.jsonl", []
    known = {}
    if kept.is_file():
        known = {line["seed"]: line for line in map(json.loads, kept.read_text().splitlines())}
    for seed in range(1, count + 1):
        if seed in known:
            outcome = Outcome(**known[seed])
        else:
            with tempfile.TemporaryDirectory() as folder:
                outcome = tried(seed, Path(folder), 2)
            with kept.open("a") as file:
                file.write(json.dumps(asdict(outcome)) + "\n")
        outcomes.append(outcome)
        if not outcome.is_well:
            print(json.dumps(asdict(outcome), indent=2))
        lost, wrong, left = (
            sum(len(getattr(one, name)) for one in outcomes) for name in ("lost", "wrong", "left")
        )
        print(
            f"{len(outcomes)} of {count} tried ({outcome.fault} after {outcome.moment_s:g} s): "
            f"{lost} finished runs lost, {wrong} things not as planned, {left} left behind",
            flush=True,
        )
    return 0 if all(one.is_well for one in outcomes) else 1


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]) if len(sys.argv) > 1 else int(os.environ.get("FAULTS", "100"))))
