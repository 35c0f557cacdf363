"""An observation: disks' counters read every second for hours or days, and its folder.

Of node_exporter's pages nothing but statistics is asked; of machines without it /proc/diskstats is
read, as in a run. Nothing is written on a node. What was read is in files, a new one every minute,
so that a program that is killed loses no more than that; the next one goes on in the same folder,
which docs/OBSERVE.md lists. A report follows from demand.parquet and the options alone.
"""

import re
import shlex
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from orchestrator.analysis.observed.demand import COARSE_S, HOUR_S, QUANTITIES, Demand
from orchestrator.analysis.observed.judging import CandidateAnswer, Observed
from orchestrator.collectors.common import local
from orchestrator.collectors.disk import DiskCollector
from orchestrator.collectors.node_exporter import NodeExporterCollector
from orchestrator.errors import UsageError
from orchestrator.histories.files import DEMAND, live
from orchestrator.keys import strict_yaml
from orchestrator.keys.messages import failure
from orchestrator.model import DISK_DEVICE, NODE_EXPORTER, Node
from orchestrator.powers import Clock, Machine
from orchestrator.run.telemetry import sampling
from orchestrator.system import files, http_client, parquet

_PATH = "/metrics?collect[]=diskstats&collect[]=time"
_OTHERS = re.compile(r"^https?://(?:[^@/]*@)?|/.*$")  # than host and port
_SHORTEST_S = 1.0  # of what is read in a folder of its own, which is called by its second
_QUESTION = "Does this disk carry the load that was observed?"
_READ = ("node", "device", "resolution_s", "coverage")
_TOLD = (
    *("candidate", "monthly", "currency", "region", "iops", "bytes_per_s", "word", "why"),
    *("at_least", "low", "high", "binding", "empty_s_low", "empty_s_high"),
)

Pieces = tuple[int, float]  # how many, and the seconds of each


def of_disks(nodes: Iterable[Node], device: str) -> Iterator[Node]:
    """A node for each disk of each, called by the host and port of its exporter, or its machine,
    and the device. `device`: of all of them, several with | between; "": those that hold the data.
    UsageError if none is known."""
    for node in nodes:
        url = node.sources.get(NODE_EXPORTER)
        name = _OTHERS.sub("", url) if url else node.machine
        own = (*node.sources.get(DISK_DEVICE, "").split(), *filter(None, [node.wal_device]))
        if not (disks := device.split("|") if device else own):
            raise failure(UsageError, "no device to read", node=name)
        for disk in disks:
            read: dict[str, Any] = {"device": disk, "machine": node.machine}
            if url:
                read = {"sources": {NODE_EXPORTER: url.rstrip("/"), DISK_DEVICE: disk}}
            yield Node(f"{name} {disk}", node.role, **read)


def observe(
    folder: Path,
    disks: Sequence[Node],
    length_s: float,
    clock: Clock,
    machines: Sequence[Machine] = (),
    pieces: Pieces | None = None,
    get: local.Get = http_client.get,
) -> Mapping[str, int]:
    """Reads until that time is over since the first reading in the folder; what was read is kept
    also if it is interrupted. Returns what failed → how often; at once where a first reading fails,
    because a wrong address or device would be told after a week. `machines`: of what has no
    exporter; `pieces`: the only parts of the time that are read every second."""
    begun_s = min((float(file.parent.name) for file in live(folder)), default=clock.now())
    by_name = {machine.name: machine for machine in machines}
    collectors = NodeExporterCollector(get, _PATH), DiskCollector(lambda disk: by_name[disk.machine])
    if not live(folder):
        try:
            for collector in collectors:
                list(collector.read(disks, clock.now()))
        except OSError as error:
            return {str(error): 1}
    misses = Counter[str]()
    for end_s, every_s in _stretches(begun_s, length_s, pieces):
        if (left_s := end_s - (now_s := clock.now())) < _SHORTEST_S:
            continue  # it is over
        own = folder / "samples" / f"{now_s:.0f}"
        own.mkdir(parents=True, exist_ok=True)
        with sampling(disks, collectors, clock, machines, every_s, own) as readings:
            try:
                clock.sleep(left_s)
            finally:
                *_, last = readings.tables([])
                parquet.write(own / "last.parquet", [last] if len(last) else [])
        misses += readings.misses
    return misses


def _stretches(
    begin_s: float, length_s: float, pieces: Pieces | None
) -> Iterator[tuple[float, float]]:
    """The end of each, and how far apart its readings are. A piece is at a moment of its part of
    the time that is drawn, and drawn the same again: at equal distances they would all miss what
    is done at the same minute of each hour."""
    number, piece_s = pieces or (1, length_s)
    part_s = length_s / number
    for part, place in enumerate(np.random.default_rng(1).random(number)):
        piece_begin_s = begin_s + part * part_s + place * (part_s - piece_s)
        yield piece_begin_s, COARSE_S
        yield piece_begin_s + piece_s, 1.0
    yield begin_s + length_s, COARSE_S


def write(folder: Path, read: pd.DataFrame, observed: Observed, options: Mapping[str, Any]) -> None:
    """All but profiles and report. read: INTERVALS; options: what was asked for."""
    folder.mkdir(parents=True, exist_ok=True)
    parquet.write(folder / DEMAND, [read])
    pd.DataFrame(map(row, observed.answers)).to_csv(folder / "candidates.csv", index=False)
    hours = [each.on.hours.assign(candidate=each.purchase.name) for each in observed.answers]
    parquet.write(folder / "hours.parquet", [pd.concat(hours)])
    hour = busiest_hour(observed.demands)
    facts = {
        "schema_version": 1,
        "options": dict(options),
        "read": [{name: getattr(each, name) for name in _READ} for each in observed.demands],
        "busiest_hour": {name: None if np.isnan(rate) else rate for name, rate in hour.items()},
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
    return {"begin_s": busiest, **{f"{name}_per_s": float(rates[name]) for name in QUANTITIES}}


def row(answer: CandidateAnswer) -> dict[str, Any]:
    """What is told of a candidate, flat."""
    tier, on = answer.purchase.tier, answer.on
    low_s, high_s = on.empty_s or (None, None)
    own = {"candidate": answer.purchase.name, "empty_s_low": low_s, "empty_s_high": high_s}
    told = own | vars(tier.limits) | vars(tier.price or tier.limits) | vars(on) | vars(answer)
    return {name: told.get(name) for name in _TOLD}


def measure(folder: Path, observed: Observed, cluster_of: Mapping[str, str]) -> str:
    """Writes profiles of what is worth a campaign, and beside them the command that measures them,
    which is returned; empty without any. cluster_of: provider → one of profiles/clusters."""
    own, names = folder / "profiles", list[str]()
    own.mkdir(exist_ok=True)
    for purchase in (answer.purchase for pair in observed.worth.values() for answer in pair):
        file = own / f"{re.sub('[^a-z0-9]+', '-', purchase.name.lower()).strip('-')}.yaml"
        content = {"question": _QUESTION, "cluster": cluster_of[purchase.provider]}
        files.write_text(file, strict_yaml.written(content | {"tier": dict(purchase.keys)}))
        names.append(str(file))
    words = ["tierbench", "compare", "--profiles", ",".join(names), "--workloads", "tpcc"]
    command = shlex.join(words) if names else ""
    files.write_text(own / "compare.sh", f"{command}\n")
    return command
