"""Defaults of options that a person sets: `tierbench.yaml` in the folder of the command, and
variables of the environment, which go before it. What the command itself says goes before both."""

import os
import shlex
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from orchestrator.cli.common import option_values
from orchestrator.errors import KeyPlace, Mistake, UsageError

FILE = Path("tierbench.yaml")
PREFIX = "TIERBENCH"
# Where a context keeps which file an option is from, if it is another one.
_SOURCES = "orchestrator.cli.common.defaults: sources"
# Commands of `save` and `restore` are given it, and TIERBENCH_NODES with it. That is no default of
# --nodes for a `tierbench` that such a command calls.
_OF_SNAPSHOTS = "TIERBENCH_SNAPSHOT"


@dataclass(frozen=True)
class GivenDefault:
    """An option that a person's defaults gave: the words that a command line would have, and
    where it is from."""

    words: Sequence[str]
    source: str


def settings(given: Mapping[str, Any], command: Any) -> dict[str, Any]:
    """What the context of a command begins with. `given`: what `of_file` found."""
    prefix: str | None = PREFIX
    if _OF_SNAPSHOTS in os.environ:
        prefix = None
    values: dict[str, Any] = {}
    for option in command.params:
        _check_one_variable(option)
        for name in names(option):
            if name in given:
                values[option.name] = option_values.as_given(given[name], option)
    return {"auto_envvar_prefix": prefix, "default_map": values}


def _check_one_variable(option: Any) -> None:
    """UsageError if two variables of the environment give this option different values: one of
    them would be passed over."""
    variables = _variables_given(option)
    if len({os.environ[name] for name in variables}) > 1:
        raise UsageError(
            f"{' and '.join(variables)} are one option, and have different values",
            "unset one of them",
        )


def _variables_given(option: Any) -> list[str]:
    """The variables that give this option a value. The variable that is taken comes first."""
    variables: list[str] = []
    # The first name is that of click's prefix, which click reads after `envvar` of the others.
    for name in reversed(names(option)):
        if os.environ.get(variable(name)):
            variables.append(variable(name))
    return variables


# ------------------------------------------------------------------ the file


def of_file(program: Any, file: Path = FILE) -> dict[str, Any]:
    """Option → what the file says; the words are checked where they are used.

    UsageError with every key that is no option of any command, or has no words; and if the
    file is another user's."""
    if not file.is_file():
        return {}
    _check_owner(file)
    values: dict[str, Any] = {}
    for key, value in content(read(file), _options(program)).items():
        values[key.replace("-", "_")] = value
    return values


@dataclass(frozen=True)
class ReadFile:
    """A file of options. `where`: how mistakes name it; `keys`: key → value, as YAML has it."""

    where: str
    text: str
    keys: dict[str, Any]


def read(file: Path) -> ReadFile:
    """UsageError if it is no YAML of keys."""
    from orchestrator.keys import yaml_text
    from orchestrator.planning.named_files import read_text

    where, text = read_text(file, Path())
    return ReadFile(where, text, yaml_text.parse(where, text))


def content(
    file: ReadFile,
    options: Mapping[str, Sequence[Any]],
    not_in_this_file: Collection[str] = (),
) -> dict[str, Any]:
    """Key → value. UsageError with every key that is none of the options, or has a value that no
    option of its name takes. `options`: by the name that a file has for them.
    `not_in_this_file`: names of options that are given elsewhere."""
    from orchestrator.keys import refusals, yaml_text

    mistakes = [*_unknown(file.where, file.keys, options, not_in_this_file)]
    mistakes += option_values.mistakes(file.where, file.keys, options)
    texts = {file.where: file.text}
    placed: list[Mistake] = []
    for mistake in mistakes:
        placed.append(yaml_text.with_line(mistake, texts))
    refusals.raise_all(placed)
    return file.keys


def on_end(file: Path = FILE) -> str:
    """The command that the file gives as `on-end`; "" if it gives none."""
    if not file.is_file():
        return ""
    return option_values.in_words(read(file).keys.get("on-end", ""))


