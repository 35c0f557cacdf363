"""Limits of a disk as they are given on the command line, and what came of them."""

from collections.abc import Mapping, Sequence

from orchestrator.cli.common.app import App
from orchestrator.errors import UsageError


def limits_in(words: Sequence[str]) -> dict[str, float]:
    """`name=number` words → limits. UsageError for a word that is not one."""
    limits: dict[str, float] = {}
    for text in words:
        name, equals, value = text.partition("=")
        try:
            limits[name] = float(value)
        except ValueError as error:
            wrong = "has no value"
            if equals:
                wrong = "is not name=number"
            raise UsageError(
                f"{text!r} {wrong}", "for example `iops=4000 bytes_per_s=1e8`"
            ) from error
    return limits


def print_limits(
    changes: Mapping[str, float], enforced: Mapping[str, float], app: App
) -> None:
    """Prints what the disk enforces now of each limit that was changed."""
    for limit, value in changes.items():
        enforced_value = enforced.get(limit, value)
        # A float is exact to 15 digits. With fewer, bytes per second would get an exponent.
        app.out.print(f"{limit} = {enforced_value:.15g}")
