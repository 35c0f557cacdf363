"""Data sets of the TPC-C-derived mix, ours and those of extensions. Pure."""

from orchestrator.model import Dataset

FAMILY = "tpcc"


def is_tpcc_derived(dataset: Dataset) -> bool:
    """Whether transactions on it have types, of which New-Orders are counted."""
    return FAMILY in (dataset.family, dataset.like)
