"""The whole report of one fixed campaign: Markdown, page and terminal word for word (`make golden`
rewrites them), the page also by its structure."""

from __future__ import annotations

import base64
import gzip
import hashlib
import io
import json
import re
from dataclasses import replace
from html import unescape
from html.parser import HTMLParser
from pathlib import Path

import pytest
from rich.console import Console

from orchestrator import report, units
from orchestrator.cli.measure import concluding
from orchestrator.cli.measure.concluding import ReportPaths
from orchestrator.report.charts import vega_library
from tests import golden, report_verdicts
from tests.campaigns import build_campaign

pytestmark = pytest.mark.draws


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> ReportPaths:
    folder = tmp_path_factory.mktemp("report")
    return concluding.write_report(
        report_verdicts.reported_campaign(), report_verdicts.verdict(), folder
    )


@pytest.fixture(scope="module")
def page(written: ReportPaths) -> str:
    return written.html.read_text(encoding="utf-8")


def test_markdown_is_the_golden_one(written: ReportPaths) -> None:
    golden.compare("report/report.md", written.markdown.read_text(encoding="utf-8"))


def test_the_pages_text_is_the_golden_one(page: str) -> None:
    """Without tags, charts and scripts, a line for each block of the page."""
    body = re.sub(r"<svg.*?</svg>", "[chart]", _body(page), flags=re.DOTALL)
    blocks = re.split(
        r"</(?:p|h\d|li|tr|summary|figcaption|caption|div|section|ol|ul)>", body
    )
    lines = [_words(block) for block in blocks]
    golden.compare("report/page.txt", "".join(f"{line}\n" for line in lines if line))


def _body(page: str) -> str:
    return re.sub(
        r"<script.*?</script>", "", page.split("<body>", 1)[1], flags=re.DOTALL
    )


def test_the_terminals_first_screen_is_the_golden_one() -> None:
    screen = Console(width=100, record=True, file=io.StringIO())
    for part in report.console(
        report_verdicts.reported_campaign(), report_verdicts.verdict()
    ):
        screen.print(part)
    lines = screen.export_text().splitlines()
    golden.compare(
        "report/terminal.txt", "".join(f"{line.rstrip()}\n" for line in lines)
    )


def test_the_same_files_give_the_same_report(tmp_path: Path) -> None:
    # Rendering counts up its ids within a process: they must not show.
    small = build_campaign(
        profiles=["ultra"], workloads=["tpcc"], repetitions=1, measure_s=20.0
    )
    verdict = replace(report_verdicts.verdict(), baseline="ultra", decisions=())
    vega_library.drawn.cache_clear()
    one = concluding.write_report(small, verdict, tmp_path / "one")
    vega_library.drawn.cache_clear()
    two = concluding.write_report(small, verdict, tmp_path / "two")
    assert one.markdown.read_bytes() == two.markdown.read_bytes()
    assert one.html.read_bytes() == two.html.read_bytes()
    assert [path.read_bytes() for path in one.charts] == [
        path.read_bytes() for path in two.charts
    ]
    assert len(one.charts) == 7 + 3 + 2  # over time, node by node, two distributions


def test_every_chart_of_the_markdown_is_there(written: ReportPaths) -> None:
    linked = re.findall(
        r"\]\((charts/[^)]+)\)", written.markdown.read_text(encoding="utf-8")
    )
    folder = written.markdown.parent
    assert sorted(folder / name for name in linked) == sorted(written.charts)
    # of each workload seven over time; four distributions; changes of throughput and latency;
    # prices against throughput and tail of the one workload with prices, and its tiers
    assert len(written.charts) == 3 * 7 + 4 + 2 + 2 + 1
    assert all(
        chart.read_text(encoding="utf-8").startswith("<svg") for chart in written.charts
    )


class _Page(HTMLParser):
    """What a page refers to, its ids, and whether every element that opens also closes."""

    VOID = frozenset({"meta", "br", "img", "hr", "link", "input"})

    def __init__(self, text: str) -> None:
        super().__init__()
        self.references: list[str] = []
        self.ids: list[str] = []
        self.tags: list[str] = []
        self._open: list[str] = []
        self.feed(text)
        assert self._open == []

    def handle_starttag(
        self, tag: str, attributes: list[tuple[str, str | None]]
    ) -> None:
        self.tags.append(tag)
        if tag not in self.VOID:
            self._open.append(tag)
        for name, value in attributes:
            if name in ("href", "src", "srcset", "xlink:href", "action", "data"):
                self.references.append(value or "")
            if name == "id":
                self.ids.append(value or "")

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop() == tag

    def handle_startendtag(
        self, tag: str, attributes: list[tuple[str, str | None]]
    ) -> None:
        self.handle_starttag(tag, attributes)
        if tag not in self.VOID:
            self._open.pop()


