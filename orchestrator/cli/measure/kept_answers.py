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
from orchestrator.run.progress import judged_runs
from orchestrator.system import campaign_folders, store


@dataclass(frozen=True)
class KeptAnswer:
    """A campaign without its tables, and its verdict. `text`: of verdict.json."""

    campaign: Results
    verdict: Verdict
    text: str


def kept_answer(folder: Path) -> KeptAnswer | None:
    """The kept answer. None if none is kept, or if a file that it was made from has changed."""
    # If a file cannot be read, judging anew says so, with what to do.
    with suppress(TierbenchError, OSError):
        basis = judged_runs.basis_of(folder)
        text = plain_files.read(folder / campaign_folders.VERDICT)
        if not judged_runs.kept(folder).has_verdict(basis, text):
            return None
        campaign = store.load_without_tables(folder)
        # A link or a pipe in a run's folder leaves the run out, and changes no file of it.
        if not judged_runs.is_whole(campaign):
            return None
        campaign = replace(campaign, checksum=store.checksum(folder))
        return KeptAnswer(campaign, store.verdict(folder), text.decode())
    return None
