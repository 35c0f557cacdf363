"""What a look at a platform found, before anything is started on it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Finding:
    """One thing that was looked at. `ok` None: only a campaign can tell; `text` says how."""

    subject: str
    ok: bool | None
    text: str
