"""Somebody else's distribution, for real: its database and its load, from its wheel to a report.

Goal: what docs/ADDING.md walks through runs. Method: as its README says it, on an emulated disk.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests import ROOT
from tests.installed import STRANGER, Installed, install
from tests.integration.conftest import measured

pytestmark = [
    pytest.mark.docker,
    pytest.mark.slow,
    pytest.mark.usefixtures("engine", "nothing_left"),
]


@measured  # a truth gate holds the disk to its tier before the run
def test_a_strangers_load_runs_on_his_database_to_a_report(tmp_path: Path) -> None:
    site = tmp_path / "site"
    for project in (ROOT, STRANGER):
        install(project, tmp_path, site)
    home = tmp_path / "home"
    home.mkdir()
    extended = Installed(site, home, home / "xdg")
    assert extended.run("pgbench-files").returncode == 0
    files = ("profiles/pgbench-disk.yaml", "workloads/pgbench.yaml")
    how = ("--db", "plain-postgresql", "--scale", "smoke", "--results", "results")
    done = extended.run("run", *files, *how, within_s=900)
    assert done.returncode == 0, done.stderr
    (record,) = home.glob("results/2*/runs/*/record.json")
    facts = json.loads(record.read_text())["facts"]
    assert facts["extensions"]["pgbench"]["distribution"] == "tierbench-pgbench"
    assert facts["generator"]["recorded_transactions"] > 0
    (page,) = home.glob("results/2*/report.md")
    assert "What pgbench printed" in page.read_text()
    assert "they wait for each other, and not for the disk" in page.read_text()
