"""What a report prints under "To repeat it": the command that was given.

Method: each option of a campaign is given on a command line, and what the report prints is given
once more; both must ask for the same plan, to be carried out in the same way.
"""

from __future__ import annotations

import shlex
from dataclasses import fields, replace
from pathlib import Path

import pytest

from orchestrator.analysis.given_commands import given_command
from orchestrator.cli.common.options import Compared
from orchestrator.design import slo
from orchestrator.report.sections import method
from tests.asked import PRICES, Ask, ask
from tests.campaigns import build_campaign
from tests.option_kinds import REPORTED

__all__ = ["ask"]

KUBERNETES = ("--platform", "kubernetes", "--db", "postgresql")
# Field of the options → words that set it to something else than its default.
GIVEN: dict[str, tuple[str, ...]] = {
    "database": ("--db", "postgresql"),
    "platform": KUBERNETES,
    "enforcement": (*KUBERNETES, "--enforcement", "storage-class"),
    "scale": ("--scale", "smoke"),
    "node_size": ("--node-size", "2, 3GiB, 9GiB"),
    "data": ("--data", "4x"),
    "time": ("--time", "9h"),
    "nodes": ("--nodes", "2"),
    "clients": ("--clients", "2"),
    "repetitions": ("--repeats", "3"),
    "seed": ("--seed", "7"),
    "generator": ("--workloads", "tpcc", "--generator", "benchbase"),
    "slo": ("--slo", "average < 50 ms, throughput > 25/s"),
    "price_list": ("--prices", "my prices.yaml"),
    "max_cost": ("--max-cost", "5000 USD"),
    "latency_at": ("--latency-at", "70%"),
    "sweep": ("--sweep", "threads=1,4"),
    "vary": ("--vary", "data=2,4 tables"),
    "without": ("--without", "disk,network"),
    "probe": ("--probe",),
    "gate_every": ("--profiles", "mine.yaml", "--gate-every", "3"),
    "drain": ("--profiles", "mine.yaml", "--drain"),
    "warmup": ("--warmup", "steady"),
    "windows": ("--db", "postgresql", "--windows", "checkpoints"),
    "confirm": ("--confirm",),
    "slow": ("--slow", "node-1=10%,2s", "--slow", "node-2=stall,1s@3s"),
    "overrides": ("--set", "threads=3", "--set", "isolation=repeatable read"),
    "cache_max": ("--cache-max", "200GiB"),
    "on_end": ("--on-end", "true"),
    "retry_failed": ("--retry-failed", "2"),
    "question": ("--question", "Which disk for the ledger?"),
    "dry_run": ("--dry-run",),
    "offline": ("--dry-run", "--offline"),
    "margin_pct": ("--margin", "7.5"),
    "p99_margin_pct": ("--p99-margin", "12.5"),
    "baseline": ("--baseline", "ultra"),
    "weights": ("--weights", "insert=3 point-select=1"),
    "until": ("--until", "decided"),
    "most_repetitions": ("--until", "decided", "--max-repeats", "7"),
    "aa": ("--aa",),
}
MINE = """
question: Is the disk what it declares?
title: A real disk
tier: {type: azure/P15, enforcement: mounted, path: /mnt/p15}
cluster:
  database: postgresql
  nodes: 1
  replication_factor: 1
  node: {laptop: {cpus: 1, memory: 1GiB, disk: 8GiB}}
"""


@pytest.fixture(autouse=True)
def _files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "where it was given"
    folder.mkdir()
    (folder / "my prices.yaml").write_text(PRICES)
    (folder / "mine.yaml").write_text(MINE)
    monkeypatch.chdir(folder)


def test_each_option_is_given_once_here() -> None:
    assert set(GIVEN) | REPORTED == {one.name for one in fields(Compared)}


@pytest.mark.parametrize("option", GIVEN)
def test_the_printed_command_plans_the_same_campaign(option: str, ask: Ask) -> None:
    given = GIVEN[option]
    words = ["compare"]
    if "--profiles" not in given:
        words += ["--profiles", "premium ultra"]
    if "--workloads" not in given:
        words += ["--workloads", "insert point-select"]
    words += given
    first = ask(words)
    campaign = replace(build_campaign(frames=False), fingerprint=first.fingerprint)
    program, *printed = shlex.split(given_command(campaign))
    assert (program, printed) == ("tierbench", words)
    assert ask(printed) == first


def test_relative_paths_begin_where_the_command_was_given(ask: Ask) -> None:
    first = ask(["run", "--profile", "mine.yaml", "--workload", "insert"])
    assert first.fingerprint["directory"] == str(Path.cwd())


def test_of_a_campaign_that_kept_no_command_nothing_is_made_up() -> None:
    campaign = build_campaign(frames=False)
    facts = {
        **campaign.fingerprint,
        "command": "tierbench compare --profiles premium ultra",
    }
    facts.pop(
        "directory", None
    )  # its words were once kept without their quotation marks
    assert given_command(replace(campaign, fingerprint=facts)) == ""


def test_the_report_is_made_again_by_the_slo_that_it_was_judged_by() -> None:
    campaign = build_campaign(workloads=["tpcc"], frames=False)
    loads = slo.applied(campaign.plan.workloads, "new_order p99 < 50 ms", "--slo")
    judged = replace(campaign, plan=replace(campaign.plan, workloads=loads))
    assert method.analyze(judged) == "tierbench analyze . --slo 'new_order p99 < 50 ms'"
    assert method.analyze(campaign) == "tierbench analyze ."
