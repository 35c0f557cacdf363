"""Where the page of a stored campaign is, and whether it has the answer that is shown."""

import shlex
from pathlib import Path

from orchestrator import report
from orchestrator.system.saved_verdicts import SavedVerdict


def where_the_page_is(folder: Path, saved: SavedVerdict) -> str:
    """Where the page is that was written before.

    If it is not there, or does not have the verdict that is shown, the text says what to do.
    `saved`: which verdict was kept with it.
    """
    # `report` writes nothing, so a page may be missing, or older than what is judged now.
    page = folder / report.PAGE
    again = f"`tierbench analyze {shlex.quote(str(folder))}`"
    if not page.is_file():
        return f"report: none was written; {again} writes it"
    line = f"report: {page.resolve()}"
    if saved == "another":
        return f"{line} does not have this answer; {again} writes it again"
    if saved == "of an earlier version":
        earlier = "was written by an earlier version of tierbench"
        return f"{line} {earlier}; {again} writes it again"
    return line
