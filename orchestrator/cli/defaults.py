"""Defaults of options that a person sets: `tierbench.yaml` in the folder of the command, and
variables of the environment, which go before it. What the command itself says goes before both."""

import os
import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from orchestrator.errors import Mistake, UsageError

FILE = Path("tierbench.yaml")
PREFIX = "TIERBENCH"
# Commands of `save` and `restore` have it, and beside it others with the names of options.
_OF_SNAPSHOTS = "TIERBENCH_SNAPSHOT"


@dataclass(frozen=True)
class GivenDefault:
    """An option that a person's defaults gave: the words that a command line would have, and
    where it is from."""

    words: Sequence[str]
    source: str


def settings(program: Any) -> dict[str, Any]:
    """What the context of each command begins with. UsageError with every mistake in the file."""
    prefix: str | None = PREFIX
    if _OF_SNAPSHOTS in os.environ:
        prefix = None
    return {"auto_envvar_prefix": prefix, "default_map": of_file(program)}


# ------------------------------------------------------------------ the file


def of_file(program: Any, file: Path = FILE) -> dict[str, Any]:
    """Option → what the file says, as words of the command line, which are checked where they are
    used.

    UsageError with every key that is no option of any command, or has no words; and if the
    file is another user's."""
    if not file.is_file():
        return {}
    _check_owner(file)
    from orchestrator.keys import strict_yaml
    from orchestrator.planning.project_files import read_text

    options = _options(program)
    where, text = read_text(file, Path())
    mistakes: list[Mistake] = []
    values: dict[str, Any] = {}
    for key, value in strict_yaml.parse(where, text).items():
        mistake = _mistake(f"{where}: {key}", key, value, options)
        if mistake is None:
            values[key.replace("-", "_")] = _as_given(value, options[key].multiple)
        else:
            mistakes.append(strict_yaml.with_line(mistake, {where: text}))
    strict_yaml.raise_all(mistakes)
    return values


def on_end(file: Path = FILE) -> str:
    """The command that the file gives as `on-end`; "" if it gives none."""
    if not file.is_file():
        return ""
    from orchestrator.keys import strict_yaml
    from orchestrator.planning.project_files import read_text

    where, text = read_text(file, Path())
    return str(_as_given(strict_yaml.parse(where, text).get("on-end", ""), False))


def _mistake(
    place: str, key: object, value: object, options: Mapping[str, Any]
) -> Mistake | None:
    """What is wrong with a key of the file, if something is."""
    from orchestrator.keys.strict_yaml import unknown_name

    if key not in options:
        advice = "`tierbench COMMAND --help` shows them"
        return unknown_name(place, "option", str(key), options, advice)
    if value is None or isinstance(value, dict):
        return Mistake(place, "expected a value, or a list of values")
    return None


def _check_owner(file: Path) -> None:
    """UsageError if the file is another user's. Of root, and of who called `sudo`, it may be."""
    caller = int(os.environ.get("SUDO_UID", 0))
    if file.stat().st_uid not in (0, os.geteuid(), caller):
        raise UsageError(
            f"{file} belongs to another user, who could have a command run as you (`on-end`)",
            "make it yours, or give the command in another folder",
        )


def with_members(command: Any) -> Iterator[Any]:
    """A command of typer; of a group all its commands too, and theirs."""
    yield command
    for member in getattr(command, "commands", {}).values():
        yield from with_members(member)


def _options(program: Any) -> dict[str, Any]:
    """The options of all commands, and of those in a group, as a file spells them."""
    options: dict[str, Any] = {}
    for name in program.commands:
        for command in with_members(program.loaded(name)):
            for parameter in command.params:
                is_option = parameter.opts[0].startswith("-")
                if is_option:
                    options[parameter.name.replace("_", "-")] = parameter
    return options


def _as_given(value: Any, is_repeatable: bool) -> Any:
    """The value of a key, as the command line would give it."""
    if isinstance(value, list):
        words = [str(item) for item in value]
    else:
        words = [str(value)]
    if is_repeatable:
        return words
    if isinstance(value, bool):
        return value
    return " ".join(words)


# ------------------------------------------------------------------ what is said of them


def given(context: Any) -> Iterator[GivenDefault]:
    """Each option that was not given but has a default of a person's. `context`: of the command;
    None if there is none."""
    if context is None:
        return
    for option in context.command.params:
        source = _source(context, option)
        # Of an option whose value is refused there is none.
        value = context.params.get(option.name, True)
        if source and value is not False:
            yield GivenDefault(_words(option.opts[0], value), source)


def _source(context: Any, option: Any) -> str:
    """Where the option's default of a person's is from; empty if it has none."""
    origin = getattr(context.get_parameter_source(option.name), "name", "")
    if origin == "ENVIRONMENT":
        return f"{PREFIX}_{option.name.upper()}"
    if origin == "DEFAULT_MAP":
        return str(FILE)
    return ""


def _words(option: str, value: Any) -> list[str]:
    if value is True:
        return [option]
    if not isinstance(value, list | tuple):
        return [option, str(value)]
    words = []
    for item in value:
        words += [option, str(item)]
    return words


def lines(given: Iterable[GivenDefault]) -> list[str]:
    """For a person: `--scale smoke is from tierbench.yaml`."""
    texts = []
    for default in given:
        words = shlex.join(default.words)
        texts.append(f"{words} is from {default.source}")
    return texts
