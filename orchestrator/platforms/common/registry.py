"""The registry through which our images come to platforms that do not build them."""

from __future__ import annotations

import os

VARIABLE = "TIERBENCH_REGISTRY"
_OURS = "tierbench/"


def prefix() -> str:
    """Returns the prefix under which our images are pushed and pulled; "" without a registry."""
    return os.environ.get(VARIABLE, "").rstrip("/")


def name_of(tag: str) -> str:
    """Returns the name of an image of ours in the registry; any other as it is."""
    return f"{prefix()}/{tag}" if prefix() and tag.startswith(_OURS) else tag
