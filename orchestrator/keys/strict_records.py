"""Mappings → checked records. An unknown key and a wrong value are refused, all mistakes of a file
at once, each with its path. `yaml_text` makes mappings of text."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from pydantic import BaseModel, ConfigDict, GetCoreSchemaHandler, ValidationError
from pydantic_core import CoreSchema
from pydantic_core.core_schema import no_info_after_validator_function

from orchestrator.errors import KeyPlace, Mistake, MistakeKind
from orchestrator.keys.near_keys import keys_at, nearest
from orchestrator.keys.refusals import refused
from orchestrator.keys.secret_names import is_secret_key
from orchestrator.texts.foreign_text import short
from orchestrator.units import OtherFormError

_Record = TypeVar("_Record", bound=BaseModel)
_Location = tuple[int | str, ...]


class Strict(BaseModel):
    """What a file says: an unknown key and an infinite number are refused."""

    # A misspelt key would silently leave its limit out, and NaN compares with nothing.
    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)


@dataclass(frozen=True)
class ReadBy:
    """For a field whose record has the fields of `model`.

    The model checks what the file says, which then becomes the record. An alias in the model is the
    key in the file.
    """

    model: type[Strict]

    def __get_pydantic_core_schema__(
        self, record: Callable[..., Any], handler: GetCoreSchemaHandler
    ) -> CoreSchema:
        def build(read: Strict) -> Any:
            return record(**dict(read))

        keys = handler.generate_schema(self.model)
        return no_info_after_validator_function(build, keys)


def validate(
    record: type[_Record], place: KeyPlace, content: object, context: object = None
) -> _Record:
    """Makes a `record` of `content`. Raises UsageError with every mistake, each with its path."""
    try:
        return record.model_validate(content, context=context)
    except ValidationError as error:
        raise refused(_mistakes(record, place, error.errors())) from error


def _mistakes(
    record: type[BaseModel], place: KeyPlace, wrong: Sequence[Mapping[str, Any]]
) -> Iterator[Mistake]:
    """The mistakes that pydantic found.

    A missing key is left out if a misspelt one seems to stand for it.
    """
    meant = {error["loc"]: _meant(record, error, wrong) for error in wrong}
    for error in wrong:
        location = error["loc"]
        # One slip of the pen is told once: as the unknown key, with the one that was meant.
        if error["type"] == "missing" and location in meant.values():
            continue
        kind: MistakeKind = ""
        if error["type"] == "extra_forbidden":
            kind = "unknown name"
        what = _say(error, meant[location])
        where = place.below(*map(str, location))
        if where.keys:
            yield Mistake.at(where, what, kind)
        else:
            yield Mistake(f"{where}: (the whole file)", what, kind, place=where)


def _meant(
    record: type[BaseModel], error: Mapping[str, Any], errors: Sequence[Any]
) -> _Location:
    """The place of the key that a misspelt one seems to stand for, beside it; or an empty one."""
    if error["type"] != "extra_forbidden":
        return ()
    *above, key = error["loc"]
    missing = set()
    for other in errors:
        *above_other, name = other["loc"]
        if other["type"] == "missing" and above_other == above:
            missing.add(str(name))
    # A key that is needed and not there is likelier than one that may be left out.
    near = nearest(key, missing) or nearest(key, keys_at(record, above))
    if near:
        return (*above, near)
    return ()


def _say(error: Mapping[str, Any], meant: _Location) -> str:
    if error["type"] == "extra_forbidden":
        if meant:
            return f"unknown key: did you mean {meant[-1]}?"
        return "unknown key"
    if error["type"] == "missing":
        return "this key is missing"
    if _is_of_a_secret(error):
        return _without_the_value(error)
    # Nobody needs to be told all that is in a mapping.
    if isinstance(error["input"], Mapping):
        return _expected(error)
    return what_is_wrong(error)


def _without_the_value(error: Mapping[str, Any]) -> str:
    """What is wrong with a secret, which may stand in the words of the one who refuses it."""
    refusal = _refusal(error)
    if isinstance(refusal, OtherFormError):
        return refusal.expected
    if refusal is not None:
        return "this value cannot be taken"
    return _expected(error)


def _is_of_a_secret(error: Mapping[str, Any]) -> bool:
    """Whether it lies in the value of a key that is named as a secret."""
    return any(is_secret_key(str(part)) for part in error["loc"])


def what_is_wrong(error: Mapping[str, Any]) -> str:
    """`expected a whole number (given: 'five')`, of an error of pydantic's."""
    if isinstance(_refusal(error), OtherFormError):
        return _expected(error)  # which says what was given
    return f"{_expected(error)} (given: {short(error['input'])})"


def _expected(error: Mapping[str, Any]) -> str:
    """What is wrong in plain words; in pydantic's, where there are no others."""
    refusal = _refusal(error)
    if refusal is not None:
        return str(refusal)
    text = _plain(error["type"], error.get("ctx", {}))
    return text or str(error["msg"])


def _refusal(error: Mapping[str, Any]) -> ValueError | None:
    """The error of ours that pydantic has caught, if it is one."""
    if error["type"] == "value_error":
        refusal: ValueError = error["ctx"]["error"]
        return refusal
    return None


# Kinds of mistakes, as pydantic names them → in plain words.
_PLAIN: Mapping[str, str] = {
    "int_parsing": "expected a whole number",
    "int_type": "expected a whole number",
    "int_from_float": "expected a whole number",
    "float_parsing": "expected a number",
    "float_type": "expected a number",
    "decimal_parsing": "expected a number",
    "bool_parsing": "expected true or false",
    "string_type": "expected a text",
    "tuple_type": "expected a list",
    "dict_type": "expected keys and their values",
    "mapping_type": "expected keys and their values",
    "model_type": "expected keys and their values",
    "invalid_key": "a key must be a text; a comma in a number, as in 5,000, begins a "
    "new key",
}


def _plain(kind: str, context: Mapping[str, Any]) -> str:
    """A mistake in plain words, or an empty text where pydantic's own are to be said."""
    match kind:
        case "literal_error":
            return f"expected {context['expected']}"
        case "greater_than":
            return f"expected more than {context['gt']:,.12g}"
        case "greater_than_equal":
            return f"expected at least {context['ge']:,.12g}"
        case "less_than":
            return f"expected less than {context['lt']:,.12g}"
        case "less_than_equal":
            return f"expected at most {context['le']:,.12g}"
    return _PLAIN.get(kind, "")
