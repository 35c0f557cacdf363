"""What the value of an option or parameter must be, by its name, which load generators share."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from orchestrator.load_generators.common.sysbench_console import DISTRIBUTIONS, PREPARED
from orchestrator.units import short

TRANSACTION_TYPES = 5
_SWITCH = ("on", "off")
_SWITCHES = "create_secondary foreign_keys analyze skip_trx secondary auto_inc range_selects"
_WORDS: Mapping[str, tuple[str, ...]] = {
    **dict.fromkeys(_SWITCHES.split(), _SWITCH),
    "batches": (*_SWITCH, "auto"),
    "isolation": ("read uncommitted", "read committed", "repeatable read", "serializable"),
    "rand_type": DISTRIBUTIONS,
    "sharding": ("hash", "range"),
    "think": ("none", "spec"),
    PREPARED: ("auto", "disable"),
}
_NUMBERS = ("arrival_rate", "rand_pareto_h", "warmup", "measure")  # all others are whole
_ABOVE_0 = (
    *("tables", "table_size", "warehouses", "slice_rows", "max_attempts", "threads"),
    *("range_size", "delta", "random_points", "number_of_ranges"),
)


def misfit(key: str, value: Any) -> str:
    """What is wrong with the value of a key that its load generator takes; "" if nothing is."""
    if key == "weights":
        words = str(value).split(",")
        fits = len(words) == TRANSACTION_TYPES and all(word.strip().isdecimal() for word in words)
        kind = f"{TRANSACTION_TYPES} whole numbers, separated by commas, not all 0"
        return "" if fits and any(map(int, words)) else f"is {kind}, not {short(value)}"
    if key in _WORDS:
        words = [*_WORDS[key], *((0, 1, "true", "false") if "off" in _WORDS[key] else ())]
        named = ", ".join(_WORDS[key])
        given = str(value).lower() if key == "isolation" else value  # True is 1
        return "" if given in words else f"is one of {named}, not {short(value)}"
    least, number = int(key in _ABOVE_0), key in _NUMBERS
    if type(value) in ((int, float) if number else (int,)) and least <= value < float("inf"):
        return ""
    return f"is a {'' if number else 'whole '}number, {least} or more, not {short(value)}"
