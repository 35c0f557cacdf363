"""Campaigns of an older format are read, and judged as they were when they were measured."""

from __future__ import annotations

import json
import shutil
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest
from pydantic import TypeAdapter

from orchestrator.analysis import results
from orchestrator.analysis.conclusions import ClusterDecision
from orchestrator.analysis.verdicts import judge
from orchestrator.doubt_effects import DOUBT_EFFECTS
from orchestrator.model import RESULTS_FORMAT, Note
from orchestrator.system import campaign_writing, store, stored_campaigns
from tests import ROOT
from tests.campaigns import build_campaign, stored

FORMAT_2 = ROOT / "tests/fixtures/results-format-2"
CAMPAIGN = FORMAT_2 / "campaign"
RECORD = "runs/01-premium-insert-r1/record.json"


# Sentences of today → as the stored verdict has them.
REWORDED = {
    # The change is made up: it has no limits, and the first second of 1970.
    "a person set d to limits that are not recorded 486111 h before the window began": (
        "the disk's limits were changed while this ran"
    ),
    "so writes look alike on all tiers": "so tiers look alike in writing",
}
LOCKS_UNKNOWN = " What sessions waited for was not sampled, so it may be locks."


def in_format_2(judged: Path) -> str:
    """A verdict of today as its file in format 2 was.

    It had no effects and no profiles of doubts, no `answer`, nothing on what makes a decision moot,
    what would settle it, or on which basis a cluster's answer rests, and no checksum of its own.
    Locks were taken for absent.
    """
    content: dict[str, Any] = json.loads(judged.read_text())
    assert content.pop("content_sha256")
    assert content.pop("answer") is not None
    content["schema_version"] = 2
    for doubt in content["doubts"]:
        assert doubt.pop("effect") == DOUBT_EFFECTS[doubt["kind"]]
        doubt.pop("profile")
    for decision in content["decisions"]:
        assert decision.pop("moot") == []
        assert decision.pop("best_open") == []
        assert decision.pop("missed") == {}
        for offer in decision["offers"]:
            for result in offer["slo"]:
                assert result.pop("mean") and result.pop("interval") is not None
        assert decision.pop("reason_parts") is not None
        assert ". ".join(decision.pop("sentences")) == decision["reason"]
        assert decision.pop("settled_by") is not None
        assert decision.pop("repetitions_settle") is not None
        decided_by = decision.pop("decided_by")
        assert (decided_by is None) == (decision["criterion"] == "")
    for cause in content["bottlenecks"]:
        cause["text"] = cause["text"].removesuffix(LOCKS_UNKNOWN)
        assert cause.pop("faster_disk") == ""
    cluster = content["cluster"]
    if cluster is not None:
        assert cluster.pop("basis") and cluster.pop("confidence_pct")
        assert cluster.pop("cheaper_open") == []
        assert cluster.pop("best_open") == []
        assert cluster.pop("reason_parts")
        assert ". ".join(cluster.pop("sentences")) == cluster["reason"]
    text = in_order(content)
    for today, stored_text in REWORDED.items():
        assert today in text
        text = text.replace(today, stored_text)
    return text


def in_order(content: dict[str, Any]) -> str:
    """Byte for byte but for the order of names, which JSON does not have."""
    return json.dumps(content, indent=1, ensure_ascii=False, sort_keys=True)


def kept(file: Path) -> str:
    return in_order(json.loads(file.read_text()))


def judged_anew(folder: Path) -> Path:
    campaign_writing.save_verdict(folder, judge(store.load(folder)))
    return folder / "verdict.json"


def test_a_campaign_of_format_2_is_judged_as_it_was(tmp_path: Path) -> None:
    folder = tmp_path / "campaign"
    shutil.copytree(CAMPAIGN, folder)
    assert in_format_2(judged_anew(folder)) == kept(CAMPAIGN / "verdict.json")


