"""Stamps: what is said of several tiers is said once."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from orchestrator.analysis.verdicts import judge
from orchestrator.facts import NoteKind
from orchestrator.model import Doubt, Note, Record
from orchestrator.report import wording
from orchestrator.report.report_index import ReportIndex
from orchestrator.report.sections import caveats, conditions
from tests.campaigns import build_campaign

CAMPAIGN = build_campaign(workloads=["insert"], frames=False)
VERDICT = judge(CAMPAIGN)


def stamp_of(*doubts: Doubt) -> str:
    index = ReportIndex(CAMPAIGN, replace(VERDICT, doubts=doubts))
    texts = {stamp.label: stamp.text for stamp in caveats.stamps(index)}
    return texts["VM caps the disk"]


def capped(profile: str | None, text: str) -> Doubt:
    return Doubt("VM caps the disk", text, "take a larger one", profile=profile)


def on_clusters(*changes: Mapping[str, Any]) -> ReportIndex:
    """Each tier in turn is on a cluster with such a change."""
    profiles = []
    for profile, change in zip(CAMPAIGN.plan.profiles, changes, strict=True):
        profiles.append(replace(profile, cluster=replace(profile.cluster, **change)))
    plan = replace(CAMPAIGN.plan, profiles=tuple(profiles))
    return ReportIndex(replace(CAMPAIGN, plan=plan), VERDICT)


@pytest.mark.parametrize(
    ("nodes", "labels"),
    [
        ((1, 1, 1), ["One database node"]),
        ((1, 2, 2), ["2 database nodes"]),
        ((1, 2, 3), []),
    ],
)
def test_fewer_nodes_than_the_study_has_are_a_stamp(
    nodes: tuple[int, ...], labels: list[str]
) -> None:
    index = on_clusters(*({"nodes": count} for count in nodes))
    shown = [stamp.label for stamp in caveats.stamps(index)]
    assert [label for label in shown if "database node" in label] == labels


def test_a_doubt_on_fewer_nodes_stands_for_the_stamp() -> None:
    index = on_clusters({"nodes": 1}, {"nodes": 1}, {"nodes": 1})
    doubts = Doubt("fewer nodes", "one runs", "add two"), capped("ultra", "less")
    doubted = ReportIndex(index.campaign, replace(VERDICT, doubts=doubts))
    shown = [stamp.label for stamp in caveats.stamps(doubted)]
    assert "One database node" not in shown


@pytest.mark.parametrize(
    ("databases", "labels"),
    [
        (("none", "postgresql", "postgresql"), ["One database node"]),
        (("none", "none", "none"), []),
        (("existing", "postgresql", "none"), ["One database node, as declared"]),
    ],
)
def test_a_disk_alone_has_no_database_nodes_and_those_of_others_are_declared(
    databases: tuple[str, ...], labels: list[str]
) -> None:
    index = on_clusters(*({"nodes": 1, "database": name} for name in databases))
    shown = [stamp.label for stamp in caveats.stamps(index)]
    assert [label for label in shown if "database node" in label] == labels


@pytest.mark.parametrize(
    ("doubts", "texts"),
    [
        ((), ["Of nodes.", "Of others."]),
        ((Doubt("fewer nodes", "one runs", "add two"),), ["Of others."]),
    ],
)
def test_a_note_on_nodes_is_no_stamp_beside_a_doubt_on_them(
    doubts: tuple[Doubt, ...], texts: list[str]
) -> None:
    notes = (Note("nodes as asked", "of nodes"), Note("other", "of others"))
    plan = replace(CAMPAIGN.plan, notes=notes)
    index = ReportIndex(replace(CAMPAIGN, plan=plan), replace(VERDICT, doubts=doubts))
    shown = [stamp.text for stamp in caveats.stamps(index)]
    assert [text for text in shown if text.startswith("Of ")] == texts


@pytest.mark.parametrize(
    ("change", "column"),
    [
        ({}, None),
        ({"clients": 2}, "Load clients"),
        ({"client": "node-1"}, "Client"),
        ({"network_bytes_per_s": 125_000_000}, "Network"),
    ],
)
def test_what_one_cluster_has_otherwise_is_a_column_of_all(
    change: dict[str, Any], column: str | None
) -> None:
    table = conditions._clusters(on_clusters({}, change, {}))
    titles = {title.title for title in table.columns}
    assert titles & {"Load clients", "Client", "Network"} == {column} - {None}


@pytest.mark.parametrize(
    ("version", "words"), [("17", "postgresql 17"), (None, "postgresql")]
)
def test_a_cluster_has_its_version_if_one_was_asked_for(
    version: str | None, words: str
) -> None:
    index = on_clusters({"database": "postgresql", "version": version}, {}, {})
    first = conditions._clusters(index).rows[0]
    assert words in [cell.text for cell in first]


def test_facts_that_changed_from_run_to_run_are_none_of_a_tier() -> None:
    def change(record: Record) -> Record:
        told: dict[str, Any] = {"same": 7, "unlike": record.run.number, "none": None}
        if record.run.number == 1:
            told["once"] = 8
        return replace(record, facts={**record.facts, "made": told})

    campaign = build_campaign(
        profiles=["premium"],
        workloads=["insert"],
        repetitions=2,
        frames=False,
        change=change,
    )
    found = conditions._constant_facts(ReportIndex(campaign, VERDICT), "premium")
    made = {name: value for name, value in found.items() if name.startswith("made.")}
    assert made == {"made.same": "7", "made.once": "8"}


def test_what_holds_for_several_tiers_is_said_once() -> None:
    doubts = capped("premium", "less than bought"), capped("ultra", "less than bought")
    assert stamp_of(*doubts) == "premium and ultra: less than bought."


def test_a_tier_s_name_in_a_text_is_no_field() -> None:
    doubts = capped(None, "premium: a word"), capped("ultra", "a word")
    assert stamp_of(*doubts) == "premium: a word. ultra: a word."


@pytest.mark.parametrize("kind", ["unfinished", "left behind"])
def test_what_somebody_must_act_on_comes_first_by_its_kind(kind: NoteKind) -> None:
    notes = (Note("other", "of no kind"), Note(kind, "look at it"))
    campaign = replace(CAMPAIGN, plan=replace(CAMPAIGN.plan, notes=notes))
    texts = [stamp.text for stamp in caveats.stamps(ReportIndex(campaign, VERDICT))]
    assert texts[0] == "Look at it."
    assert texts.count("Of no kind.") == texts.count("Look at it.") == 1


@pytest.mark.parametrize(
    ("texts", "together"),
    [
        (("it was 92 % busy", "it was 97 % busy"), ("it was 92–97 % busy",)),
        (("runs at 1,500/s", "runs at 800/s"), ("runs at 800–1,500/s",)),
        (
            ("node-1 was full", "node-5 was full"),
            ("node-1 was full", "node-5 was full"),
        ),
        (("x:size=1GiB is low", "x:size=2GiB is low"), None),
        (("read at 12:30", "read at 12:45"), None),
        (("10.0.0.1:5433 is late", "10.0.0.1:5434 is late"), None),
        (("10.1.0.5 is late", "10.2.0.5 is late"), None),
        (("since 2025-12-31", "since 2026-01-01"), None),
        (("read 1.5 s, late", "read 12.5 s, late"), ("read 1.5–12.5 s, late",)),
        (("of 5, 3 were late", "of 7, 3 were late"), ("of 5–7, 3 were late",)),
        (("12,345,678 of 9", "1,345 of 9"), ("1,345–12,345,678 of 9",)),
    ],
)
def test_texts_span_figures_and_no_names(
    texts: tuple[str, ...], together: tuple[str, ...] | None
) -> None:
    """`node-1–5` named three nodes of which nothing was said."""
    assert wording.spanning(texts) == (together or texts)
