"""Labels of all that we make on an engine: found by them later, whoever made it."""

from __future__ import annotations

from typing import Any

LABEL = "tierbench"
ROLE = "tierbench.role"
CAMPAIGN = "tierbench.campaign"
MARK = f"{LABEL}=1"
OURS: dict[str, Any] = {"label": MARK}
