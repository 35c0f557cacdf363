"""Results of runs in which an extension took part: with it here, and without.

Goal: no run counts of which somebody's doubts are not known, and the page says what is missing.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from orchestrator import report
from orchestrator.analysis.doubts import extension_records
from orchestrator.analysis.results import finished
from orchestrator.analysis.verdicts import judge
from orchestrator.errors import UnavailableError
from orchestrator.model import Doubt, Record
from orchestrator.registry.extension import DoubtEntry, Extension, GeneratorEntry
from orchestrator.registry.installed import Installed
from orchestrator.registry.references import ExtensionOrigin
from orchestrator.registry.taking_part import MemberNames, doubting, taking_part
from tests.doubted import Change, kinds, small, the

PGBENCH = ExtensionOrigin("pgbench", "tierbench-pgbench", "1.2")


def with_extension(**facts: Any) -> Change:
    """Of a record that says that an extension took part which nobody has installed here."""

    def change(record: Record) -> Record:
        kept = {"distribution": "tierbench-mariadb", "version": "3.1", **facts}
        return replace(record, facts={**record.facts, "extensions": {"mariadb": kept}})

    return change


def hot_row(record: Record) -> Iterator[Doubt]:
    if record.workload.threads > 1:
        yield Doubt("", "sessions wait for one row", "use one thread")


def cold_row(_record: Record) -> Iterator[Doubt]:
    raise ZeroDivisionError("no rows")


def no_doubt(_record: Record) -> Iterator[str]:
    yield "sessions wait for one row"


def pgbench(check: str, effect: Any = "excludes", **more: Any) -> Installed:
    entry = DoubtEntry(f"{__name__}:{check}", effect)
    return Installed(PGBENCH, Extension(doubts={"hot row": entry}, **more))


# ------------------------------------------------------------------ one that is missing


def test_runs_whose_doubts_cannot_be_read_do_not_count() -> None:
    campaign = small(change=with_extension(has_doubts=True))
    doubt = the("doubts not readable", campaign)
    assert doubt.effect == "excludes"
    assert "the extension mariadb took part and is not installed here" in doubt.text
    assert "(pip install tierbench-mariadb==3.1)" in doubt.text
    assert finished(campaign, "premium", "point-select") == ()
    assert not any(run.profile == "premium" for run in judge(campaign).cells)


def test_one_that_does_not_say_whether_it_doubts_is_taken_to_do_so() -> None:
    assert "doubts not readable" in kinds(small(change=with_extension()))


def test_the_page_says_what_to_install() -> None:
    campaign = small(change=with_extension(has_doubts=True))
    (text,) = [
        text
        for name, text in report.files(campaign, judge(campaign)).items()
        if name == report.MARKDOWN
    ]
    assert "extension mariadb" in text
    assert "pip install tierbench-mariadb==3.1" in text


def test_runs_of_one_without_doubts_count() -> None:
    campaign = small(change=with_extension(has_doubts=False))
    doubt = the("extension missing", campaign)
    assert (doubt.effect, "doubts not readable" in kinds(campaign)) == ("told", False)
    assert len(finished(campaign, "premium", "point-select")) == 2


# ------------------------------------------------------------------ one that is here


def of_run() -> Record:
    return small().runs[0].record


def test_its_doubts_bring_their_effects() -> None:
    record = of_run()
    (doubt,) = extension_records.excluding(record, [pgbench("hot_row")])
    assert (doubt.kind, doubt.effect) == ("hot row", "excludes")
    assert not [*extension_records.excluding(record, [pgbench("hot_row", "told")])]
    (told,) = extension_records.of_extension(
        pgbench("hot_row", "told"), record, excludes=False
    )
    assert told.effect == "told"


def test_one_with_members_doubts_the_runs_of_these_alone() -> None:
    record = of_run()
    load = {"pgbench": GeneratorEntry("nowhere:PgBench")}
    (extension,) = [pgbench("hot_row", load_generators=load)]
    assert doubting(record, [extension]) == []
    theirs = replace(record, workload=replace(record.workload, generator="pgbench"))
    assert doubting(theirs, [extension]) == [extension]


@pytest.mark.parametrize(
    ("check", "why"),
    [
        ("cold_row", "failed: ZeroDivisionError: no rows"),
        ("no_doubt", "failed: TypeError: it found a str, and no Doubt"),
        ("no_row", "cannot be imported: AttributeError"),
    ],
)
def test_a_check_that_fails_leaves_no_run_without_its_doubt(
    check: str, why: str
) -> None:
    with pytest.raises(UnavailableError) as refused:
        list(extension_records.excluding(of_run(), [pgbench(check)]))
    assert why in refused.value.what
    assert "the extension pgbench (tierbench-pgbench)" in refused.value.what


def test_a_record_names_those_that_took_part() -> None:
    load = {"pgbench": GeneratorEntry("nowhere:PgBench")}
    found = [
        Installed(PGBENCH, Extension(load_generators=load)),
        Installed(ExtensionOrigin("rows", "rows", "1"), pgbench("hot_row").brings),
    ]
    with_load = taking_part(MemberNames("postgresql", "pgbench", "emulated"), found)
    assert with_load == {
        "pgbench": {
            "distribution": "tierbench-pgbench",
            "version": "1.2",
            "has_doubts": False,
        },
        "rows": {"distribution": "rows", "version": "1", "has_doubts": True},
    }
    assert [*taking_part(MemberNames("postgresql", "sysbench", "emulated"), found)] == [
        "rows"
    ]


def test_whoever_brings_the_platform_of_a_run_takes_part_in_it() -> None:
    nomad = Extension(platforms={"nomad": "nowhere:connected"})
    found = [Installed(PGBENCH, nomad)]
    members = MemberNames("postgresql", "sysbench", "none", "nomad")
    assert [*taking_part(members, found)] == ["pgbench"]
    assert taking_part(replace(members, platform="docker"), found) == {}


def test_one_with_a_platform_doubts_the_runs_there_alone() -> None:
    record = of_run()
    nomad = pgbench("hot_row", platforms={"nomad": "nowhere:connected"})
    assert doubting(record, [nomad]) == []
    took_part = {"extensions": {"pgbench": {"distribution": "d", "version": "1"}}}
    there = replace(record, facts={**record.facts, **took_part})
    assert doubting(there, [nomad]) == [nomad]


def test_a_record_names_no_extension_that_had_no_part_in_its_run() -> None:
    load = {"pgbench": GeneratorEntry("nowhere:PgBench")}
    doubting = replace(pgbench("hot_row").brings, load_generators=load)
    found = [
        Installed(ExtensionOrigin("pages", "pages", "1"), Extension()),
        Installed(PGBENCH, doubting),
    ]
    assert taking_part(MemberNames("postgresql", "sysbench", "emulated"), found) == {}
