"""Whether a stage that is taken away agrees with the cause that is named without that.

    make bench NAME=without [ARGS="--only 'IOPS cap' --repeats 5"]    # 50 minutes on two cores

Each limit known by construction is one campaign: the full run, and the run without the stage, with
as many repetitions of each. The cause named of the full runs says whether the stage was the limit;
so do the runs without it: if they are proven faster. What was measured stays in the folder, and a
campaign that was ended goes on. A row of the table that is printed is one limit and one stage.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from orchestrator.analysis.conclusions import TierValues
from orchestrator.analysis.verdicts import judge
from orchestrator.errors import EXIT_DONE, EXIT_INCONCLUSIVE
from orchestrator.system import store
from tests import ROOT
from tests.bench.bench_attribution import HELD_BY_SYNCS
from tests.bench.known_limits import BIG, FAR, LIMITS, Limit, inserts, reads

# Cause → the stages without which there is more. That of a sync is the disk's, too.
OF_DISK = ("iops_cap", "bandwidth_cap", "burst_exhausted", "vm_cap", "shared_cap")
STAGES: Mapping[str, Sequence[str]] = {
    **dict.fromkeys(OF_DISK, ("disk",)),
    "latency_bound": ("disk", "commit"),
    "network_bound": ("network",),
}
LINK = "2Mbit"
NARROW = replace(LIMITS["network"], beside="", network=LINK)
WRITES = Limit(["iops_cap"], inserts(16), {"iops": 300}, memory="512MiB")
SHARED = Limit(["shared_cap"], reads(BIG, 16), {"shared_limit": {"iops": 500}})
KNOWN: Mapping[str, tuple[Limit, Sequence[str]]] = {
    "IOPS cap": (LIMITS["IOPS cap"], ["disk", "network"]),
    "bytes cap": (LIMITS["bytes cap"], ["disk"]),
    "high latency": (LIMITS["high latency"], ["disk"]),
    "burst emptied in mid-run": (LIMITS["burst emptied in mid-run"], ["disk"]),
    "burst emptied before it": (LIMITS["burst emptied before it"], ["disk"]),
    "IOPS cap of writes": (WRITES, ["disk"]),
    "limit that disks share": (SHARED, ["disk"]),
    "log sync alone": (LIMITS["log sync alone"], ["disk", "commit", "network"]),
    "network": (NARROW, ["network", "disk"]),
    "network beside a far disk": (replace(NARROW, tier=FAR), ["network"]),
    "node CPU (quota)": (LIMITS["node CPU (quota)"], ["disk"]),
    "one core": (LIMITS["one core"], ["disk", "network"]),
    "data in memory": (LIMITS["data in memory"], ["disk"]),
    "served rate": (LIMITS["served rate"], ["disk"]),
    "rate served of a far disk": (
        Limit(["load_bound"], reads(BIG, 8, arrival_rate=20), FAR),
        ["disk"],
    ),
}


def measure(limit: Limit, stages: Sequence[str], folder: Path, repeats: int) -> None:
    """The campaign of a limit, from where it stands."""
    results = folder / "results"
    program = [sys.executable, "-m", "orchestrator"]
    if (results / "latest").exists():
        campaign = store.load(results / "latest")
        if len(campaign.done) == len(campaign.plan.runs):
            return
        command = [*program, "resume", "latest", "--results", str(results)]
    else:
        profile, workload = limit.write(folder)
        command = [
            *(*program, "run", "--profile", str(profile), "--workload", str(workload)),
            *("--scale", "smoke", "--db", "postgresql", "--repeats", str(repeats)),
            *("--without", ",".join(stages), "--results", str(results)),
        ]
    code = subprocess.run(command, cwd=ROOT, stdout=sys.stderr).returncode
    if code not in (
        EXIT_DONE,
        EXIT_INCONCLUSIVE,
    ):  # a run that failed and was repeated is no end
        raise SystemExit(code)


def rows(
    name: str, limit: Limit, stages: Sequence[str], folder: Path
) -> Iterator[tuple[bool, str]]:
    """Whether the cause and the stage agree, with a row of the table, stage by stage."""
    verdict = judge(store.load(folder / "results" / "latest"))
    (factor,) = verdict.varied
    full, *others = factor.workloads
    cell = next(of for of in verdict.bottlenecks if of.workload == full)
    helps = (
        ("disk", "commit") if HELD_BY_SYNCS in cell.text else STAGES.get(cell.cause, ())
    )
    for stage, load in zip(stages, others, strict=True):
        word, change = faster(factor.tiers[0], load)
        agrees = (word == "better") == (stage in helps)
        right = "right" if cell.cause in limit.causes else cell.cause
        told = "agrees" if agrees else "DIFFERS"
        yield (
            agrees,
            f"| {name} | {cell.cause} ({right}) | {stage} | {change} {word} | {told} |",
        )


def faster(tier: TierValues, load: str) -> tuple[str, str]:
    """The verdict on throughput without a stage, with its change; beside it the average latency, if
    that alone is better: that of a rate which is served anyway."""
    steps = {step.metric: step for step in tier.steps if step.contender == load}
    rate, latency = steps["throughput_per_s"], steps["latency_avg_s"]
    change = f"{rate.change_pct:+.1f} %"
    if rate.verdict != "better" == latency.verdict:
        change += f", latency {latency.change_pct:+.1f} %,"
    return rate.verdict, change


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--folder", type=Path, default=ROOT / ".cache" / "without")
    parser.add_argument("--only", nargs="*", choices=list(KNOWN), default=list(KNOWN))
    options = parser.parse_args()
    agreed = dict[str, bool]()
    for name in options.only:
        limit, stages = KNOWN[name]
        place = options.folder / name.replace(" ", "-")
        measure(limit, stages, place, options.repeats)
        told = list(rows(name, limit, stages, place))
        agreed[name] = all(agrees for agrees, _ in told)
        print("\n".join(row for _, row in told), flush=True)
    print(
        f"the stage agrees with the cause in {sum(agreed.values())} of {len(agreed)} limits"
    )


if __name__ == "__main__":
    main()
