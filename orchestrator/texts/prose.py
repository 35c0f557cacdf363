"""Counts and lists as a sentence has them: `2 runs`, `a, b and c`."""

from collections.abc import Mapping, Sequence

_FEW = 5  # examples shown of many things of which the same is said


def capitalized(text: str) -> str:
    """The text with a capital at the start."""
    return text[:1].upper() + text[1:]


def yes_or_no(is_so: bool) -> str:
    if is_so:
        return "yes"
    return "no"


def counted(number: int, noun: str) -> str:
    """`1 run`, `2 runs`."""
    if number == 1:
        return f"{number} {noun}"
    return f"{number} {noun}s"


def with_article(noun: str) -> str:
    """`a prediction`, `an observation`."""
    if noun[:1] in "aeiou":
        return f"an {noun}"
    return f"a {noun}"


def all_of(number: int, noun: str) -> str:
    """`both workloads`, `all 3 workloads`."""
    if number == 2:
        return f"both {noun}s"
    return f"all {counted(number, noun)}"


def listed(words: Sequence[str]) -> str:
    """`a`, `a and b`, `a, b and c`."""
    if len(words) < 2:
        return "".join(words)
    first = ", ".join(words[:-1])
    return f"{first} and {words[-1]}"


def first_few(texts: Sequence[str]) -> list[str]:
    """The first five, and behind them how many more there are: `995 more`."""
    few = list(texts[:_FEW])
    more = len(texts) - len(few)
    if more:
        few.append(f"{more:,} more")
    return few


def attributed(text: str, name: str | None) -> str:
    """`premium: text`; the text alone where it is about nothing in particular."""
    if name:
        return f"{name}: {text}"
    return text


def named(values: Mapping[str, int | float | str]) -> str:
    """Values behind their names: `tables 4, table_size 2,000,000`."""
    texts: list[str] = []
    for name, value in values.items():
        if isinstance(value, int):
            texts.append(f"{name} {value:,}")
        else:
            texts.append(f"{name} {value}")
    return ", ".join(texts)
