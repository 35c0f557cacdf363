"""What a file may give an option, in a campaign's file and in `tierbench.yaml`.

A value of the wrong kind is refused where it stands."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from orchestrator.errors import KeyPlace, Mistake

# Options of one text in which several things are separated by commas.
_TEXTS_OF_SEVERAL = frozenset({"slo", "weights", "without", "node_size"})


def takes_several(option: Any) -> bool:
    """Whether a file may give it a list."""
    return option.multiple or option.name in _TEXTS_OF_SEVERAL


def mistakes(
    where: str,
    content: Mapping[str, Any],
    options: Mapping[str, Sequence[Any]],
) -> Iterator[Mistake]:
    """What is wrong with the values. `options`: those that have the name of a key, of one command
    or of several; keys that are none are passed over."""
    keys_by_option: dict[int, str] = {}
    for key, value in content.items():
        with_this_name = options.get(key, ())
        if not with_this_name:
            continue
        wrong = _wrong_form(value) or _wrong_kind(value, with_this_name)
        if wrong:
            yield Mistake.at(KeyPlace(where, (str(key),)), wrong)
        other = _other_key(key, with_this_name, keys_by_option)
        if other:
            wrong = f"{other} and {key} are one option: keep one of them"
            yield Mistake.at(KeyPlace(where, (str(key),)), wrong)


def _other_key(key: str, options: Sequence[Any], keys_by_option: dict[int, str]) -> str:
    """An earlier key of the file for one of these options; "" if there is none.

    `keys_by_option`: `id` of an option → its first key, which this one is added to."""
    # One of the two would be passed over if `profile` stood beside `profiles`. Another tier would
    # then be measured than the file asks for.
    for option in options:
        first = keys_by_option.setdefault(id(option), key)
        if first != key:
            return first
    return ""


def _wrong_form(value: Any) -> str:
    """Why no option takes it; "" if one may."""
    if value is None or isinstance(value, dict):
        return "expected a value, or a list of values"
    if not isinstance(value, list):
        return ""
    if not value:
        return "the list is empty: name something, or leave the key out"
    # typer would take a list within a list for the name of a tier.
    for item in value:
        if item is None or isinstance(item, (dict, list, bool)):
            return f"expected a list of names or numbers (given in it: {item!r})"
    return ""


def _wrong_kind(value: Any, options: Sequence[Any]) -> str:
    """Why none of these options takes it; "" if one does."""
    has_switch = False
    has_list = False
    for option in options:
        has_switch = has_switch or _is_switch(option)
        has_list = has_list or takes_several(option)
    # typer would take `true` for 1: one repetition.
    if isinstance(value, bool) and not has_switch:
        return "expected a value, not true or false"
    if isinstance(value, list) and not has_list:
        return f"expected one value, not a list (given: {value!r})"
    return ""


def _is_switch(option: Any) -> bool:
    return option.type_descriptor.annotation is bool


def as_given(value: Any, option: Any) -> Any:
    """The value of a key, as the command line would give it to this option."""
    if option.multiple and isinstance(value, list):
        return [str(item) for item in value]
    if option.multiple:
        return [str(value)]
    if isinstance(value, bool) and _is_switch(option):
        return value
    return in_words(value)


def in_words(value: Any) -> str:
    """`[p99 < 5 ms, nopm > 9]` → `p99 < 5 ms, nopm > 9`."""
    if isinstance(value, list):
        return ", ".join([str(item) for item in value])
    return str(value)


def why_refused(error: Exception) -> str:
    """What typer refuses, in plain words and with what was given."""
    from pydantic import ValidationError

    from orchestrator.keys import strict_records

    # typer shows the first line of pydantic's error, which is about types of Python.
    if isinstance(error.__cause__, ValidationError):
        return strict_records.what_is_wrong(error.__cause__.errors()[0])
    return str(error)
