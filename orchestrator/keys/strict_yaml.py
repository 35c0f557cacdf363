"""YAML text → checked records: a key given twice, an unknown key and a wrong value are refused, all
mistakes of a file at once, each with its path. Any text gives a mapping or a UsageError."""

import difflib
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from copy import deepcopy
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from importlib import resources
from typing import Any, NamedTuple, TypeVar

import yaml
from pydantic import BaseModel, ConfigDict, GetCoreSchemaHandler, ValidationError
from pydantic_core import CoreSchema
from pydantic_core.core_schema import no_info_after_validator_function

from orchestrator.errors import Mistake, MistakeKind, UsageError
from orchestrator.keys.near_keys import keys_at, nearest
from orchestrator.keys.secret_names import is_secret_key
from orchestrator.units import MOST, short

_Record = TypeVar("_Record", bound=BaseModel)
_Place = tuple[int | str, ...]


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


def written(content: Mapping[str, Any]) -> str:
    """The content as YAML, in its own order."""
    return yaml.safe_dump(
        dict(content), sort_keys=False, default_flow_style=False, width=100
    )


_TEXT = "tag:yaml.org,2002:str"
_NO_SECRETS = ("tag:yaml.org,2002:bool", "tag:yaml.org,2002:null")


class _Constructor(yaml.constructor.SafeConstructor):
    """What PyYAML takes silently is a mistake at its place: equal keys, no real day or number. A
    secret is text: `0123` would be another number, and a mistake in it would show it."""

    def construct_object(self, node: yaml.Node, deep: bool = False) -> Any:
        try:
            value = super().construct_object(node, deep)
        # PyYAML takes 2026-02-31 for a date by its form, and Python then refuses the day.
        except (ValueError, TypeError, LookupError, AttributeError) as error:
            _, _, kind = node.tag.rpartition(":")
            raise _at(node, f"this is no {kind}: {short(node.value)}") from error
        # Written so, `.nan` is refused too, which is not below anything.
        if isinstance(value, (int, float)) and not abs(value) < MOST:
            raise _at(node, f"no key takes this number: {short(node.value)}")
        return value

    def construct_mapping(
        self, node: yaml.MappingNode, deep: bool = False
    ) -> dict[Any, Any]:
        seen: set[Any] = set()
        for key_node, value_node in node.value:
            if not isinstance(key_node, yaml.ScalarNode):
                raise _at(key_node, "a list or a mapping cannot be a key")
            key = self.construct_object(key_node, deep=True)
            if key in seen:
                raise _at(key_node, f"the key {short(key)} stands twice")
            seen.add(key)
            if is_secret_key(str(key)) and _may_be_a_secret(value_node):
                value_node.tag = _TEXT
        return super().construct_mapping(node, deep)


class _Loader(_Constructor, yaml.SafeLoader):
    """Tells every mistake with its place."""


# libyaml takes some texts with these characters that PyYAML refuses, such as those with a tab, or
# reads them otherwise.
_READ_OTHERWISE = re.compile("[\t!?|>\x85\u2028\u2029\ufeff]")


def _quickly_read(text: str) -> object:
    """What `_Loader` reads of this text, in a fifth of the time; None if that has to be asked.

    It is to be asked for every mistake, whose words and place are its own.
    """
    # PyYAML may have been built without libyaml.
    if not yaml.__with_libyaml__ or _READ_OTHERWISE.search(text):
        return None
    try:
        loader = _quick_loader()(text)
        node = loader.get_single_node()
        if node is None:
            return None
        return loader.construct_object(node, deep=True)
    except (yaml.YAMLError, ValueError, OverflowError, RecursionError):
        return None


@cache
def _quick_loader() -> type[Any]:
    """Events of libyaml, of which PyYAML makes nodes: libyaml's own way to them has no end for
    lists that are nested too deeply."""

    class _Quick(yaml.composer.Composer, _Constructor, yaml.CSafeLoader):
        def __init__(self, text: str) -> None:
            yaml.CSafeLoader.__init__(self, text)
            yaml.composer.Composer.__init__(self)

    return _Quick


def _point(where: str, mark: yaml.Mark) -> str:
    return f"{where}:{mark.line + 1}:{mark.column + 1}"


def _may_be_a_secret(node: yaml.Node) -> bool:
    """No list or mapping, and neither yes nor no: a manifest may say whether there is a token."""
    return isinstance(node, yaml.ScalarNode) and node.tag not in _NO_SECRETS


