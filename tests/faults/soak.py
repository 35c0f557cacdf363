"""Campaigns that are hit at a moment drawn by a seed, and gone on with: what is lost, what stays.

    python -m tests.faults.soak 100 2    faults 1 to 100, of campaigns with two repetitions

Faults that were tried are not tried again.

A campaign with windows of two seconds is hit once (hits.py), on an engine or a server of its own
where the fault is theirs (scenes.py). `tierbench resume` then has to give the planned runs, each
once; records that were finished stay as they are, byte for byte, `verify` counts the same figures,
exit codes are those that docs/OPTIONS.md has, and nothing of ours is left. A fault that found
nothing to strike before the campaign was over is tried, but not counted.
"""

from __future__ import annotations

import json
import random
import signal
import subprocess
import sys
import tempfile
import time
import traceback
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from orchestrator.errors import EXIT_DONE, EXIT_INCONCLUSIVE
from tests import CACHE, ROOT
from tests.faults.hits import FAULTS
from tests.faults.scenes import Scene
from tests.integration.conftest import STARTED, Program, tierbench

KEPT = CACHE / "soak"
STAYS_S = 60.0
WITHIN_S = 400.0  # after its fault a program has ended: its longest wait is the start of a database


@dataclass(frozen=True)
class Outcome:
    """Of one fault. `moment_s`: when it struck, if it did; `lost`: runs that had finished and are
    gone or changed; `wrong`: what is not as planned, or ended with another exit code; `left`:
    things of ours that are still there."""

    seed: int
    fault: str
    moment_s: float
    has_struck: bool
    lost: tuple[str, ...] = ()
    wrong: tuple[str, ...] = ()
    left: tuple[str, ...] = ()

    @property
    def is_well(self) -> bool:
        return not (self.lost or self.wrong or self.left)


def tried(seed: int, folder: Path, repetitions: int) -> Outcome:
    """One campaign below `folder`, its fault and what came of it. Faults take turns, so that each
    is tried once in so many seeds; from when on they hit, if there is something, is drawn."""
    name = list(FAULTS)[(seed - 1) % len(FAULTS)]
    fault = FAULTS[name]
    with fault.place(folder) as scene:
        start_s, repetition_s = scene.lasts_s
        moment_s = random.Random(seed).uniform(
            0.5, start_s + repetitions * repetition_s
        )
        words = ("compare", *scene.words, "--repeats", str(repetitions))
        campaign = (*words, "--results", str(scene.results))
        scene.program = Program.start(*campaign, **scene.environment)
        begun_s, struck = time.monotonic(), False
        while scene.program.process.poll() is None and not struck:
            time.sleep(0.1)
            if (passed_s := time.monotonic() - begun_s) >= moment_s:
                moment_s, struck = passed_s, fault.hit(scene)
        is_endless, code = False, 0
        try:
            code = scene.program.end(WITHIN_S)
        except subprocess.TimeoutExpired:
            is_endless = True
            scene.program.process.kill()
            scene.program.end()
        finished = _finished(scene.results)
        ended = _expected(
            scene.results, scene.program.text, fault.code if struck else None
        )
        wrong = list(_gone_on(scene, campaign))
        if is_endless:
            wrong.insert(
                0, f"did not end within {WITHIN_S:g} s: {scene.program.text[-1500:]}"
            )
        elif code != ended or "Traceback" in scene.program.text:
            wrong.insert(0, f"exit {code}, not {ended}: {scene.program.text[-1500:]}")
        now = _finished(scene.results)
        lost = tuple(name for name, text in finished.items() if now.get(name) != text)
        left = tuple(_staying(scene))
        return Outcome(seed, name, round(moment_s, 1), struck, lost, tuple(wrong), left)


def _staying(scene: Scene) -> list[str]:
    """What is left and is still there a minute later: loop devices of the whole machine are seen,
    also those of a test on Kubernetes that goes on beside this one."""
    if not (left := scene.left()):
        return []
    time.sleep(STAYS_S)
    later = scene.left()
    return [thing for thing in left if thing in later]


