"""An observation: disks' counters read every second for hours or days, and its folder.

Of node_exporter's pages nothing but statistics is asked; of machines without it /proc/diskstats is
read, as in a run. Nothing is written on a node. What was read is in files, a new one every minute,
so that a program that is killed loses no more than that; the next one goes on in the same folder,
which docs/OBSERVE.md lists. A report follows from demand.parquet and the options alone.
"""

import re
import shlex
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from orchestrator import errors, powers
from orchestrator.analysis.observed.demand import HOUR_S, QUANTITIES, Demand
from orchestrator.analysis.observed.judging import CandidateAnswer, Observed
from orchestrator.collectors.common import local
from orchestrator.collectors.disk import DiskCollector
from orchestrator.collectors.node_exporter import NodeExporterCollector
from orchestrator.histories.files import DEMAND, live
from orchestrator.keys import strict_yaml
from orchestrator.model import DISK_DEVICE, NODE_EXPORTER, Node
from orchestrator.run.telemetry import sampling
from orchestrator.system import files, http_client, parquet

_PATH = "/metrics?collect[]=diskstats&collect[]=time"
_OTHERS = re.compile(r"^https?://(?:[^@/]*@)?|/.*$")  # than host and port
COARSE_S = 15.0
LOOK_S = 5.0
_QUESTION = "Does this disk carry the load that was observed?"
_READ = ("node", "device", "resolution_s", "coverage")
_SHARES = (
    *("waits_least_pct", "waits_most_pct", "queues_least_pct", "queues_most_pct"),
    *("with_less_pct", "with_more_pct"),
)
_TOLD = (
    *(
        "candidate",
        "monthly",
        "currency",
        "region",
        "iops",
        "bytes_per_s",
        "word",
        "why",
    ),
    *("at_least", *_SHARES, "binding", "empty_least_s", "empty_most_s"),
)

Pieces = tuple[int, float]  # how many, and the seconds of each


def of_disks(nodes: Iterable[Node], device: str) -> Iterator[Node]:
    """A node for each disk, called by the host and port of its exporter, or its machine, with the
    device behind. `device`: of each node, several with | between; "": those that hold its data.
    UsageError if none is known."""
    for node in nodes:
        url = node.sources.get(NODE_EXPORTER, "").rstrip("/")
        name = _OTHERS.sub("", url or node.machine)
        disks = node.sources.get(DISK_DEVICE, "").split()
        if node.wal_device:
            disks.append(node.wal_device)
        if device:
            disks = device.split("|")
        if not disks:
            raise _no_device_to_read(name)
        for disk in disks:
            read: dict[str, Any] = {"device": disk, "sources": {}}
            if url:
                read = {"sources": {NODE_EXPORTER: url, DISK_DEVICE: disk}}
            yield replace(node, name=f"{name} {disk}", wal_device=None, **read)


def _no_device_to_read(node: str) -> errors.UsageError:
    return errors.UsageError(
        f"nothing says which disk of {node} to read",
        advice="name it with --device, as /proc/diskstats does",
    )


def observe(
    folder: Path,
    disks: Sequence[Node],
    length_s: float,
    clock: powers.Clock,
    machines: Sequence[powers.Machine] = (),
    pieces: Pieces | None = None,
    get: local.Get = http_client.get,
    look: Callable[[Mapping[str, int]], None] = lambda misses: None,
) -> Mapping[str, int]:
    """Reads until that time is over since the first reading in the folder; what was read is kept
    also if it is interrupted. Returns what failed → how often; at once where a first reading fails,
    because a wrong address or device would be told after a week. `machines`: of disks without an
    exporter; `pieces`: all that is read every second, and the rest every COARSE_S; `look`: what is
    called meanwhile with what failed so far, and may end it."""
    begun = (float(file.parent.name.partition("-")[0]) for file in live(folder))
    now_s = clock.now()
    misses = Counter[str]()
    at = {each.name: each for each in machines}
    begun_s = min(begun, default=now_s)
    end_s = begun_s + length_s
    if end_s <= now_s:
        return {}
    collectors = (
        NodeExporterCollector(get, _PATH),
        DiskCollector(lambda node: at[node.machine]),
    )
    if not live(folder):
        try:
            list(chain.from_iterable(each.read(disks, now_s) for each in collectors))
        except OSError as error:
            return {str(error): 1}

    @contextmanager
    def sampled(every_s: float = 1.0) -> Iterator[None]:
        own = folder / "samples" / f"{clock.now():.0f}-{every_s:.0f}"
        own.mkdir(parents=True, exist_ok=True)
        with sampling(disks, collectors, clock, machines, every_s, own) as readings:
            misses.update(readings.misses)
            readings.misses = misses  # which is looked at meanwhile
            try:
                yield
            finally:
                *_, last = readings.tables([])
                parquet.write(own / "last.parquet", [last] if len(last) else [])

    number, piece_s = pieces or (1, length_s)
    part_s = length_s / number
    # Drawn, and the same each time: at equal distances all would miss one minute of each hour.
    drawn_s = np.random.default_rng(1).random(number) * (part_s - piece_s)
    begins_s = (begun_s + np.arange(number) * part_s + drawn_s).tolist()
    reads = [
        (t + by, how)
        for t in begins_s
        for by, how in ((0, nullcontext), (piece_s, sampled))
    ]
    with sampled(COARSE_S) if pieces else nullcontext():
        for until_s, read in (*reads, (end_s, nullcontext)):
            if until_s > clock.now():
                with read():
                    while (left_s := until_s - clock.now()) > 0:
                        clock.sleep(min(left_s, LOOK_S))
                        look(misses)
    return misses


