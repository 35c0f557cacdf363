"""An observation: disks' counters read every second for hours or days, and its folder.

Of node_exporter's pages nothing but statistics is asked, and nothing is written on a node. What was
read is in files, a new one every minute, so that a program that is killed loses no more than that;
the next one goes on in the same folder, which docs/OBSERVE.md lists. A report follows from
demand.parquet and the options alone.
"""

import re
import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from orchestrator.analysis.observed.demand import HOUR_S, QUANTITIES, Demand
from orchestrator.analysis.observed.judging import CandidateAnswer, Observed
from orchestrator.collectors.common import local
from orchestrator.collectors.node_exporter import NodeExporterCollector
from orchestrator.histories.files import DEMAND, live
from orchestrator.keys import strict_yaml
from orchestrator.model import DISK_DEVICE, NODE_EXPORTER, Node
from orchestrator.powers import Clock
from orchestrator.run.telemetry import sampling
from orchestrator.system import files, http_client, parquet

_PATH = "/metrics?collect[]=diskstats&collect[]=time"
_OTHERS = re.compile(r"^https?://(?:[^@/]*@)?|/.*$")  # than host and port
_QUESTION = "Does this disk carry the load that was observed?"
_READ = ("node", "device", "resolution_s", "coverage")
_TOLD = (
    *("candidate", "monthly", "currency", "region", "iops", "bytes_per_s", "word", "why"),
    *("at_least", "low", "high", "binding", "empty_s_low", "empty_s_high"),
)


def observe(
    folder: Path,
    exporters: Sequence[str],
    device: str,
    length_s: float,
    clock: Clock,
    get: local.Get = http_client.get,
) -> Mapping[str, int]:
    """Reads until that time is over since the first reading in the folder; what was read is kept
    also if it is interrupted. Returns what failed → how often; at once where a first reading fails,
    because a wrong address or device would be told after a week."""
    now_s, nodes = clock.now(), []
    begun_s = min((float(file.parent.name) for file in live(folder)), default=now_s)
    if (left_s := begun_s + length_s - now_s) <= 0:
        return {}
    for url in exporters:
        sources = {NODE_EXPORTER: url.rstrip("/"), DISK_DEVICE: device}
        nodes.append(Node(f"{_OTHERS.sub('', url)} {device}", "database", sources=sources))
    collector = NodeExporterCollector(get, _PATH)
    if not live(folder):
        try:
            list(collector.read(nodes, now_s))
        except OSError as error:
            return {str(error): 1}
    own = folder / "samples" / f"{now_s:.0f}"
    own.mkdir(parents=True, exist_ok=True)
    with sampling(nodes, [collector], clock, folder=own) as readings:
        try:
            clock.sleep(left_s)
        finally:
            *_, last = readings.tables([])
            parquet.write(own / "last.parquet", [last] if len(last) else [])
    return readings.misses


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
