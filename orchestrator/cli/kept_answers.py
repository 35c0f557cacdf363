"""What was found of a campaign that has ended, as its folder keeps it: no table is read for it.

`analyze`, and a campaign at its end, keep the verdict of a whole campaign with the digest of all
that it was made from (`run/judged_runs.py`). While nothing of that has changed, it is the verdict
that would be found now.
"""

from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

from orchestrator.analysis.conclusions import Verdict
from orchestrator.analysis.results import Results
from orchestrator.errors import TierbenchError
from orchestrator.keys import plain_files
from orchestrator.run import judged_runs
from orchestrator.system import store


@dataclass(frozen=True)
class KeptAnswer:
    """A campaign without its tables, and its verdict. `text`: of verdict.json."""

    campaign: Results
    verdict: Verdict
    text: str


def kept_answer(folder: Path) -> KeptAnswer | None:
    """None if none is kept, or something that it was made from has changed since."""
    if not judged_runs.kept(folder).has_verdict(folder):
        return None
    with suppress(TierbenchError):
        campaign = store.load(folder, tables=False)
        campaign = replace(campaign, checksum=store.checksum(folder))
        text = plain_files.read(folder / store.VERDICT).decode()
        return KeptAnswer(campaign, store.verdict(folder), text)
    return None
