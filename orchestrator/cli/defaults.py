"""Defaults of options that a person sets: `tierbench.yaml` in the folder of the command, and
variables of the environment, which go before it. What the command itself says goes before both."""

import os
import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from orchestrator.errors import Mistake, UsageError

FILE = Path("tierbench.yaml")
PREFIX = "TIERBENCH"
# Commands of `save` and `restore` have it, and beside it others with the names of options.
_OF_SNAPSHOTS = "TIERBENCH_SNAPSHOT"


def settings(program: Any) -> dict[str, Any]:
    """What the context of each command begins with. UsageError with every mistake in the file."""
    prefix: str | None = PREFIX
    if _OF_SNAPSHOTS in os.environ:
        prefix = None
    return {"auto_envvar_prefix": prefix, "default_map": of_file(program)}


def of_file(program: Any, file: Path = FILE) -> dict[str, Any]:
    """Option → what the file says, as words of the command line, which are checked where they are
    used. UsageError with every key that is no option of any command, or has no words; and if the
    file is another user's."""
    if not file.is_file():
        return {}
    if file.stat().st_uid not in (0, os.geteuid(), int(os.environ.get("SUDO_UID", 0))):
        what = f"{file} belongs to another user, who could have a command run as you (`on-end`)"
        raise UsageError(
            what, advice="make it yours, or give the command in another folder"
        )
    from orchestrator.keys.strict_yaml import (
        parse,
        raise_all,
        unknown_name,
        with_line,
    )
    from orchestrator.planning.project_files import read_text

    commands = [program.loaded(name) for name in program.commands]
    members = [
        each for c in commands for each in getattr(c, "commands", {"": c}).values()
    ]
    known = {
        p.name.replace("_", "-"): p
        for m in members
        for p in m.params
        if p.opts[0][0] == "-"
    }
    where, text = read_text(file, Path())
    wrong = list[Mistake]()
    values = dict[str, Any]()
    for key, value in parse(where, text).items():
        words = [str(item) for item in (value if isinstance(value, list) else [value])]
        if key not in known:
            advice = "`tierbench COMMAND --help` shows them"
            wrong.append(
                unknown_name(f"{where}: {key}", "option", str(key), known, advice)
            )
        elif value is None or isinstance(value, dict):
            wrong.append(
                Mistake(f"{where}: {key}", "expected a value, or a list of values")
            )
        else:
            flag: bool | str = " ".join(words)
            if isinstance(value, bool):
                flag = value
            values[key.replace("-", "_")] = words if known[key].multiple else flag
    raise_all([with_line(mistake, {where: text}) for mistake in wrong])
    return values


def told(context: Any) -> list[tuple[list[str], str]]:
    """Of each option that was not given but has a default of a person's: the words that give it,
    and where it is from."""
    said = []
    for option in context.command.params if context else ():
        where = {
            "ENVIRONMENT": f"{PREFIX}_{option.name.upper()}",
            "DEFAULT_MAP": str(FILE),
        }
        source = getattr(context.get_parameter_source(option.name), "name", "")
        value = context.params.get(
            option.name, True
        )  # of one that is refused there is none
        if source in where and value is not False:
            if isinstance(value, list | tuple):
                values = value
            else:
                values = [value]
            words = [word for each in values for word in (option.opts[0], str(each))]
            said.append((words[:1] if value is True else words, where[source]))
    return said


def lines(given: Sequence[tuple[Sequence[str], str]]) -> list[str]:
    """For a person: `--scale smoke is from tierbench.yaml`."""
    return [f"{shlex.join(words)} is from {where}" for words, where in given]
