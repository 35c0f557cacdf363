"""The catalog of disk tiers and VM sizes (`profiles/catalog/*.yaml`): facts, rules, prices.

Pure: texts in, rows and Tiers out. `read` the texts; `choose` a row with its parameters; hold it
against a VM with `effective`; `tiers` and `vms` list. docs/CATALOG.md says what a row holds."""

from orchestrator.tier_catalog.buying import Chosen
from orchestrator.tier_catalog.catalog import Catalog, read
from orchestrator.tier_catalog.choosing import choose, names_a_row, own
from orchestrator.tier_catalog.effective import bound, effective, striped
from orchestrator.tier_catalog.listing import tiers, vms
from orchestrator.tier_catalog.price_lists import with_prices

__all__ = [
    "Catalog",
    "Chosen",
    "bound",
    "choose",
    "effective",
    "names_a_row",
    "own",
    "read",
]
__all__ += ["striped", "tiers", "vms", "with_prices"]
