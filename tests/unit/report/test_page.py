"""What a page is made of besides its document."""

from __future__ import annotations

from pathlib import Path

from orchestrator.report.rendering import page


def test_the_code_that_draws_is_kept_for_the_next_page(tmp_path: Path) -> None:
    made = page._vega(tmp_path)
    (kept,) = tmp_path.iterdir()
    assert kept.read_text(encoding="utf-8") == made
    kept.write_text("kept", encoding="utf-8")
    assert page._vega(tmp_path) == "kept"


def test_a_folder_that_cannot_be_written_does_not_matter(tmp_path: Path) -> None:
    assert page._vega(tmp_path / "none") == page._vega(None)
