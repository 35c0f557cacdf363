"""YAML text → mappings. Any text gives a mapping or a UsageError.

Refused are a key that stands twice or has no value, a day that does not exist, a number that no key
takes, and what holds itself, each with its line.
"""

import re
from collections.abc import Iterator, Mapping
from copy import deepcopy
from dataclasses import replace
from functools import cache, lru_cache
from typing import Any, NamedTuple

import yaml

from orchestrator.errors import KeyPlace, Mistake
from orchestrator.keys.refusals import refused
from orchestrator.keys.secret_names import is_secret_key
from orchestrator.texts.foreign_text import short
from orchestrator.units import MOST


def parse(where: str, text: str) -> dict[str, Any]:
    """Parses `text` (of the file `where`) into a mapping. Raises UsageError."""
    # A copy, because callers change what they get, and the next one gets the same.
    return deepcopy(_parsed(where, text))


def written(content: Mapping[str, Any]) -> str:
    """The content as YAML, in its own order."""
    return yaml.safe_dump(
        dict(content), sort_keys=False, default_flow_style=False, width=100
    )


def with_line(mistake: Mistake, texts: Mapping[str, str]) -> Mistake:
    """The mistake with the line of its key, or of the nearest key above it that its file has.

    `texts`: the files' texts, each by the name that places in it have.
    """
    place = mistake.place
    if place is None or place.file not in texts:
        return mistake
    # A text that is no YAML has the line of its mistake, and cannot be read again.
    if place.line is not None:
        return mistake
    line = None
    # The text is read again only where there is a mistake. Reading each file twice would take twice
    # as long.
    node: yaml.Node | None = yaml.compose(texts[place.file], yaml.SafeLoader)
    for part in place.keys:
        entry = _entry(node, part)
        if entry is None:
            break
        line = entry.begin.start_mark.line + 1
        node = entry.value
    if line is None:
        return mistake
    place = replace(place, line=line)
    return replace(mistake, where=str(place), place=place)


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
        raise refused([_mistake_at(where, mark, problem)]) from error
    except RecursionError as error:
        raise refused(
            [Mistake(where, "lists or mappings are nested too deeply")]
        ) from error
    # PyYAML hands an escape such as `\UFFFFFFFF` to `chr`, which refuses it.
    except (ValueError, OverflowError) as error:
        problem = "an escape that stands for no character"
        raise refused([_mistake_at(where, loader.get_mark(), problem)]) from error
    if node is None:
        # A file of comments alone has no node either.
        raise refused([Mistake.at(KeyPlace(where, line=1), "the file is empty")])
    if not isinstance(content, dict):
        place = KeyPlace(where, line=node.start_mark.line + 1)
        raise refused([Mistake.at(place, "expected a mapping of keys to values")])
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


_TEXT = "tag:yaml.org,2002:str"
_NULL = "tag:yaml.org,2002:null"
_NO_SECRETS = ("tag:yaml.org,2002:bool", _NULL)


class _Constructor(yaml.constructor.SafeConstructor):
    """What PyYAML takes silently is a mistake at its place: equal keys, a key without a value, no
    real day or number. A secret is text: `0123` would be another number, and a mistake in it would
    show it."""

    def construct_object(self, node: yaml.Node, deep: bool = False) -> Any:
        try:
            value = super().construct_object(node, deep)
        # PyYAML takes 2026-02-31 for a date by its form, and Python then refuses the day.
        except (ValueError, TypeError, LookupError, AttributeError) as error:
            _, _, kind = node.tag.rpartition(":")
            raise _at(
                node, f"this is not a valid {kind}: {short(node.value)}"
            ) from error
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
            key = self.construct_object(key_node)
            if key in seen:
                raise _at(key_node, f"the key {short(key)} stands twice")
            seen.add(key)
            # A number as a key has a slip of its own, as in 5,000, which its reader tells.
            if isinstance(key, str) and _is_empty(value_node):
                raise _at(key_node, _no_value(key))
            if is_secret_key(str(key)) and _may_be_a_secret(value_node):
                value_node.tag = _TEXT
        return super().construct_mapping(node, deep)

    def construct_sequence(self, node: yaml.SequenceNode, deep: bool = False) -> Any:
        for item in node.value:
            if _is_empty(item):
                raise _at(item, "a list has an empty item: write it, or leave it out")
        return super().construct_sequence(node, deep)


