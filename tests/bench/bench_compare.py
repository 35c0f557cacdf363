"""How much of a campaign is measuring: kept snapshots beside loading in each run, real disk beside
emulated one.

    make bench NAME=compare [ARGS="--repeats 2 --scale laptop"]

Goals at laptop scale: at least 80 % on a real disk, 88 % on emulated ones. Method: one campaign for
each way to keep the data of a real disk (`copy`, `none`), on XFS on a loop device made for the
purpose, and one on the emulated disk of `premium`; PostgreSQL on one node. What takes the
time is read from the phases that the runs recorded. Needs root, to mount. A campaign of one
workload and few repetitions spends much of its time loading once, so the table also says what the
runs that only restored were made of, and what follows for 5 repetitions.
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import get_args

from rich.console import Console
from rich.table import Table

from orchestrator.analysis.results import Results, measuring_pct
from orchestrator.cli.common.app import App
from orchestrator.facts import PhaseName
from orchestrator.model import Record
from orchestrator.system import store
from tests import ROOT
from tests.file_systems import file_system

DISK_BYTES = 16 * 2**30
PARTS = get_args(PhaseName)
EMULATED = "emulated"
RESTORING, WAITING = "of which restoring", "of which waiting for the disk"
RESTORED = {"MB compared": "compared_bytes", "MB written": "written_bytes"}
REPETITIONS = 5
PROFILE = """
question: How much of the time is measuring?
title: {way}
tier: {{enforcement: mounted, path: {place}, snapshots: {way}}}
cluster: azure-d8s-v5
"""


def main() -> int:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--repeats", type=int, default=2)
    arguments.add_argument("--scale", default="laptop")
    arguments.add_argument("--workload", default="point-select")
    arguments.add_argument("--ways", nargs="+", default=["copy", "none", EMULATED])
    asked = arguments.parse_args()
    found = {}
    world = App().world()
    with tempfile.TemporaryDirectory() as folder:
        for way in asked.ways:
            if way == EMULATED:
                found[way] = carried_out("premium", way, Path(folder), asked)
                continue
            with file_system("xfs", Path(folder), world, DISK_BYTES) as place:
                profile = Path(folder, f"{way}.yaml")
                profile.write_text(PROFILE.format(way=way, place=place))
                found[way] = carried_out(str(profile), way, Path(folder), asked)
    Console().print(shown(found))
    return 0


def carried_out(
    profile: str, way: str, folder: Path, asked: argparse.Namespace
) -> Results:
    """A campaign as a person starts it; its output goes to standard error."""
    results = folder / f"results-{way}"
    repeats = (
        asked.repeats if way != "none" else max(1, asked.repeats - 1)
    )  # which are all alike
    subprocess.run(
        [
            *(sys.executable, "-m", "orchestrator", "run", "--profile", profile),
            *("--workload", asked.workload, "--scale", asked.scale, "--nodes", "1"),
            *(
                "--db",
                "postgresql",
                "--repeats",
                str(repeats),
                "--results",
                str(results),
            ),
        ],
        cwd=ROOT,
        stdout=sys.stderr,
        check=True,
    )
    return store.load(results / "latest")


def spent(records: Sequence[Record]) -> list[dict[str, float]]:
    """Seconds of each run by phase. Restoring and waiting are parts of "prepare"; what was restored
    is in MB."""
    table = []
    for record in records:
        seconds = dict.fromkeys(PARTS, 0.0)
        for phase in record.phases:
            seconds[phase.name] += phase.duration_s
        restored = record.facts["tier"].get("restored", {})
        seconds[RESTORING] = restored.get("took_s", 0.0)
        seconds[WAITING] = restored.get("quiet_wait_s", 0.0)
        for name, key in RESTORED.items():
            seconds[name] = restored.get(key, 0) / 1e6
        table.append(seconds)
    return table


def shown(found: Mapping[str, Results]) -> Table:
    """The median of the runs that did not load first of all, by phase; shares of the campaign."""
    table = Table("seconds", *found)
    runs = {
        way: spent([run.record for run in result.runs]) for way, result in found.items()
    }
    first = {way: {**median(each), **each[0]} for way, each in runs.items()}
    later = {
        way: {**median(each), **median(each[1:] or each)} for way, each in runs.items()
    }
    table.add_row(
        "load of the first run", *(f"{one['load']:.1f}" for one in first.values())
    )
    for name in (*PARTS, RESTORING, WAITING, *RESTORED):
        known = (f"{one[name]:.1f}" if name in one else "" for one in later.values())
        table.add_row(f"later runs: {name}", *known)
    table.add_section()
    shares = [measuring_pct(result) or 0.0 for result in found.values()]
    table.add_row("measuring, this campaign", *(f"{share:.0f} %" for share in shares))
    table.add_row("a later run", *(f"{share([one]):.0f} %" for one in later.values()))
    five = {way: [first[way], *([later[way]] * (REPETITIONS - 1))] for way in found}
    row = f"{REPETITIONS} repetitions (computed)"
    table.add_row(row, *(f"{share(each):.0f} %" for each in five.values()))
    return table


def median(runs: Sequence[Mapping[str, float]]) -> dict[str, float]:
    """Of each part over the runs of which it is known."""
    names = dict.fromkeys(name for run in runs for name in run)
    return {
        name: statistics.median(run[name] for run in runs if name in run)
        for name in names
    }


def share(runs: Sequence[Mapping[str, float]]) -> float:
    """The share of measuring in %."""
    measuring = sum(run["warm-up"] + run["measure"] for run in runs)
    return 100 * measuring / sum(run[name] for run in runs for name in PARTS)


if __name__ == "__main__":
    sys.exit(main())
