"""The page in a real browser: charts answer to the pointer, and nothing is asked of a network.

Skipped where Chromium is not installed (Debian: `apt-get install chromium`).
"""

from __future__ import annotations

import base64
import gzip
import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from orchestrator import report
from orchestrator.analysis.answers.record import Brief
from orchestrator.analysis.verdicts import judge
from orchestrator.cli.measure import concluding
from orchestrator.report.blocks import (
    Cell,
    Code,
    Document,
    Paragraph,
    Part,
    Section,
    table_of,
)
from orchestrator.report.sections.ticket import short_section
from tests.browser import PROGRAM, Page, browser
from tests.campaigns import build_campaign

pytestmark = [
    pytest.mark.draws,
    pytest.mark.skipif(PROGRAM is None, reason="Chromium is not installed"),
]

_ALL_DRAWN = (
    "[...document.querySelectorAll('[data-chart]')].every(f => f.matches('.drawn'))"
)
_FIRST_CHARTS = 1  # in the card of the workload
# Changes, prices, distribution, over time, node by node.
_CHARTS = _FIRST_CHARTS + 2 + 2 + 1 + 7 + 3


# Column's title → the longest that stands there.
_OBSERVED = {
    "Disk": "azure/premium-v2 (2 × 125 GiB, 3,000 IOPS, 125 MB/s)",
    "A month": "1,120.08 USD",
    "Answer": "would have carried",
    "At its cap": "at least 12 %",
}
_ADVISED = {
    "Disk": "gcp/hyperdisk-balanced (2 × 125 GiB, 3,000 IOPS, 140 MiB/s)",
    "A month": "1,060.24 USD",
    "Transactions/s": "12,431",
    "Limited by": "latency bound",
    "Chance": "at most 90 %",
}


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two tiers, two runs each, three nodes."""
    campaign = build_campaign(
        profiles=["premium", "ultra"],
        workloads=["insert"],
        repetitions=2,
        measure_s=30.0,
    )
    return concluding.write_report(
        campaign, judge(campaign), tmp_path_factory.mktemp("page")
    ).html


@pytest.fixture(scope="module")
def chromium(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Page]:
    with browser(tmp_path_factory.mktemp("profile")) as page:
        yield page


@pytest.fixture(scope="module")
def page(chromium: Page, file: Path) -> Page:
    """With everything unfolded and drawn."""
    chromium.size(1280, 12000)
    chromium.open(file)
    chromium.wait_for("document.querySelectorAll('details.data').length")
    chromium.value(
        "document.querySelectorAll('details').forEach(one => one.open = true)"
    )
    chromium.wait_for(_ALL_DRAWN)
    return chromium


def _in(chart: str, selector: str) -> str:
    return f"document.querySelector('[data-chart=\"{chart}\"] {selector}')"


def _lines(page: Page, chart: str) -> int:
    """The lines of a live chart that are not empty."""
    every = f'[data-chart="{chart}"] .live .mark-line path[d^=M]'
    return int(page.value(f"document.querySelectorAll('{every}').length"))


def _strip(page: Page, chart: str) -> tuple[float, float]:
    """The middle of one of the strips that show values, right of the chart's middle."""
    every = f"{_in(chart, '.live')}.querySelectorAll('.mark-rect path[opacity=\"0\"]')"
    box = page.value(
        f"(() => {{ const all = {every}; const one = all[Math.floor(all.length * 0.6)];"
        "one.scrollIntoView({block: 'center'});"
        "const r = one.getBoundingClientRect(); return [r.x + r.width / 2, r.y + r.height / 2] })()"
    )
    return float(box[0]), float(box[1])


def _seconds(chart: str) -> str:
    """An expression: the labels of the time axis, in no order."""
    axis = f"{_in(chart, '.live')}.querySelector('.role-axis-label')"
    return f"[...{axis}.querySelectorAll('text')].map(t => t.textContent).sort().join()"


