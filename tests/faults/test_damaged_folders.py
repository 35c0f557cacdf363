"""Whatever becomes of a results folder: no traceback, no endless wait, and no other verdict without
a word that says so.

In CI the same 20 folders; `make soak` draws as many as a fifth of INPUTS. What tables hold is held
against raw files by `tierbench verify`, and is damaged in `tests/unit/system/test_cut_files.py`.
"""

from __future__ import annotations

import os
import re
import shutil
import tempfile
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

from orchestrator.analysis import results
from orchestrator.analysis.results import Results
from orchestrator.analysis.verdicts import judge
from orchestrator.cli.look import verify
from orchestrator.cli.measure import concluding
from orchestrator.errors import UsageError
from orchestrator.registry.references import CORE
from orchestrator.report.document import arrange
from orchestrator.report.exports import FORMATS
from orchestrator.report.rendering import markdown
from orchestrator.run.progress import status
from orchestrator.run.resuming.resuming import Resumption
from orchestrator.system import (
    campaign_writing,
    store,
    stored_campaigns,
    unfinished_runs,
)
from tests.campaigns import build_campaign, stored
from tests.faults.damaged_folders import Damage, damages

INPUTS = int(os.environ.get("INPUTS", "100"))
NOW_S = 1_800_000_000.0
UNFORESEEN = re.compile(
    r"\w+Error: "
)  # how a list says what only a traceback would say


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A judged campaign of two tiers with prices, four runs, and gates."""
    made = build_campaign(
        profiles=["premium", "ultra"],
        workloads=["insert"],
        repetitions=2,
        measure_s=20.0,
        frames=False,
    )
    folder = stored(made, tmp_path_factory.mktemp("sound"))
    campaign_writing.save_gates(
        folder, [run.record.gate for run in made.runs if run.record.gate]
    )
    campaign_writing.save_predictions(folder, [], CORE)
    campaign_writing.save_verdict(folder, judge(store.load(folder)))
    return folder


def concluded(folder: Path) -> tuple[Results, Any]:
    """What is read, and what is concluded from it: all but the doubts about it. It is shown in all
    forms."""
    campaign, verdict = concluding.judged(folder)
    assert markdown.draw(arrange(campaign, verdict))
    for written in FORMATS.values():
        assert written(campaign, verdict)
    content = asdict(verdict)
    for key in ("doubts", "answer"):
        del content[key]
    return campaign, content


@pytest.fixture(scope="module")
def concluded_before(sound: Path) -> Any:
    """What is concluded from it as it is."""
    return concluded(sound)[1]


def has_a_word(campaign: Results) -> bool:
    """Whether the report says that something is missing, or not as it was."""
    is_unfinished = len(campaign.runs) < len(campaign.plan.runs)
    return is_unfinished or bool(results.left_out(campaign))


def looked_at(folder: Path) -> None:
    """What other commands read of it, each of which may refuse it."""
    entry = stored_campaigns.entry(folder, {})
    assert not UNFORESEEN.match(entry.fault), entry.fault
    looks = (
        lambda: list(verify.checks(folder)),
        lambda: list(status.described(folder, NOW_S)),
        lambda: Resumption(folder).finished,
        lambda: store.checksum(folder),
        lambda: unfinished_runs.in_progress(folder),
    )
    for look in looks:
        try:
            look()
        except UsageError:
            continue


@settings(
    max_examples=max(1, INPUTS // 5),
    deadline=None,
    database=None,
    derandomize="INPUTS" not in os.environ,
    suppress_health_check=list(HealthCheck),
)
@given(data=st.data())
def test_a_damaged_folder_is_read_as_it_was_or_says_what_is_wrong(
    sound: Path, concluded_before: Any, data: st.DataObject
) -> None:
    damage: Damage = data.draw(damages(sound))
    with tempfile.TemporaryDirectory() as around:
        folder = Path(around) / sound.name
        shutil.copytree(sound, folder)
        kept_checksum = "without its checksum" not in damage.name
        damage.do(folder)
        looked_at(folder)
        try:
            campaign, after = concluded(folder)
        except UsageError:
            return
        if after != concluded_before and kept_checksum:
            assert has_a_word(campaign), damage