def test_doubts_of_format_2_are_given_the_effects_that_they_had() -> None:
    campaign = store.load(CAMPAIGN)
    assert campaign.plan.schema_version == RESULTS_FORMAT
    doubts = [doubt for run in campaign.runs for doubt in run.record.doubts]
    assert {doubt.kind: doubt.effect for doubt in doubts} == {
        "teardown": "told",
        "clock set": "excludes",
        "not restored": "told",
        "leftovers": "excludes",
        "out of order": "told",
    }
    assert {run.record.schema_version for run in campaign.runs} == {RESULTS_FORMAT}


def test_decisions_of_format_2_are_read() -> None:
    kept = stored_campaigns.kept_conclusions(CAMPAIGN)
    (decision,) = kept.decisions
    assert decision.workload == "insert"
    # What such a file does not say.
    assert not decision.repetitions_settle and not decision.with_vms


def test_a_decision_for_a_cluster_of_an_earlier_version_has_no_prices_of_vms() -> None:
    kept = {"tier": "x", "reason": "", "workloads": ["insert"], "standings": {}}
    assert not TypeAdapter(ClusterDecision).validate_python(kept).with_vms


def test_a_record_of_today_says_its_effects_and_is_read_as_it_is(
    tmp_path: Path,
) -> None:
    campaign = build_campaign(workloads=["insert"], frames=False)
    folder = stored(campaign, tmp_path)
    content = json.loads((folder / RECORD).read_text())
    assert content["schema_version"] == RESULTS_FORMAT
    records = [run.record for run in store.load_without_tables(folder).runs]
    assert [asdict(record) for record in records] == [
        asdict(run.record) for run in campaign.runs
    ]


@pytest.mark.parametrize(
    ("version", "more", "effect"),
    [
        (1, {}, "excludes"),
        (RESULTS_FORMAT, {}, "excludes"),
        (RESULTS_FORMAT, {"effect": "told"}, "told"),
    ],
)
def test_a_stored_doubt_of_an_unknown_kind_excludes_unless_it_says_otherwise(
    tmp_path: Path, version: int, more: dict[str, str], effect: str
) -> None:
    folder = stored(build_campaign(workloads=["insert"], frames=False), tmp_path)
    content = json.loads((folder / RECORD).read_text())
    doubt = {"kind": "disk was on fire", "text": "it was", "advice": "wait", "run": 1}
    content |= {"schema_version": version, "doubts": [doubt | more]}
    (folder / RECORD).write_text(json.dumps(content))
    campaign = store.load(folder)
    (read,) = campaign.by_number[1].record.doubts
    assert (read.kind, read.effect) == ("disk was on fire", effect)
    assert (1 in campaign.excluded) == (effect == "excludes")


def test_notes_on_files_of_earlier_programs_have_the_kinds_of_today(
    tmp_path: Path,
) -> None:
    campaign = build_campaign(workloads=["insert"], frames=False)
    texts = (
        "left out: runs/03-ultra-insert-r1 is a link",
        "changed since it was written: gates.json",
    )
    notes = tuple(Note("other", text) for text in texts)
    another = Note("other", "the time left out: none")
    plan = replace(campaign.plan, notes=(*notes, another))
    folder = stored(replace(campaign, plan=plan), tmp_path)
    read = store.load(folder)
    kinds = [note.kind for note in read.plan.notes]
    assert kinds == ["left out", "changed file", "other"]
    assert results.left_out(read) == texts


def test_an_effect_that_nothing_knows_is_a_record_that_cannot_be_read(
    tmp_path: Path,
) -> None:
    folder = stored(build_campaign(workloads=["insert"], frames=False), tmp_path)
    content = json.loads((folder / RECORD).read_text())
    doubt = {"kind": "k", "text": "t", "advice": "a", "run": 1, "effect": "pleases"}
    (folder / RECORD).write_text(json.dumps(content | {"doubts": [doubt]}))
    campaign = store.load(folder)
    assert 1 not in campaign.by_number
    assert "left out: runs/01-premium-insert-r1/record.json" in str(campaign.plan.notes)