def test_page_needs_nothing_from_outside(page: str) -> None:
    found = _Page(page)
    beside = ("#", "runs/", "charts/")
    outside = [ref for ref in found.references if not ref.startswith(beside)]
    assert outside == []
    assert not {"link", "iframe", "img", "object"} & set(found.tags)
    assert re.findall(r"(?:@import|url\((?!#))[^;]*", page.split("<script")[0]) == []


def test_page_runs_its_own_scripts_and_nothing_else(page: str) -> None:
    policy = re.findall(r'Content-Security-Policy" content="([^"]+)"', page)
    assert len(policy) == 1
    rules = dict(rule.split(" ", 1) for rule in unescape(policy[0]).split("; "))
    assert rules["default-src"] == "'none'"
    scripts = re.findall(r"<script>(.*?)</script>", page, flags=re.DOTALL)
    sums = [
        base64.b64encode(hashlib.sha256(code.encode()).digest()).decode()
        for code in scripts
    ]
    assert len(scripts) == 2  # what draws with Vega, what copies
    packed = re.findall(
        r'<script type="application/gzip" id="vega">(.*?)</script>', page
    )
    vega = gzip.decompress(base64.b64decode(packed[0]))
    assert b"vegaEmbed" in vega
    sum_of_vega = base64.b64encode(hashlib.sha256(vega).digest()).decode()
    named = [sum_of_vega, *sums]
    assert rules["script-src"] == " ".join(f"'sha256-{one}'" for one in named)


def test_drawings_are_embedded_once_with_their_data(
    page: str, written: ReportPaths
) -> None:
    (text,) = re.findall(
        r'<script type="application/gzip" id="drawings">(.*?)</script>', page
    )
    charts = json.loads(gzip.decompress(base64.b64decode(text)))["charts"]
    assert list(charts) == re.findall(r'data-chart="([^"]+)"', page)
    assert len(charts) == len(written.charts)
    runs = charts["insert-throughput"]["datasets"]["runs"]
    assert set(runs["tier"]) == {"premium-v2", "ultra"}
    assert len(runs["seconds"]) == len(runs["value"]) == len(runs["tier"])


def test_a_page_is_small_enough_for_a_ticket(page: str) -> None:
    """Of three tiers under three workloads; what is compressed has the same in it."""
    assert len(page.encode()) < 1_000_000


def test_page_has_each_id_once_and_each_anchor_leads_somewhere(page: str) -> None:
    found = _Page(page)
    assert len(found.ids) == len(set(found.ids))
    anchors = {ref[1:] for ref in found.references if ref.startswith("#")}
    assert anchors - set(found.ids) == set()
    assert (
        set(re.findall(r"url\(#([^)]+)\)", page.split("<script")[0])) - set(found.ids)
        == set()
    )


def _words(html: str) -> str:
    """What a reader sees: text without tags and charts, spaces made equal."""
    body = re.sub(r"<svg.*?</svg>", "", html, flags=re.DOTALL)
    return " ".join(
        unescape(re.sub(r"<[^>]+>", " ", body)).replace("\u00a0", " ").split()
    )


def test_page_shows_every_figure_of_the_verdict(page: str) -> None:
    words = _words(_body(page))
    verdict = report_verdicts.verdict()
    for delta in verdict.deltas:
        low, high = delta.ci_low_pct or 0.0, delta.ci_high_pct or 0.0
        change = f"{units.format_change(delta.change_pct)} {delta.verdict}"
        assert change in words
        assert (
            f"{units.format_change(low).removesuffix(' %')} to {units.format_change(high)}"
            in words
        )
    for cell in verdict.cells:
        unit = "" if cell.unit in ("1/s", "1/min") else cell.unit
        assert units.format_quantity(cell.mean, unit) in words
    for decision in verdict.decisions:
        assert decision.reason.removeprefix("premium") in words
    for bottleneck in verdict.bottlenecks:
        assert bottleneck.text in words
    for doubt in verdict.doubts:
        told = doubt.text.removeprefix("premium-v2: ").removeprefix("ultra: ")
        # A sentence's first letter may change; doubts alike but for their numbers are one.
        assert (
            told.removeprefix("premium: ")[1:]
            .replace("7 %", "7–9 %")
            .replace("by 9 %", "by 7–9 %")
            in words
        )


def test_first_screen_compares_throughput_and_latencies(page: str) -> None:
    first = page[page.index('<table class="verdicts">') : page.index("</table>")]
    assert len(re.findall(r'class="word', first)) == len(
        report_verdicts.verdict().deltas
    )