def _tried_apart(seed: int, repetitions: int) -> Outcome:
    """As `tried`, in a folder for itself; what breaks the test is an outcome too, so that the next
    fault is tried all the same."""
    try:
        with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
            return tried(seed, Path(folder), repetitions)
    except Exception:
        name = list(FAULTS)[(seed - 1) % len(FAULTS)]
        return Outcome(seed, name, 0.0, False, wrong=(traceback.format_exc()[-3000:],))
    finally:
        while STARTED:
            program = STARTED.pop()
            program.kill()
            program.communicate(timeout=120)


def _expected(results: Path, text: str, code: int | None = None) -> int | None:
    """The exit code of a program that printed `text`: of one that ended before its last run, as it
    says, or did not come to say, `code`."""
    if code is not None and (code < 0 or "\ntierbench: " in f"\n{text}"):
        return code
    return EXIT_INCONCLUSIVE if _has_failed(results) else EXIT_DONE


def _finished(results: Path) -> dict[str, str]:
    """Folder of a run → the text of its record, if the run is done."""
    records = {
        file.parent.name: file.read_text()
        for file in results.glob("*/runs/*/record.json")
    }
    return {
        name: text
        for name, text in records.items()
        if json.loads(text)["outcome"] == "done"
    }


def _has_failed(results: Path) -> bool:
    """Whether a run failed, or does not count: the clock was set in its window, or what an earlier
    one left may have disturbed it."""
    records = (
        json.loads(file.read_text()) for file in results.glob("*/runs/*/record.json")
    )
    return any(
        record["outcome"] == "failed"
        or any(doubt["effect"] == "excludes" for doubt in record["doubts"])
        for record in records
    )


def _gone_on(scene: Scene, campaign: Sequence[str]) -> tuple[str, ...]:
    """Resumes the campaign, or begins one where the fault came before there was any; what is not as
    planned then."""
    results, environment = scene.results, scene.environment
    going_on = ("resume", "latest", "--accept-inconclusive", "--results", str(results))
    begun = (results / "latest" / "plan.json").is_file()
    code, text = tierbench(*(going_on if begun else campaign), **environment)
    # A run that failed counts in the exit code, also where it has been made again.
    expected = _expected(results, text)
    wrong = [] if code == expected else [f"exit {code}, not {expected}: {text[-1500:]}"]
    made = (results / "latest").resolve()
    if not (made / "plan.json").is_file():
        return (*wrong, "there is no campaign")
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


def main(count: int = 100, repetitions: int = 2) -> int:
    """Tries the faults that have not been tried yet; the exit code says whether all went well."""
    # What a shell starts in the background ignores Ctrl-C, and so would every program started here.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGHUP, signal.SIG_DFL)
    KEPT.mkdir(parents=True, exist_ok=True)
    revision = subprocess.run(
        ["git", "rev-parse", "--short", "HEAD"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    ).stdout.strip()
    kept, outcomes = KEPT / f"{revision}-{repetitions}.jsonl", []
    known = {}
    if kept.is_file():
        known = {
            line["seed"]: line
            for line in map(json.loads, kept.read_text().splitlines())
        }
    for seed in range(1, count + 1):
        if seed in known:
            outcome = Outcome(**known[seed])
        else:
            outcome = _tried_apart(seed, repetitions)
            with kept.open("a") as file:
                file.write(json.dumps(asdict(outcome)) + "\n")
        outcomes.append(outcome)
        if not outcome.is_well:
            print(json.dumps(asdict(outcome), indent=2))
        lost, wrong, left = (
            sum(len(getattr(one, name)) for one in outcomes)
            for name in ("lost", "wrong", "left")
        )
        print(
            f"{len(outcomes)} of {count} tried, {sum(one.has_struck for one in outcomes)} struck "
            f"({outcome.fault} after {outcome.moment_s:g} s): {lost} finished runs lost, "
            f"{wrong} things not as planned, {left} left behind",
            flush=True,
        )
    return 0 if all(one.is_well for one in outcomes) else 1


if __name__ == "__main__":
    sys.exit(main(*map(int, sys.argv[1:])))
