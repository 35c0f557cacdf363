"""That the type checker refuses what once passed it: names that nothing but a run would miss.

Words and parameters that were strings and keywords of any name are typed now. Each of
`MISTAKES` is one in a line that is right otherwise; mypy must report each of them, and nothing
in the lines that are right.
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests import ROOT

pytestmark = pytest.mark.program

HEAD = """\
from orchestrator.analysis.decisions.contest_rules import Circumstances
from orchestrator.analysis.doubts import noted
from orchestrator.analysis.telemetry.use.node_values import Evidence
from orchestrator.planning.plan import RunMatrix
"""
# A line that is right → the same with a misspelt name.
MISTAKES = {
    'RunMatrix([], [], scale="smoke", aa=False)': 'RunMatrix([], [], scael="smoke", aa=False)',
    "Circumstances(at_ceiling=True)": ("Circumstances(at_cieling=True)"),
    'noted.teardown(run=1, why="it stayed")': 'noted.teardown(run=1, wy="it stayed")',
    "noted.clock_set(1, 2.5)": "noted.clock_sett(1, 2.5)",
    "print(Evidence().cpu.cpu_pct)": "print(Evidence().cpu.cpu_pc)",
}


def reported(folder: Path, *files: str) -> set[str]:
    """`planted.py:4` for each line that mypy reports; it shares the cache of the whole tree."""
    checked = subprocess.run(
        [sys.executable, "-m", "mypy", *[str(folder / file) for file in files]],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert checked.returncode in (0, 1), checked.stdout + checked.stderr
    lines = re.findall(r"^(\S+?):(\d+): error:", checked.stdout, re.M)
    return {f"{Path(file).name}:{line}" for file, line in lines}


def test_every_misspelt_name_is_reported_and_nothing_else(tmp_path: Path) -> None:
    (tmp_path / "sound.py").write_text(HEAD + "\n".join(MISTAKES) + "\n")
    (tmp_path / "planted.py").write_text(HEAD + "\n".join(MISTAKES.values()) + "\n")
    first = HEAD.count("\n") + 1
    lines = range(first, first + len(MISTAKES))
    expected = {f"planted.py:{line}" for line in lines}
    assert reported(tmp_path, "sound.py", "planted.py") == expected
