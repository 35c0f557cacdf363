"""The real files of profiles/catalog, and what a profile's `tier` chooses from them."""

from __future__ import annotations

from typing import Any

import pytest

from orchestrator import tier_catalog
from orchestrator.errors import UsageError
from orchestrator.tier_catalog import Chosen
from tests import ROOT

MIB, GIB, TIB, MB = 2**20, 2**30, 2**40, 10**6
CATALOG = tier_catalog.read(
    {file.name: file.read_text() for file in (ROOT / "profiles/catalog").glob("*.yaml")}
)


def chosen(wanted: object) -> Chosen:
    return tier_catalog.choose(CATALOG, wanted, "a-profile")


def price_of(catalog: tier_catalog.Catalog, wanted: object) -> Any:
    """Of what a profile's `tier` chooses from the catalog."""
    return tier_catalog.choose(catalog, wanted, "tier").tier.price


def mistakes(wanted: object) -> dict[str, str]:
    """Where → what, of a choice that is refused."""
    with pytest.raises(UsageError) as refusal:
        chosen(wanted)
    return {mistake.where: mistake.what for mistake in refusal.value.mistakes}


def at(type_: str, size: str, **more: object) -> dict[str, object]:
    return {"type": type_, "size": size, **more}
