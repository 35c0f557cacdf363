"""PostgreSQL's checkpoints: how far apart by its settings, and when they were, by its log. Pure."""

from __future__ import annotations

import re
from datetime import datetime

from orchestrator.errors import UsageError
from orchestrator.units import parse_seconds

# `2026-01-01 12:19:35.470 UTC [21] LOG:  checkpoint complete: wrote 4 buffers …`: the server's own
# `log_line_prefix` and our image's time zone. Not the time in the text, which is a duration.
_COMPLETE = re.compile(
    r"^(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{3}) UTC \[\d+\] LOG:  checkpoint complete:", re.MULTILINE
)


def interval_s(setting: str) -> float:
    """`checkpoint_timeout` as a profile may write it; a bare number is in seconds there."""
    text = setting.strip().strip("'")
    try:
        return float(text) if text.isdigit() else parse_seconds(text)
    except ValueError as error:
        raise UsageError(
            f"checkpoint_timeout is {setting!r}: {error}", advice="write 30s or 5min"
        ) from error


def completed_s(log: str) -> tuple[float, ...] | None:
    """When each checkpoint was complete, in Unix seconds. None if the log has none: each run begins
    with one, so then it cannot be read, or was told not to speak of them."""
    times = (datetime.fromisoformat(f"{time}+00:00") for time in _COMPLETE.findall(log))
    return tuple(time.timestamp() for time in times) or None