def write(
    folder: Path, read: pd.DataFrame, observed: Observed, options: Mapping[str, Any]
) -> None:
    """All but profiles and report. read: INTERVALS; options: what was asked for."""
    folder.mkdir(parents=True, exist_ok=True)
    parquet.write(folder / DEMAND, [read])
    pd.DataFrame(map(row, observed.answers)).to_csv(
        folder / "candidates.csv", index=False
    )
    hours = [
        each.on.hours.assign(candidate=each.purchase.name) for each in observed.answers
    ]
    parquet.write(folder / "hours.parquet", [pd.concat(hours)])
    hour = busiest_hour(observed.demands)
    facts = {
        "schema_version": 1,
        "options": dict(options),
        "read": [
            {name: getattr(each, name) for name in _READ} for each in observed.demands
        ],
        "busiest_hour": {
            name: None if np.isnan(rate) else rate for name, rate in hour.items()
        },
        "refused": observed.refused,
        "reached": {cap.name: cap.base for cap in observed.source},
    }
    files.write_json(folder / "observed.json", facts)


def busiest_hour(demands: Sequence[Demand]) -> dict[str, float]:
    """What all disks together were asked in it, which is the load that a campaign should have:
    reads, writes and bytes per second. Reads NaN: `writes` has them too."""
    of_disks = pd.concat(
        pd.DataFrame([each.step_s, *each.amounts], ["s", *QUANTITIES])
        .T.groupby(each.begin_s // HOUR_S * HOUR_S)
        .sum(min_count=1)
        for each in demands
    )
    ios = of_disks[["reads", "writes"]].sum(axis=1).groupby(level=0).sum()
    busiest = float(ios.index.to_numpy()[ios.argmax()])
    hour = of_disks.loc[[busiest]]
    rates = hour[list(QUANTITIES)].div(hour["s"], axis=0).sum(skipna=False)
    return {
        "begin_s": busiest,
        **{f"{name}_per_s": float(rates[name]) for name in QUANTITIES},
    }


def row(answer: CandidateAnswer) -> dict[str, Any]:
    """What is told of a candidate, flat."""
    tier = answer.purchase.tier
    on = answer.on
    own: dict[str, Any] = {"candidate": answer.purchase.name}
    shares = [
        None if np.isnan(share) else 100 * share for of in on.shares for share in of
    ]
    own |= zip(_SHARES, shares, strict=True)
    own["empty_least_s"], own["empty_most_s"] = on.empty_s or (None, None)
    told = (
        own
        | vars(tier.limits)
        | vars(tier.price or tier.limits)
        | vars(on)
        | vars(answer)
    )
    return {name: told.get(name) for name in _TOLD}


def measure(folder: Path, observed: Observed, cluster_of: Mapping[str, str]) -> str:
    """Writes profiles of what is worth a campaign, and beside them the command that measures them,
    which is returned; empty without any. cluster_of: provider → one of profiles/clusters."""
    own = folder / "profiles"
    names = list[str]()
    own.mkdir(exist_ok=True)
    for purchase in (
        answer.purchase for pair in observed.worth.values() for answer in pair
    ):
        file = (
            own / f"{re.sub('[^a-z0-9]+', '-', purchase.name.lower()).strip('-')}.yaml"
        )
        content = {"question": _QUESTION, "cluster": cluster_of[purchase.provider]}
        files.write_text(
            file, strict_yaml.written(content | {"tier": dict(purchase.keys)})
        )
        names.append(str(file))
    words = [
        "tierbench",
        "compare",
        "--profiles",
        ",".join(names),
        "--workloads",
        "tpcc",
    ]
    command = ""
    if names:
        command = shlex.join(words)
    files.write_text(own / "compare.sh", f"{command}\n")
    return command
