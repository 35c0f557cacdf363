"""What a page is made of besides its document."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from types import SimpleNamespace
from xml.etree import ElementTree

import pytest

from orchestrator.cli.measure import concluding
from orchestrator.report import blocks, document
from orchestrator.report.charts import vega_library
from orchestrator.report.rendering import page
from tests import report_verdicts

pytestmark = pytest.mark.draws

INSTALL = "pip install 'tierbench[charts]'"


def test_the_code_that_draws_is_kept_for_the_next_page(tmp_path: Path) -> None:
    made = page._vega(tmp_path)
    (kept,) = tmp_path.iterdir()
    assert kept.read_text(encoding="utf-8") == made
    kept.write_text("kept", encoding="utf-8")
    assert page._vega(tmp_path) == "kept"


@pytest.mark.parametrize(
    ("text", "drawn"),
    [
        (
            "Repeat with `--repeats 5`.",
            'Repeat with <code><span class="unbroken">--repeats 5</span></code>.',
        ),
        ("by --until decided", 'by <span class="unbroken">--until</span> decided'),
        ("1--2 and a --- b", "1--2 and a --- b"),
    ],
)
def test_an_option_is_not_broken_behind_its_hyphens(text: str, drawn: str) -> None:
    assert page._text(text) == drawn


def test_the_folder_of_the_cache_is_made(tmp_path: Path) -> None:
    """Nothing else makes it for who has only rehearsed or observed."""
    page._vega(tmp_path / "home" / "cache")
    assert list((tmp_path / "home" / "cache").glob("vega-*.js"))


def test_a_folder_that_cannot_be_written_does_not_matter(tmp_path: Path) -> None:
    (tmp_path / "home").write_text("")
    assert page._vega(tmp_path / "home" / "cache") == page._vega(None)


def test_a_chart_is_drawn_when_a_page_or_its_file_asks_for_it() -> None:
    """A terminal and a box for the ticket, which need the document too, show none."""
    before = vega_library.drawn.cache_info()
    arranged = document.arrange(
        report_verdicts.reported_campaign(), report_verdicts.verdict()
    )
    charts = list(blocks.charts_of(arranged))
    assert len(charts) > 10 and vega_library.drawn.cache_info() == before
    assert charts[0].svg.startswith("<svg ")
    assert vega_library.drawn.cache_info() != before


def test_labels_are_measured_in_the_font_that_comes_with_what_draws(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A font of the machine is opened for each letter."""
    files_of_fonts: list[str] = []

    def noted(spec: str) -> str:
        files_of_fonts.append(os.environ["FONTCONFIG_FILE"])
        return spec

    library = SimpleNamespace(vegalite_to_svg=noted)
    monkeypatch.setitem(sys.modules, "vl_convert", library)
    monkeypatch.setenv("FONTCONFIG_FILE", "fonts of the machine")
    vega_library._library.cache_clear()
    vega_library.drawn("a chart")
    vega_library._library.cache_clear()
    without_fonts, afterwards = files_of_fonts
    (folder,) = ElementTree.parse(without_fonts).iter("dir")
    assert not (Path(without_fonts).parent / str(folder.text)).exists()
    assert afterwards == "fonts of the machine"


def test_without_what_draws_charts_each_place_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "vl_convert", None)
    paths = concluding.write_report(
        report_verdicts.reported_campaign(), report_verdicts.verdict(), tmp_path
    )
    html, markdown = paths.html.read_text(), paths.markdown.read_text()
    assert len(paths.charts) > 10
    for path in paths.charts:
        words = [each.text for each in ElementTree.parse(path).iter() if each.text]
        assert words == ["Not drawn: what draws charts is not installed.", INSTALL]
    assert html.count(f">{INSTALL}</text>") == len(paths.charts)
    assert markdown.count("pip install 'tierbench\\[charts\\]'](charts/") == len(
        paths.charts
    )
    assert "data-chart" not in html and "vegaEmbed" not in html