def test_every_chart_is_drawn_without_error_and_without_a_request(
    page: Page, file: Path
) -> None:
    assert page.value("document.querySelectorAll('.chart.drawn').length") == _CHARTS
    assert (
        page.value("document.querySelectorAll('.live .role-legend-symbol').length") == 0
    )
    assert page.complaints == []
    assert set(page.requests) == {file.resolve().as_uri()}
    lines = {
        "insert-throughput": 4,  # a line for each run
        "insert-cpu": 8,  # mean and busiest of each
        "insert-nodes-iops": 6,  # a line for each tier in each of three panels
        "insert-latency-distribution": 2,
    }
    assert {chart: _lines(page, chart) for chart in lines} == lines
    dots = (
        _in("insert-price-p99", ".live")
        + ".querySelectorAll('.mark-symbol path').length"
    )
    assert page.value(dots) == 2


def test_the_static_chart_gives_way_only_on_a_screen(page: Page) -> None:
    shown = (
        "['> svg', '.live'].map(s => getComputedStyle("
        "document.querySelector(`[data-chart=insert-throughput] ${s}`)).display)"
    ).replace(
        "`[data-chart=insert-throughput] ${s}`", "'[data-chart=insert-throughput] ' + s"
    )
    assert page.value(shown) == ["none", "block"]
    page.media("print")
    assert page.value(shown) == ["block", "none"]
    page.media()


def test_a_chart_is_one_image_with_its_values_in_a_table_below(page: Page) -> None:
    page.ask("Accessibility.enable")
    heard = page.ask("Accessibility.getFullAXTree")["nodes"]
    page.ask("Accessibility.disable")
    roles = Counter(one["role"]["value"] for one in heard if not one["ignored"])
    assert roles["image"] == _CHARTS
    assert [role for role in roles if "graphics" in role or role == "SvgRoot"] == []
    head = f"[...{_in('insert-price-p99', '.data')}.querySelectorAll('th')].map(c => c.innerText)"
    assert page.value(head) == [
        "tier",
        "a month",
        "p99 latency",
        "95 % interval",
        "value for money",
    ]
    rows = f"{_in('insert-throughput', '.data')}.querySelectorAll('tbody tr').length"
    packed = page.value("document.getElementById('drawings').textContent")
    drawings = json.loads(gzip.decompress(base64.b64decode(packed)))["charts"]
    runs = drawings["insert-throughput"]["datasets"]["runs"]
    assert page.value(rows) > len(runs["seconds"])


def test_the_button_copies_what_goes_into_a_ticket(page: Page) -> None:
    allowed = {"permissions": ["clipboardReadWrite", "clipboardSanitizedWrite"]}
    page.ask("Browser.grantPermissions", **allowed)
    page.value("document.querySelector('[data-copy]').click()")
    page.wait_for("document.querySelector('[data-copy]').textContent === 'Copied'")
    assert page.complaints == []


@pytest.mark.parametrize(
    ("chart", "told"),
    [
        ("insert-throughput", ["at", "premium", "ultra", "transactions/s"]),
        ("insert-latency-distribution", ["at", "%", "premium", "ms"]),
        ("insert-nodes-cpu", ["at", "s", "ultra", "% of limit"]),
    ],
)
def test_values_stand_under_the_pointer(
    page: Page, chart: str, told: list[str]
) -> None:
    x, y = _strip(page, chart)
    for _ in range(100):  # a busy browser may take two moves for one
        page.point_at(x - 1, y)
        page.point_at(x, y)
        if page.value("document.querySelector('.vg-tooltip.visible') !== null"):
            break
    text = page.value("document.querySelector('.vg-tooltip').innerText")
    assert [word for word in told if word not in text] == []
    assert "undefined" not in text and "NaN" not in text
    page.point_at(2, 2)


def test_a_tier_is_hidden_in_every_chart_and_comes_back(page: Page) -> None:
    click = "document.querySelector('.legend [data-tier=ultra]').click()"
    page.value(click)
    page.wait_for(
        f"{_in('insert-throughput', '.live')}.querySelectorAll('.mark-line path').length == 2"
    )
    pressed = (
        "[...document.querySelectorAll('[data-tier=ultra]')].map(b => b.ariaPressed)"
    )
    assert set(page.value(pressed)) == {"false"}
    page.wait_for(
        f"{_in('insert-nodes-iops', '.live')}.querySelectorAll('.mark-line path').length == 3"
    )
    page.value(click)
    page.wait_for(
        f"{_in('insert-throughput', '.live')}.querySelectorAll('.mark-line path').length == 4"
    )
    assert page.complaints == []


