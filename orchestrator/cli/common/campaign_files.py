"""A campaign as one file, for `tierbench compare FILE`: question, tiers, workloads, SLO, budget and
repetitions. It is written once, kept in version control, and gives the same plan again.

Its keys are the options of `compare`, by their names. What the command line or the environment
says goes before the file; `tierbench.yaml` stands behind it."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import typer

from orchestrator.cli.common import defaults, option_values
from orchestrator.errors import UsageError
from orchestrator.texts.prose import listed

# Options that say how a command is carried out here, and nothing of what is asked. `on-end` is a
# command, which nobody expects in a file that came with a repository.
NOT_OF_A_CAMPAIGN = frozenset(
    {
        "help",
        "quiet",
        "verbose",
        "color",
        "output",
        "results",
        "dry-run",
        "offline",
        "on-end",
    }
)
# Options that may name files: a relative path is from the folder of the campaign's file.
_NAMES_FILES = frozenset({"profiles", "profile", "workloads", "workload", "prices"})


def apply(context: typer.Context, file: Path | None) -> Path | None:
    """A callback of typer, of an argument that is read before all options.

    UsageError with every mistake in the file."""
    # While a shell completes a word, nothing is said of a file.
    if file is None or context.resilient_parsing:
        return file
    if not file.is_file():
        raise UsageError(
            f"there is no campaign's file {file}",
            "`tierbench init --campaign NAME` writes one; several names are joined by commas, as "
            "in `--profiles premium,ultra`",
        )
    content = _content(file, options(_compare_command(context)))
    # `rehearse` takes the same files, and fewer options.
    by_key = options(context.command)
    values: dict[str, Any] = {}
    left_out: list[str] = []
    for key, value in content.items():
        option = by_key.get(key)
        if option is None:
            left_out.append(f"`{key}`")
            continue
        values[option.name] = option_values.as_given(_placed(key, value, file), option)
    if left_out:
        command = context.command.name
        context.obj.progress.note(f"{command} does without {listed(left_out)}")
    defaults.take(context, values, file)
    return file


def _content(file: Path, options_of_compare: Mapping[str, Any]) -> dict[str, Any]:
    """Key → value. UsageError with every mistake in the file, or if it is a profile."""
    read = defaults.read(file)
    # Else each of its keys would be refused as no option.
    if {"tier", "cluster"} <= read.keys.keys():
        raise UsageError(
            f"{file} is a profile, not a campaign", f"give it as `--profiles {file}`"
        )
    options_by_key: dict[str, list[Any]] = {}
    for key, option in options_of_compare.items():
        options_by_key[key] = [option]
    return defaults.content(read, options_by_key, NOT_OF_A_CAMPAIGN)


def _compare_command(context: Any) -> Any:
    """The command whose options a campaign's file has; others take some of them."""
    if context.command.name == "compare":
        return context.command
    # A key of `compare` is no mistake where another command takes fewer.
    return context.parent.command.loaded("compare")


def options(command: Any) -> Mapping[str, Any]:
    """Key of the file → option of the command."""
    by_key: dict[str, Any] = {}
    for parameter in command.params:
        for key in defaults.keys(parameter):
            if key not in NOT_OF_A_CAMPAIGN:
                by_key[key] = parameter
    return by_key


def _placed(key: str, value: Any, file: Path) -> Any:
    """The value, with the paths in it as they are from the current folder."""
    if key not in _NAMES_FILES:
        return value
    if isinstance(value, Sequence) and not isinstance(value, str):
        placed: list[str] = []
        for item in value:
            placed.append(_path_or_name(str(item), file))
        return placed
    return _path_or_name(str(value), file)


def _path_or_name(name: str, file: Path) -> str:
    """A name of the catalog of profiles or workloads stays one."""
    # The file's folder is what counts, so that the plan is the same wherever the command is given.
    beside = file.parent / name
    is_path = "/" in name or name.endswith((".yaml", ".yml"))
    if is_path and beside.is_file():
        return str(beside.resolve())
    return name
