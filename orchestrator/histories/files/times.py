"""Times as other programs write them → Unix seconds."""

from typing import Any

import pandas as pd

from orchestrator.histories.files.texts import FormError

_ZONED = r"(?:Z|[+-]\d\d:?\d\d)$"


def unix_s(times: "pd.Series[Any]") -> "pd.Series[float]":
    """Of Unix seconds, or of ISO 8601. FormError without a zone."""
    if times.dtype.kind in "if":
        return times.astype(float)
    if not times.str.contains(_ZONED).all():
        raise FormError(
            "its times have no zone",
            "iostat needs S_TIME_FORMAT=ISO before it; a CSV Z or +01:00 behind each time",
        )
    moments = pd.to_datetime(times, format="ISO8601", utc=True)
    since_epoch = moments - pd.Timestamp(0, tz="UTC")
    return since_epoch.dt.total_seconds()