def _at(node: yaml.Node, problem: str) -> yaml.MarkedYAMLError:
    return yaml.MarkedYAMLError(problem=problem, problem_mark=node.start_mark)


def parse(where: str, text: str) -> dict[str, Any]:
    """Parses `text` (of the file `where`) into a mapping. Raises UsageError."""
    # A copy, because callers change what they get, and the next one gets the same.
    return deepcopy(_parsed(where, text))


@cache
def shipped(package: str, name: str) -> Mapping[str, Any]:
    """What the YAML file of that name holds that stands beside the modules of a package."""
    file = resources.files(package) / name
    return parse(name, file.read_text(encoding="utf-8"))


def filled(content: Any, values: Mapping[str, Any]) -> Any:
    """Content of a shipped file with the values that its texts `$name` stand for. Where that is
    None, or none is given, its key is left out, and so is what has nothing else in it; a null of
    the file stays."""
    if isinstance(content, str) and content.startswith("$"):
        return deepcopy(values.get(content[1:]))  # a value may stand twice
    if isinstance(content, Mapping):
        mapping = {}
        for key, part in content.items():
            value = filled(part, values)
            if value is not None or part is None:
                mapping[key] = value
        return mapping or None
    if isinstance(content, list):
        entries = []
        for part in content:
            value = filled(part, values)
            if value is not None:
                entries.append(value)
        return entries or None
    return content


@lru_cache(maxsize=64)
def _parsed(where: str, text: str) -> dict[str, Any]:
    """Once for each text: all profiles of a campaign read the same clusters."""
    content = _quickly_read(text)
    if isinstance(content, dict):
        return content
    return _read(where, text)


def _read(where: str, text: str) -> dict[str, Any]:
    try:
        loader = _Loader(text)
    except yaml.YAMLError as error:  # a character that no YAML may hold has no mark
        raise refused([Mistake(where, str(error).splitlines()[0])]) from error
    try:
        node = loader.get_single_node()
        # All at once (deep): what holds itself is refused then, and not left for later.
        content = None
        if node is not None:
            content = loader.construct_object(node, deep=True)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or loader.get_mark()
        problem = _in_our_words(str(error.problem))
        raise refused([Mistake(_point(where, mark), problem)]) from error
    except RecursionError as error:
        raise refused(
            [Mistake(where, "lists or mappings are nested too deeply")]
        ) from error
    # PyYAML hands an escape such as `\UFFFFFFFF` to `chr`, which refuses it.
    except (ValueError, OverflowError) as error:
        problem = "an escape that stands for no character"
        raise refused([Mistake(_point(where, loader.get_mark()), problem)]) from error
    if node is None:
        # A file of comments alone has no node either.
        raise refused([Mistake(where, "the file is empty")])
    if not isinstance(content, dict):
        raise refused([Mistake(where, "expected a mapping of keys to values")])
    return content


def _in_our_words(problem: str) -> str:
    """What PyYAML says. Of an alias and an anchor not their names: a password may begin so."""
    # PyYAML speaks of a character that cannot start any token.
    if "'\\t'" in problem:
        return "a tab: indent with spaces"
    if problem.startswith("found undefined alias"):
        return "a text that begins with `*` stands in quotes"
    if problem.startswith("found duplicate anchor"):
        return "a text that begins with `&` stands in quotes"
    return problem


def validate(
    record: type[_Record], where: str, content: object, context: object = None
) -> _Record:
    """Makes a `record` of `content`. Raises UsageError with every mistake, each with its path."""
    try:
        return record.model_validate(content, context=context)
    except ValidationError as error:
        raise refused(_mistakes(record, where, error.errors())) from error


def _mistakes(
    record: type[BaseModel], where: str, wrong: Sequence[Mapping[str, Any]]
) -> Iterator[Mistake]:
    """The mistakes that pydantic found.

    A missing key is left out if a misspelt one seems to stand for it.
    """
    meant = {error["loc"]: _meant(record, error, wrong) for error in wrong}
    for error in wrong:
        place = error["loc"]
        # One slip of the pen is told once: as the unknown key, with the one that was meant.
        if error["type"] == "missing" and place in meant.values():
            continue
        kind: MistakeKind = ""
        if error["type"] == "extra_forbidden":
            kind = "unknown name"
        yield Mistake(_place(where, place), _say(error, meant[place]), kind)


