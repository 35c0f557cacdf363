"""Campaigns of a database that counts its log, to predict from."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from orchestrator.analysis.results import Results, RunData
from orchestrator.model import Record
from tests.campaigns import build_campaign


def syncing(record: Record) -> Record:
    """A database that counts its log: half a sync and 4 KB for each transaction."""
    counted = {"xact_commit": 10_000, "wal_syncs": 5_000, "wal_bytes": 40_960_000}
    facts = {
        **record.facts["database"],
        "since_reset": {**counted, "wal_sync_avg_s": 0.0008},
    }
    return replace(record, facts={**record.facts, "database": facts})


def syncing_campaign(**given: Any) -> Results:
    return build_campaign(
        workloads=["tpcc"],
        repetitions=3,
        nodes=1,
        cpus=8.0,
        noise_pct=1.0,
        change=syncing,
        **given,
    )


def run_of(results: Results, tier: str, number: int = 0) -> RunData:
    return [run for run in results.done if run.record.profile.name == tier][number]
