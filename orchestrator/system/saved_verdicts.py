"""Whether the verdict that is kept in a campaign's folder is the one that is found now."""

import json
from pathlib import Path
from typing import Literal

from orchestrator.analysis.conclusions import Verdict
from orchestrator.errors import CutError
from orchestrator.keys import plain_files
from orchestrator.system import campaign_folders, campaign_writing, stored_json

# The content of verdict.json: this verdict, as much of it as an earlier version wrote, or another.
SavedVerdict = Literal["this one", "of an earlier version", "another"]
_ABOUT_THE_FILE = (stored_json.CHECKSUM, "schema_version")
_ALWAYS_WRITTEN = ("cells", "deltas", "decisions")


def kind(campaign: Path, verdict: Verdict) -> SavedVerdict:
    """Whether verdict.json has this verdict. Earlier versions wrote fewer keys: then all that they
    wrote has to be the same."""
    file = campaign / campaign_folders.VERDICT
    text = campaign_writing.verdict_text(verdict)
    try:
        if plain_files.read(file) == text.encode():
            return "this one"
        content = stored_json.plain(file)
    except (OSError, CutError, ValueError):
        return "another"
    # An empty object is part of every verdict, and says nothing of this one.
    for key in _ALWAYS_WRITTEN:
        if key not in content:
            return "another"
    for key in _ABOUT_THE_FILE:
        content.pop(key, None)
    if _is_part_of(content, json.loads(text)):
        return "of an earlier version"
    return "another"


def _is_part_of(earlier: object, now: object) -> bool:
    """Whether all keys of the earlier JSON, at any depth, have the same values now."""
    if isinstance(earlier, dict) and isinstance(now, dict):
        return all(
            key in now and _is_part_of(content, now[key])
            for key, content in earlier.items()
        )
    if isinstance(earlier, list) and isinstance(now, list):
        return len(earlier) == len(now) and all(map(_is_part_of, earlier, now))
    return earlier == now
