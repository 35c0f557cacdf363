"""Times in files → Unix seconds."""

from typing import Any

import pandas as pd

_ZONED = r"(?:Z|[+-]\d\d:?\d\d)$"


def unix_s(times: "pd.Series[Any]") -> "pd.Series[float]":
    """Of Unix seconds, or of ISO 8601. ValueError without a zone."""
    times = times.infer_objects()
    if times.dtype.kind in "if":
        return times.astype(float)
    if not times.str.contains(_ZONED).all():
        raise ValueError("its times have no zone: iostat needs S_TIME_FORMAT=ISO")
    moments = pd.to_datetime(times, format="ISO8601", utc=True) - pd.Timestamp(0, tz="UTC")
    return moments.dt.total_seconds()
