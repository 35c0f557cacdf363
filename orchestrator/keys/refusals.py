"""Mistakes in what a person wrote: all of them at once, as one UsageError."""

import difflib
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace

from orchestrator.errors import KeyPlace, Mistake, UsageError


def refused(mistakes: Iterable[Mistake], advice: str = "") -> UsageError:
    """Makes one error of all mistakes. `advice`: instead of what follows from them."""
    together = tuple(mistakes)
    count = "one mistake"
    if len(together) > 1:
        count = f"{len(together)} mistakes"
    return UsageError(
        f"{count} found; nothing was started",
        advice=advice or _advice(together),
        mistakes=together,
    )


def _advice(mistakes: Sequence[Mistake]) -> str:
    parts = ["correct it"]
    if len(mistakes) > 1:
        parts = ["correct them"]
    # Names are looked up; all else is corrected by its own words.
    if any(_is_listed(mistake) for mistake in mistakes):
        parts.append("`tierbench list` and `tierbench tiers list` show names")
    hints = dict.fromkeys(mistake.hint for mistake in mistakes if mistake.hint)
    return "; ".join([*parts, *hints])


def _is_listed(mistake: Mistake) -> bool:
    """Whether the lists of names have what was meant. No list has what needs a hint of its own."""
    return mistake.kind == "unknown name" and not mistake.hint


@contextmanager
def collecting(mistakes: list[Mistake]) -> Iterator[None]:
    """Adds the mistakes of a UsageError raised inside to the list instead of passing it on."""
    try:
        yield
    except UsageError as error:
        mistakes.extend(error.mistakes or (Mistake("", error.what),))


def raise_all(mistakes: list[Mistake]) -> None:
    """Raises one UsageError for all collected mistakes, if there are any."""
    if mistakes:
        raise refused(mistakes)


def unknown_name(
    where: KeyPlace | str,
    kind: str,
    name: str,
    names: Iterable[str],
    where_listed: str = "",
) -> Mistake:
    """The mistake of an unknown name, with the words of `unknown`."""
    return Mistake.at(where, unknown(kind, name, names, where_listed), "unknown name")


def unknown_scale(where: KeyPlace | str, scale: str, scales: Iterable[str]) -> Mistake:
    """The mistake of a scale that a file does not have."""
    mistake = unknown_name(where, "scale", scale, scales)
    return replace(mistake, hint="give `--scale` one of the known names")


def near_names(name: str, options: Sequence[str]) -> list[str]:
    """The options for which the name may be a slip of the pen."""
    # Another case alone is surely meant; `difflib` takes it for another letter.
    near = [option for option in options if option.lower() == name.lower()]
    return near or difflib.get_close_matches(name, options, n=3, cutoff=0.5)


def did_you_mean(name: str, options: Sequence[str]) -> str:
    """`did you mean ultra? `, with a space behind it; empty if none is near."""
    near = near_names(name, options)
    if not near:
        return ""
    return f"did you mean {' or '.join(near)}? "


def unknown(kind: str, name: str, names: Iterable[str], where_listed: str = "") -> str:
    """Makes the message for a name that is none of `names`. `where_listed`: says where all are."""
    options = sorted(names)
    hint = did_you_mean(name, options)
    listed = ", ".join(options) or "none"
    return f"unknown {kind} {name!r}; {hint}{where_listed or f'known: {listed}'}"