def test_charts_side_by_side_zoom_together(page: Page) -> None:
    moved, beside = _seconds("insert-throughput"), _seconds("insert-iops")
    before = page.value(moved)
    x, y = _strip(page, "insert-throughput")
    wheel: dict[str, Any] = {"deltaX": 0, "deltaY": -300, "modifiers": 2}
    page.point_at(x, y)
    page.point_at(x, y, "mouseWheel", **wheel)
    page.wait_for(f"{moved} !== '{before}' && {moved} === {beside}")
    for clicks in (1, 2):
        for kind in ("mousePressed", "mouseReleased"):
            page.point_at(x, y, kind, button="left", clickCount=clicks)
    page.wait_for(f"{moved} === '{before}' && {beside} === '{before}'")
    assert page.complaints == []


@pytest.mark.parametrize("columns", [_OBSERVED, _ADVISED], ids=["observe", "advise"])
def test_what_is_worth_measuring_fits_a_telephone(
    columns: dict[str, str], chromium: Page, tmp_path: Path
) -> None:
    """Also in the box for the ticket, which is narrower by its frame."""
    row: dict[str, Cell | str] = {}
    for title, text in columns.items():
        row[title] = Cell(text, detail="not verified", tier=columns["Disk"])
    table = table_of([row, row], ("Disk", "Answer", "Limited by", "Chance"))
    brief = Brief("Worth measuring: a disk", "Why.", "Sure.", "Any.")
    ticket = short_section(brief, Paragraph("Now", "Observation"), table, [])
    document = Document(
        title="Which disk?",
        subtitle="",
        status="observed",
        status_text="",
        stamps=(),
        answers=(),
        verdicts=table,
        sections=(ticket,),
        tiers=(columns["Disk"],),
        brief=brief,
        is_example=False,
    )
    file = tmp_path / "page.html"
    file.write_text(report.files_of(document)[report.PAGE], encoding="utf-8")
    chromium.size(390, 1500)
    chromium.open(file)
    every = "[...document.querySelectorAll('.scroll')]"
    cut_px = chromium.value(f"{every}.map(one => one.scrollWidth - one.clientWidth)")
    assert cut_px == [0, 0]


def test_on_paper_nothing_is_wider_than_the_page(
    chromium: Page, tmp_path: Path
) -> None:
    """A4 has 794 pixels of width; what is right of them is not printed."""
    row: dict[str, Cell | str] = {"Tier": Cell("premium", tier="premium")}
    row |= {f"Sessions reading {number}": "58.9 %" for number in range(12)}
    command = Code("tierbench compare --profiles 'premium premium-v2 ultra' " * 4)
    blocks = (table_of([row], ("Tier",)), command)
    document = Document(
        title="Which disk?",
        subtitle="",
        status="observed",
        status_text="",
        stamps=(),
        answers=(),
        verdicts=table_of([row], ("Tier",)),
        sections=(Section("limits", "What limited each run", (Part("", blocks),)),),
        tiers=("premium",),
        is_example=False,
    )
    file = tmp_path / "page.html"
    file.write_text(report.files_of(document)[report.PAGE], encoding="utf-8")
    chromium.media("print")
    chromium.size(794, 1200)
    try:
        chromium.open(file)
        every = "[...document.querySelectorAll('table, pre code')]"
        ends_px = chromium.value(
            f"{every}.map(one => one.getBoundingClientRect().right)"
        )
    finally:
        chromium.media()
    assert len(ends_px) == 3 and max(ends_px) <= 794


def test_without_scripts_the_first_charts_stand_and_the_others_are_links(
    chromium: Page, page: Page, file: Path
) -> None:
    chromium.ask("Emulation.setScriptExecutionDisabled", value=True)
    chromium.open(file)
    assert chromium.value("document.querySelectorAll('.drawn, .live').length") == 0
    widths = (
        "[...document.querySelectorAll('.chart > svg')].map(s => s.checkVisibility())"
    )
    chromium.value(
        "document.querySelectorAll('details').forEach(one => one.open = true)"
    )
    assert sum(chromium.value(widths)) == _FIRST_CHARTS
    links = "[...document.querySelectorAll('.chart > a')].map(a => a.textContent)"
    assert all(chromium.value(links))
    assert len(chromium.value(links)) == _CHARTS - _FIRST_CHARTS
    chromium.ask("Emulation.setScriptExecutionDisabled", value=False)
