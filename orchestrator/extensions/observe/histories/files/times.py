"""Times as other programs write them → Unix seconds."""

import re
from typing import Any

import pandas as pd

from orchestrator.extensions.observe.histories.files.texts import FormError

# Two digits behind a time of the day are a zone. Two behind a year and a month are a day.
_ZONED = re.compile(r"(?:Z|[+-]\d\d:?\d\d|:\d\d(?:\.\d+)?[+-]\d\d)$")
ISO_WITH_ZONE = (
    "write Z or +01:00 behind each time; iostat does with S_TIME_FORMAT=ISO before it"
)


def unix_s(times: "pd.Series[Any]") -> "pd.Series[float]":
    """Unix seconds, from numbers or from ISO 8601.

    FormError if a zone is missing, or for another form.
    """
    if times.dtype.kind in "if":
        return times.astype(float)
    written = times.astype(str)
    if not written.map(has_zone).all():
        raise FormError("its times have no zone", ISO_WITH_ZONE)
    moments = pd.to_datetime(written, format="ISO8601", utc=True, errors="coerce")
    if moments.isna().any():
        value = written[moments.isna()].iloc[0]
        raise FormError(
            f"`{value}` is not an ISO 8601 time", "write it as 2026-02-01T06:00:00Z"
        )
    since_epoch = moments - pd.Timestamp(0, tz="UTC")
    return since_epoch.dt.total_seconds()


def has_zone(written: str) -> bool:
    """Whether a time in ISO 8601 has a zone."""
    return _ZONED.search(written) is not None
