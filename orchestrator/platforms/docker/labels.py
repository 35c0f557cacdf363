"""Labels of everything that tierbench makes on an engine, by which it is found later."""

from __future__ import annotations

from typing import Any

LABEL = "tierbench"
ROLE = "tierbench.role"
CAMPAIGN = "tierbench.campaign"
STANDING = "tierbench.standing"  # on what stays until it is taken down by its name
MARK = f"{LABEL}=1"
OURS: dict[str, Any] = {"label": MARK}
STANDS: dict[str, Any] = {"label": [MARK, STANDING]}
