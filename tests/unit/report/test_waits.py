"""The report's section on what sessions waited for."""

from __future__ import annotations

from typing import Any

from orchestrator.analysis.results import Results
from orchestrator.report.blocks import Paragraph, Table
from orchestrator.report.sections import waits
from tests.campaigns import with_facts
from tests.judged import judged_index


def waiting(*of_runs: dict[str, Any]) -> Results:
    return with_facts("insert", *[{"waits": sampled} for sampled in of_runs])


def event(component: str, name: str, kind: str, share_pct: float) -> dict[str, Any]:
    return {
        "component": component, "type": kind, "event": name, "share_pct": share_pct,
    }  # fmt: skip


def test_the_report_has_the_mean_of_a_tiers_runs() -> None:
    read = event("YSQL", "TableRead", "RPCWait", 60.0)
    lock = event("TServer", "LockedBatchEntry_Lock", "WaitOnCondition", 30.0)
    shown = waiting({"events": [read, lock]}, {"events": [read]}, {})
    (section,) = waits.section(judged_index(shown))
    ((table,),) = (part.blocks for part in section.parts)
    assert isinstance(table, Table)
    texts = [[cell.text for cell in row if cell.text] for row in table.rows]
    assert texts == [
        ["insert, premium"],
        ["YSQL: TableRead (RPCWait)", "60.0"],
        ["TServer: LockedBatchEntry_Lock (WaitOnCondition)", "15.0"],
    ]


def test_the_report_says_why_it_is_not_known_and_nothing_where_none_was_asked() -> None:
    reason = "the release keeps no history of active sessions"
    absent = waiting({"not_read": reason}, {"not_read": reason})
    (section,) = waits.section(judged_index(absent))
    ((paragraph,),) = (part.blocks for part in section.parts)
    assert isinstance(paragraph, Paragraph)
    assert paragraph.text == f"{reason}."
    plain = waiting({})
    assert waits.section(judged_index(plain)) == ()


def test_the_report_says_of_which_part_of_the_window_shares_are() -> None:
    read = event("YSQL", "TableRead", "RPCWait", 60.0)
    short = {"events": [read], "window_s": 600.4, "covered_s": 120.2}
    longer = {"events": [read], "window_s": 600.4, "covered_s": 400.6}
    whole = {"events": [read], "window_s": 600.4}

    shown = waiting(short, longer, whole)
    (section,) = waits.section(judged_index(shown))
    ((_, paragraph),) = (part.blocks for part in section.parts)
    assert isinstance(paragraph, Paragraph)
    assert paragraph.lead == "insert, premium"
    assert paragraph.text == (
        "The servers' history was shorter than the window. In 2 of 3 runs shares are of at least "
        "the last 120 s of 600 s. In 1 of them waits for locks are not known: less "
        "than half of the window was covered. A larger "
        "`ysql_yb_ash_circular_buffer_size` keeps more."
    )

    shown = waiting(longer, whole)
    (section,) = waits.section(judged_index(shown))
    ((_, paragraph),) = (part.blocks for part in section.parts)
    assert isinstance(paragraph, Paragraph)
    assert "last 401 s" in paragraph.text and "not known" not in paragraph.text
