"""tierbench: which disk tier should this distributed SQL database run on?"""

from pathlib import Path

__version__ = "0.1.0"

_TREE = Path(__file__).resolve().parents[1]
IS_CHECKOUT = (_TREE / "pyproject.toml").is_file()
# The folder with images' folders, profiles and workloads as shipped: the checkout, or in a wheel.
PROJECT = _TREE / "orchestrator" / "shipped"
if IS_CHECKOUT:
    PROJECT = _TREE
