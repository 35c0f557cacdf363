"""The catalog of disk tiers and VM sizes (`profiles/catalog/*.yaml`): facts, rules, prices.

Pure: texts in, rows and Tiers out. `read` the texts; `choose` a row with its parameters; hold it
against a VM with `effective`; `tiers` and `vms` list. docs/CATALOG.md says what a row holds."""

from orchestrator.tier_catalog.catalog import Catalog as Catalog
from orchestrator.tier_catalog.catalog import read as read
from orchestrator.tier_catalog.catalog import tiers as tiers
from orchestrator.tier_catalog.catalog import vms as vms
from orchestrator.tier_catalog.choosing import Chosen as Chosen
from orchestrator.tier_catalog.choosing import choose as choose
from orchestrator.tier_catalog.choosing import names_a_row as names_a_row
from orchestrator.tier_catalog.choosing import own as own
from orchestrator.tier_catalog.effective import bound as bound
from orchestrator.tier_catalog.effective import effective as effective
from orchestrator.tier_catalog.effective import striped as striped
from orchestrator.tier_catalog.prices import with_prices as with_prices