def _unknown(
    where: str,
    given: Iterable[object],
    options: Collection[str],
    not_in_this_file: Collection[str],
) -> Iterator[Mistake]:
    """A mistake for each key that is no option, or no option that this file may have."""
    from orchestrator.keys.refusals import unknown_name

    for key in given:
        place = KeyPlace(where, (str(key),))
        if key in not_in_this_file:
            advice = f"give --{key} with the command, or `{key}` in {FILE}"
            yield Mistake.at(place, f"a campaign's file does not have it: {advice}")
        elif key not in options:
            advice = "`tierbench COMMAND --help` shows them"
            yield unknown_name(place, "option", str(key), options, advice)


def _check_owner(file: Path) -> None:
    """UsageError if the file is another user's. Of root, and of who called `sudo`, it may be."""
    # Anybody could leave one in a folder that others may write to, such as /tmp.
    caller = int(os.environ.get("SUDO_UID", 0))
    if file.stat().st_uid not in (0, os.geteuid(), caller):
        raise UsageError(
            f"{file} belongs to another user, and its `on-end` could run a "
            "command as you",
            "change its owner to yourself, or run the command in another folder",
        )


def with_members(command: Any) -> Iterator[Any]:
    """A command of typer; of a group all its commands too, and theirs."""
    yield command
    for member in getattr(command, "commands", {}).values():
        yield from with_members(member)


def _options(program: Any) -> dict[str, list[Any]]:
    """The options of all commands, also of those in groups, by their names in a file."""
    by_key: dict[str, list[Any]] = {}
    # All are loaded, because a key of one command is no mistake in another.
    for name in program.commands:
        for command in with_members(program.loaded(name)):
            for parameter in command.params:
                for key in keys(parameter):
                    by_key.setdefault(key, []).append(parameter)
    return by_key


def keys(parameter: Any) -> list[str]:
    """All names of an option, each as a file has it; none of an argument."""
    return [name.replace("_", "-") for name in names(parameter)]


def names(parameter: Any) -> list[str]:
    """All names of an option, each as a variable would have it; none of an argument."""
    if parameter.param_type_name != "option":
        return []
    return [name_of(word) for word in parameter.opts if word.startswith("--")]


def name_of(word: str) -> str:
    """`--max-cost` → `max_cost`."""
    return word.removeprefix("--").replace("-", "_")


def variable(name: str) -> str:
    """`max_cost` → `TIERBENCH_MAX_COST`."""
    return f"{PREFIX}_{name.upper()}"


def take(context: Any, values: Mapping[str, Any], file: Path) -> None:
    """Lets options of this command be as `values` have them, before those of `FILE`."""
    # click reads the environment before this map, so variables go before files.
    context.default_map = {**(context.default_map or {}), **values}
    # This is for `given`, which would otherwise name `tierbench.yaml`.
    context.meta[_SOURCES] = dict.fromkeys(values, str(file))


# ------------------------------------------------------------------ what is said of them


def given(context: Any) -> Iterator[GivenDefault]:
    """Each option that was not given but has a default of a person's. `context`: of the command;
    None if there is none."""
    if context is None:
        return
    for option in context.command.params:
        source = _source(context, option)
        # An option whose value is refused has none, and is then named without one.
        value = context.params.get(option.name, True)
        # A flag that is off is what it would be without the default.
        if source and value is not False:
            yield GivenDefault(as_words(option.opts[0], value), source)


def _source(context: Any, option: Any) -> str:
    """Which file of a person's has the option's default; empty if none has."""
    origin = getattr(context.get_parameter_source(option.name), "name", "")
    if origin == "ENVIRONMENT":
        return _variables_given(option)[0]
    if origin != "DEFAULT_MAP":
        return ""
    sources: Mapping[str, str] = context.meta.get(_SOURCES, {})
    return sources.get(option.name, str(FILE))


def as_words(option: str, value: Any) -> list[str]:
    """An option with its value, or with each of several, as a command line has it."""
    if value is True:
        return [option]
    if not isinstance(value, list | tuple):
        return [option, str(value)]
    words = []
    for item in value:
        words += [option, str(item)]
    return words


def lines(given: Iterable[GivenDefault]) -> list[str]:
    """The defaults that were taken, for a person: `--scale smoke is from tierbench.yaml`."""
    texts = []
    for default in given:
        words = shlex.join(default.words)
        texts.append(f"{words} is from {default.source}")
    return texts