def _meant(
    record: type[BaseModel], error: Mapping[str, Any], errors: Sequence[Any]
) -> _Place:
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
    if any(mistake.kind == "unknown name" for mistake in mistakes):
        parts.append("`tierbench list` and `tierbench tiers list` show names")
    hints = dict.fromkeys(mistake.hint for mistake in mistakes if mistake.hint)
    return "; ".join([*parts, *hints])


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


def with_line(mistake: Mistake, texts: Mapping[str, str]) -> Mistake:
    """The mistake with the line of its key, or of the nearest key above it that its file has.

    `texts`: the files' texts, each by the name that mistakes in it begin with.
    """
    file, _, path = mistake.where.partition(": ")
    if not path or file not in texts:
        return mistake
    line = None
    # The text is read again only where there is a mistake. Reading each file twice would take twice
    # as long.
    node: yaml.Node | None = yaml.compose(texts[file], yaml.SafeLoader)
    for part in path.split("."):
        entry = _entry(node, part)
        if entry is None:
            break
        line = entry.begin.start_mark.line + 1
        node = entry.value
    if line:
        return replace(mistake, where=f"{file}:{line}: {path}")
    return mistake


class _Entry(NamedTuple):
    """What stands in a list or a mapping. `begin`: where: its key, or itself."""

    begin: yaml.Node
    value: yaml.Node


def _entry(node: yaml.Node | None, part: str) -> _Entry | None:
    """The entry of that number or key, if there is one."""
    if isinstance(node, yaml.SequenceNode) and part.isdigit():
        # The loop has at most one turn, and none where the list is not that long.
        for item in node.value[int(part) :]:
            return _Entry(item, item)
    if isinstance(node, yaml.MappingNode):
        for key, value in node.value:
            if key.value == part:
                return _Entry(key, value)
    return None


def unknown_name(
    where: str, kind: str, name: str, names: Iterable[str], where_listed: str = ""
) -> Mistake:
    """The mistake of an unknown name, with the words of `unknown`."""
    return Mistake(where, unknown(kind, name, names, where_listed), "unknown name")


def near_names(name: str, options: Sequence[str]) -> list[str]:
    """The options for which the name may be a slip of the pen."""
    # Another case alone is surely meant; `difflib` takes it for another letter.
    near = [option for option in options if option.lower() == name.lower()]
    return near or difflib.get_close_matches(name, options, n=3, cutoff=0.5)


def unknown(kind: str, name: str, names: Iterable[str], where_listed: str = "") -> str:
    """Makes the message for a name that is none of `names`. `where_listed`: says where all are."""
    options = sorted(names)
    near = near_names(name, options)
    hint = ""
    if near:
        hint = f"did you mean {' or '.join(near)}? "
    listed = ", ".join(options) or "none"
    return f"unknown {kind} {name!r}; {hint}{where_listed or f'known: {listed}'}"


def _place(where: str, location: tuple[int | str, ...]) -> str:
    path = ".".join(str(part) for part in location)
    if where.endswith(": "):  # a file, not a key in it
        return f"{where}{path or '(the whole file)'}"
    if path:
        return f"{where}.{path}"
    return where


def _say(error: Mapping[str, Any], meant: _Place) -> str:
    if error["type"] == "extra_forbidden":
        if meant:
            return f"unknown key: did you mean {meant[-1]}?"
        return "unknown key"
    if error["type"] == "missing":
        return "this key is missing"
    text = _plain(error["type"], error.get("ctx", {}))
    text = text or error["msg"].removeprefix("Value error, ")
    if _is_of_a_secret(error):
        # The given value stands behind `got`, and may be the secret.
        expected, _, _ = text.partition(", got ")
        return expected
    # Nobody needs to be told all that is in a mapping; some texts say it themselves.
    if isinstance(error["input"], Mapping) or "got" in text:
        return text
    return f"{text} (given: {short(error['input'])})"


def _is_of_a_secret(error: Mapping[str, Any]) -> bool:
    """Whether it lies in the value of a key that is named as a secret."""
    return any(is_secret_key(str(part)) for part in error["loc"])


def of_another_kind(error: Mapping[str, Any]) -> str:
    """`expected a whole number (given: 'five')`, of an error of pydantic's; "" of one that has
    words of ours."""
    text = _plain(error["type"], error.get("ctx", {}))
    if not text:
        return ""
    return f"{text} (given: {short(error['input'])})"


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
