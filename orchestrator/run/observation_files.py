"""The folder of an observation: what was read, what it says, and two profiles to measure next.

observed.json, demand.parquet (interval sums), candidates.csv, hours.parquet, profiles/*.yaml, the
report; of a live one also samples/part-*.parquet. The report follows from demand.parquet and the
options in observed.json alone.
"""

from __future__ import annotations

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
    parquet.write(folder / DEMAND, _tables([each.demand for each in observed.histories]))
    rows = [row(answer) for answer in answers]
    pd.DataFrame(rows).to_csv(folder / "candidates.csv", index=False)
    hours = [
        {
            "candidate": answer.purchase.name,
            "node": disk.node,
            "device": disk.device,
            **asdict(hour),
        }
        for answer in answers
        for disk in answer.disks
        for hour in disk.hours
    ]
    parquet.write(folder / "hours.parquet", [pd.DataFrame(hours)])
    profiles = [_profile(folder / "profiles", answer, cluster_of) for answer in worth]
    files.write_json(folder / FACTS, _facts(observed, worth, options))
    return profiles


def _facts(
    observed: Observed, worth: Sequence[CandidateAnswer], options: Mapping[str, Any]
) -> dict[str, Any]:
    return {
        "schema_version": SCHEMA_VERSION,
        "options": dict(options),
        "read": [_reading(each.demand) for each in observed.histories],
        "refused": observed.refused,
        "unseen_share": observed.unseen,
        "source": asdict(observed.source),
        "worth_measuring": [answer.purchase.name for answer in worth],
    }


def _reading(demand: Demand) -> dict[str, Any]:
    """With its busiest hour, which is the load that a campaign should have."""
    hour = np.floor(demand.begin_s / HOUR_S).astype(int)
    of_hours = {
        int(each): (demand.amounts[:, hour == each].sum(axis=1), demand.step_s[hour == each].sum())
        for each in np.unique(hour)
    }
    busiest = max(of_hours, key=lambda each: float(of_hours[each][0][:2].sum()))
    amounts, seconds = of_hours[busiest]
    rates = {
        f"{name}_per_s": total / seconds for name, total in zip(QUANTITIES, amounts, strict=True)
    }
    return {
        "node": demand.node,
        "device": demand.device,
        "begin_s": float(demand.begin_s[0]),
        "end_s": float(demand.end_s[-1]),
        "resolution_s": demand.resolution_s,
        "coverage": demand.coverage,
        "pieces": len(demand.pieces),
        "busiest_hour": {"begin_s": busiest * HOUR_S, **rates},
    }


def row(answer: CandidateAnswer) -> dict[str, Any]:
    """Of a candidate, on the disk that is at the cap most."""
    disk, price = answer.worst, answer.purchase.chosen.tier.price
    limits, delay_s, empty_s = answer.purchase.chosen.limits, disk.delay_s, disk.empty_s
    return {
        "candidate": answer.purchase.name,
        "monthly": price.monthly if price else None,
        "currency": price.currency if price else None,
        "region": price.region if price else None,
        "iops": limits.iops,
        "bytes_per_s": limits.bytes_per_s,
        "word": answer.word,
        "why": answer.why,
        "at_least": answer.at_least,
        "node": disk.node,
        "device": disk.device,
        "asking_low": disk.asking.low,
        "asking_high": disk.asking.high,
        "at_cap_low": disk.at_cap.low,
        "at_cap_high": disk.at_cap.high,
        "binding": disk.binding,
        "empty_credit_low_s": empty_s[0] if empty_s else None,
        "empty_credit_high_s": empty_s[1] if empty_s else None,
        "least_credit": disk.least_credit,
        "delay_low_s": delay_s[0] if delay_s else None,
        "delay_high_s": delay_s[1] if delay_s else None,
    }


def _profile(folder: Path, answer: CandidateAnswer, cluster_of: Mapping[str, str]) -> Path:
    folder.mkdir(exist_ok=True)
    name = re.sub(r"[^a-z0-9]+", "-", answer.purchase.name.lower()).strip("-")
    content = {
        "question": "Does this disk carry the load that was observed?",
        "cluster": cluster_of[answer.purchase.provider],
        "tier": dict(answer.purchase.keys),
    }
    file = folder / f"{name}.yaml"
    files.write_text(file, strict_yaml.written(content))
    return file


def _tables(demands: Sequence[Demand]) -> Iterator[pd.DataFrame]:
    for demand in demands:
        for piece, part in enumerate((demand, *demand.pieces)):
            columns: dict[str, Any] = dict(zip(QUANTITIES, part.amounts, strict=True))
            columns |= {"begin_s": part.begin_s, "end_s": part.end_s, "piece": piece}
            columns |= {"node": demand.node, "device": demand.device}
            yield pd.DataFrame(columns).assign(apart=demand.apart, own_clock=demand.own_clock)


def demands(folder: Path) -> list[Demand]:
    """What an observation has read. Empty if the folder is none of one."""
    tables = list(parquet.parts(folder / DEMAND))
    known: dict[tuple[str, str], Demand] = {}
    keys = ["node", "device", "piece"]
    for (node, device, _), rows in pd.concat(tables).groupby(keys) if tables else ():
        amounts = rows[list(QUANTITIES)].to_numpy(float).T
        begin_s, end_s = (rows[name].to_numpy(float) for name in ("begin_s", "end_s"))
        first = rows.iloc[0]
        apart, own = bool(first["apart"]), bool(first["own_clock"])
        part = Demand(str(node), str(device), begin_s, end_s, amounts, apart, own)
        whole = known.get((part.node, part.device))
        known[part.node, part.device] = (
            part if whole is None else replace(whole, pieces=(*whole.pieces, part))
        )
    return list(known.values())
