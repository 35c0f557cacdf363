"""The folder of an observation: what was read, what it says, and two profiles to measure next.

observed.json, demand.parquet (interval sums), candidates.csv, hours.parquet, profiles/*.yaml; of a
live one also samples/part-*.parquet. The report follows from demand.parquet and the options alone.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from orchestrator.analysis.observed.answer import CandidateAnswer, Observed
from orchestrator.analysis.observed.demand import HOUR_S, QUANTITIES, Demand
from orchestrator.keys import strict_yaml
from orchestrator.system import files, parquet

SCHEMA_VERSION = 1
FACTS, DEMAND = "observed.json", "demand.parquet"


def write(
    folder: Path,
    observed: Observed,
    answers: Sequence[CandidateAnswer],
    worth: Sequence[CandidateAnswer],
    options: Mapping[str, Any],
    cluster_of: Mapping[str, str],
) -> list[Path]:
    """Writes all but the report; returns the profiles. options: what was asked for; cluster_of:
    provider → the file of profiles/clusters that a profile of it names."""
    folder.mkdir(parents=True, exist_ok=True)
    demands = [each.demand for each in observed.histories]
    parquet.write(folder / DEMAND, _tables(demands))
    pd.DataFrame(map(row, answers)).to_csv(folder / "candidates.csv", index=False)
    hours = [
        {"candidate": each.purchase.name, "node": disk.node, "device": disk.device, **asdict(hour)}
        for each in answers
        for disk in each.disks
        for hour in disk.hours
    ]
    parquet.write(folder / "hours.parquet", [pd.DataFrame(hours)])
    facts = {
        "schema_version": SCHEMA_VERSION,
        "options": dict(options),
        "read": list(map(_reading, demands)),
        "refused": observed.refused,
        "unseen_share": observed.unseen,
        "source": asdict(observed.source),
        "worth_measuring": [answer.purchase.name for answer in worth],
    }
    files.write_json(folder / FACTS, facts)
    return [_profile(folder / "profiles", answer, cluster_of) for answer in worth]


def _reading(demand: Demand) -> dict[str, Any]:
    """With its busiest hour, which is the load that a campaign should have."""
    hour = np.floor(demand.begin_s / HOUR_S).astype(int)
    busiest = hour[0] + int(np.bincount(hour - hour[0], weights=demand.ios).argmax())
    part = demand.part(hour == busiest)
    rates = part.amounts.sum(axis=1) / part.step_s.sum()
    named = {f"{name}_per_s": float(rate) for name, rate in zip(QUANTITIES, rates, strict=True)}
    return {
        "node": demand.node,
        "device": demand.device,
        "begin_s": float(demand.begin_s[0]),
        "end_s": float(demand.end_s[-1]),
        "resolution_s": demand.resolution_s,
        "coverage": demand.coverage,
        "pieces": len(demand.pieces),
        "busiest_hour": {"begin_s": float(busiest * HOUR_S), **named},
    }


def row(answer: CandidateAnswer) -> dict[str, Any]:
    """Of a candidate, on the disk that is at the cap most."""
    disk, chosen = answer.worst, answer.purchase.chosen
    price, names = chosen.tier.price, ("asking", "at_cap", "empty_s", "delay_s")
    bands = {f"{n}_{e}": getattr(getattr(disk, n), e, None) for n in names for e in ("low", "high")}
    return {
        "candidate": answer.purchase.name,
        **{name: getattr(price, name, None) for name in ("monthly", "currency", "region")},
        "iops": chosen.limits.iops,
        "bytes_per_s": chosen.limits.bytes_per_s,
        **{name: getattr(answer, name) for name in ("word", "why", "at_least")},
        **{name: getattr(disk, name) for name in ("node", "device", "binding", "least_credit")},
        **bands,
    }


def _profile(folder: Path, answer: CandidateAnswer, cluster_of: Mapping[str, str]) -> Path:
    folder.mkdir(exist_ok=True)
    name = re.sub(r"[^a-z0-9]+", "-", answer.purchase.name.lower()).strip("-")
    question = "Does this disk carry the load that was observed?"
    cluster, tier = cluster_of[answer.purchase.provider], dict(answer.purchase.keys)
    content = {"question": question, "cluster": cluster, "tier": tier}
    files.write_text(folder / f"{name}.yaml", strict_yaml.written(content))
    return folder / f"{name}.yaml"


def _tables(demands: Sequence[Demand]) -> Iterator[pd.DataFrame]:
    for demand in demands:
        for piece, part in enumerate((demand, *demand.pieces)):
            columns: dict[str, Any] = dict(zip(QUANTITIES, part.amounts, strict=True))
            columns |= {"begin_s": part.begin_s, "end_s": part.end_s, "piece": piece}
            columns |= {name: getattr(demand, name) for name in _SAME}
            yield pd.DataFrame(columns)


_SAME = ("node", "device", "apart", "own_clock")  # of a demand and its pieces


def demands(folder: Path) -> list[Demand]:
    """What an observation has read. Empty if the folder is none of one."""
    tables, parts = list(parquet.parts(folder / DEMAND)), list[Demand]()
    for (*same, piece), rows in pd.concat(tables).groupby([*_SAME, "piece"]) if tables else ():
        node, device, apart, own_clock = same
        begin_s, end_s, *amounts = rows[["begin_s", "end_s", *QUANTITIES]].to_numpy(float).T
        known = str(node), str(device), begin_s, end_s, np.array(amounts)
        part = Demand(*known, apart=bool(apart), own_clock=bool(own_clock))
        if piece:
            parts[-1] = replace(parts[-1], pieces=(*parts[-1].pieces, part))
        else:
            parts.append(part)
    return parts