class _Loader(_Constructor, yaml.SafeLoader):
    """Tells every mistake with its place."""


# libyaml takes some texts with these characters that PyYAML refuses, such as those with a tab, or
# reads them otherwise.
_READ_OTHERWISE = re.compile(r"[\t\x85\u2028\u2029\ufeff]|(?<!\w)!|[|>][-+\d]*#")
_QUESTION_MARK = "?"
_COMMENT = re.compile(r"^ *#.*$", re.MULTILINE)


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
        if node is None or not _question_marks_are_text(text, node):
            return None
        return loader.construct_object(node, deep=True)
    except (yaml.YAMLError, ValueError, OverflowError, RecursionError):
        return None


def _question_marks_are_text(text: str, node: yaml.Node) -> bool:
    """Whether each stands in a comment, or in a scalar outside of `[]` and `{}`. In these libyaml
    takes some for text that PyYAML refuses, and before a blank they begin a key."""
    if _QUESTION_MARK not in text:
        return True
    outside: list[str] = []
    end = 0
    for scalar in _block_scalars(node, set()):
        outside.append(text[end : scalar.start_mark.index])
        end = scalar.end_mark.index
    outside.append(text[end:])
    # In the place of each scalar a letter, so that no line begins otherwise than before.
    without_scalars = "s".join(outside)
    return _QUESTION_MARK not in _COMMENT.sub("", without_scalars)


def _block_scalars(node: yaml.Node, seen: set[int]) -> Iterator[yaml.ScalarNode]:
    """The scalars outside of `[]` and `{}`, each once though aliases may stand for it."""
    if id(node) in seen:
        return
    seen.add(id(node))
    if isinstance(node, yaml.ScalarNode):
        yield node
    elif isinstance(node, yaml.SequenceNode) and not node.flow_style:
        for item in node.value:
            yield from _block_scalars(item, seen)
    elif isinstance(node, yaml.MappingNode) and not node.flow_style:
        for key, value in node.value:
            yield from _block_scalars(key, seen)
            yield from _block_scalars(value, seen)


@cache
def _quick_loader() -> type[Any]:
    """Events of libyaml, of which PyYAML makes nodes: libyaml's own way to them has no end for
    lists that are nested too deeply."""

    class _Quick(yaml.composer.Composer, _Constructor, yaml.CSafeLoader):
        def __init__(self, text: str) -> None:
            yaml.CSafeLoader.__init__(self, text)
            yaml.composer.Composer.__init__(self)

    return _Quick


def _mistake_at(where: str, mark: yaml.Mark, problem: str) -> Mistake:
    """A mistake at a line and column of the file, whose keys could not be read."""
    line = mark.line + 1
    point = f"{where}:{line}:{mark.column + 1}"
    return Mistake(point, problem, place=KeyPlace(where, line=line))


def _is_empty(node: yaml.Node) -> bool:
    """Whether nothing stands there. Who means none writes `null`."""
    is_scalar = isinstance(node, yaml.ScalarNode)
    return is_scalar and node.tag == _NULL and node.value == ""


def _no_value(key: str) -> str:
    return f"the key {short(key)} has no value: write one, or leave the key out"


def _may_be_a_secret(node: yaml.Node) -> bool:
    """No list or mapping, and neither yes nor no: a manifest may say whether there is a token."""
    return isinstance(node, yaml.ScalarNode) and node.tag not in _NO_SECRETS


def _at(node: yaml.Node, problem: str) -> yaml.MarkedYAMLError:
    return yaml.MarkedYAMLError(problem=problem, problem_mark=node.start_mark)
