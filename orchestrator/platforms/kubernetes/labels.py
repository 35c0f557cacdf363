"""Labels and annotations of everything that tierbench makes on a cluster, and names as it allows
them."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from typing import Any

LABEL = "tierbench"
ROLE = "tierbench.role"
CAMPAIGN = "tierbench.campaign"
NAME = "tierbench.name"  # an annotation: the name as the caller knows it
NETWORK = "tierbench.network"
PLACEMENT = "tierbench.placement"
KIND = "tierbench.kind"  # of a placement: "node", "client", …
HOST, PROCESS, BEAT = "tierbench.host", "tierbench.process", "tierbench.beat"  # annotations
MARK = f"{LABEL}=1"
_LONGEST = 63  # of a DNS label, which names of pods become


def ours(campaign: str) -> dict[str, str]:
    return {LABEL: "1", CAMPAIGN: campaign}


def label_of(thing: Mapping[str, Any], label: str) -> str:
    return str((thing["metadata"].get("labels") or {}).get(label, ""))


def annotation_of(thing: Mapping[str, Any], name: str) -> str:
    return str((thing["metadata"].get("annotations") or {}).get(name, ""))


def name_of(thing: Mapping[str, Any]) -> str:
    return str(thing["metadata"]["name"])


def object_name(name: str) -> str:
    """Returns a name as a DNS label (RFC 1123): the same for the same, and unlike for unlike."""
    plain = re.sub(r"[^a-z0-9-]+", "-", name.lower()).strip("-")
    if plain == name and len(plain) <= _LONGEST:
        return plain
    digest = hashlib.sha256(name.encode()).hexdigest()[:6]
    return f"{plain[: _LONGEST - 7].strip('-')}-{digest}"
