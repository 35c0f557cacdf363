"""The folder of an observation: what was read, what it says, and two profiles to measure next.

observed.json, demand.parquet (interval sums), candidates.csv, hours.parquet, profiles/*.yaml; of a
live one also samples/part-*.parquet. The report follows from demand.parquet and the options alone.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from orchestrator.analysis.observed.demand import HOUR_S, QUANTITIES, Demand
from orchestrator.analysis.observed.judging import CandidateAnswer, Observed
from orchestrator.histories.files import DEMAND
from orchestrator.keys import strict_yaml
from orchestrator.system import files, parquet

SCHEMA_VERSION = 1
_QUESTION = "Does this disk carry the load that was observed?"


def write(folder: Path, read: pd.DataFrame, observed: Observed, options: Mapping[str, Any]) -> None:
    """All but profiles and report. read: INTERVALS; options: what was asked for."""
    folder.mkdir(parents=True, exist_ok=True)
    parquet.write(folder / DEMAND, [read])
    pd.DataFrame(map(row, observed.answers)).to_csv(folder / "candidates.csv", index=False)
    hours = [each.on.hours.assign(candidate=each.purchase.name) for each in observed.answers]
    parquet.write(folder / "hours.parquet", [pd.concat(hours)])
    facts = {
        "schema_version": SCHEMA_VERSION,
        "options": dict(options),
        "read": list(map(_reading, observed.demands)),
        "refused": observed.refused,
        "reached": {cap.name: cap.base for cap in observed.source},
    }
    files.write_json(folder / "observed.json", facts)


def _reading(demand: Demand) -> dict[str, Any]:
    """With its busiest hour, which is the load that a campaign should have. Reads None: `writes`
    has them too."""
    hour = demand.begin_s // HOUR_S
    busiest = hour[0] + np.bincount((hour - hour[0]).astype(int), weights=demand.ios).argmax()
    part = demand.part(hour == busiest)
    rates = zip(QUANTITIES, part.amounts.sum(axis=1) / part.step_s.sum(), strict=True)
    own = {name: getattr(demand, name) for name in ("node", "device", "resolution_s", "coverage")}
    per_s = {f"{name}_per_s": None if np.isnan(rate) else float(rate) for name, rate in rates}
    return {**own, "busiest_hour": {"begin_s": float(busiest * HOUR_S), **per_s}}


def row(answer: CandidateAnswer) -> dict[str, Any]:
    """What is told of a candidate, flat."""
    tier, on = answer.purchase.tier, answer.on
    return {
        "candidate": answer.purchase.name,
        **{name: getattr(tier.price, name, None) for name in ("monthly", "currency", "region")},
        **{name: getattr(tier.limits, name) for name in ("iops", "bytes_per_s")},
        **{name: getattr(answer, name) for name in ("word", "why", "at_least")},
        **{name: getattr(on, name) for name in ("low", "high", "binding")},
        **dict(zip(("empty_s_low", "empty_s_high"), on.empty_s or (None, None), strict=True)),
    }


def profiles(
    folder: Path, answers: Sequence[CandidateAnswer], cluster_of: Mapping[str, str]
) -> Iterator[Path]:
    """Writes profiles that measure candidates. cluster_of: provider → one of profiles/clusters."""
    (folder / "profiles").mkdir(exist_ok=True)
    for purchase in (answer.purchase for answer in answers):
        name = re.sub(r"[^a-z0-9]+", "-", purchase.name.lower()).strip("-")
        cluster, tier = cluster_of[purchase.provider], dict(purchase.keys)
        content = {"question": _QUESTION, "cluster": cluster, "tier": tier}
        files.write_text(folder / "profiles" / f"{name}.yaml", strict_yaml.written(content))
        yield folder / "profiles" / f"{name}.yaml"
