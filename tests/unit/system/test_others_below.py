"""What is neither a plain file nor a folder is found, and a link is never followed."""

from __future__ import annotations

import os
from pathlib import Path

from orchestrator.keys import plain_files


def test_links_and_pipes_are_found_at_any_depth_and_not_followed(
    tmp_path: Path,
) -> None:
    folder = tmp_path / "campaign"
    (folder / "runs/001").mkdir(parents=True)
    (folder / "plan.json").write_text("{}")
    elsewhere = tmp_path / "elsewhere"
    (elsewhere / "deep").mkdir(parents=True)
    os.mkfifo(elsewhere / "deep/pipe")
    (folder / "to-a-folder").symlink_to(elsewhere)
    (folder / "runs/to-a-file").symlink_to(folder / "plan.json")
    os.mkfifo(folder / "runs/001/pipe")
    assert set(plain_files.others_below(folder)) == {
        folder / "to-a-folder",
        folder / "runs/to-a-file",
        folder / "runs/001/pipe",
    }
