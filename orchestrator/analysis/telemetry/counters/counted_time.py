"""How long demand was above a limit, as a device counts it: when its growth cannot be true. Pure.

Such a count grows by no more than the time that passes. If another volume takes the name of the
device, its count takes the place of the first one's, and may be hours higher.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    import pandas as pd

    Seconds = np.ndarray[Any, np.dtype[np.float64]] | pd.Series[float]

# A count may be read a moment after the time that stands beside it.
_READ_LATE_S = 1.0


def is_possible(
    grown_s: Seconds, step_s: Seconds
) -> np.ndarray[Any, np.dtype[np.bool_]]:
    """For each step, whether a count can have grown by that in it. A growth that is not known
    cannot."""
    growth = np.asarray(grown_s, dtype=float)
    most = np.asarray(step_s, dtype=float) + _READ_LATE_S
    return np.logical_and(growth >= 0, growth <= most)
