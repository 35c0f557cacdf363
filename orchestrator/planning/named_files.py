"""Which file a name of a profile or a workload means, and its text."""

import codecs
import os
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from orchestrator.errors import CutError, Mistake, UsageError
from orchestrator.keys import plain_files, refusals
from orchestrator.keys.refusals import refused
from orchestrator.texts import foreign_text


def names(folder: Path) -> tuple[str, ...]:
    """The names of the YAML files in `folder`, without their ending."""
    return tuple(sorted(file.stem for file in folder.glob("*.yaml")))


def files_named(
    folder: Path, kind: str, names: Sequence[str], mistakes: list[Mistake]
) -> list[Path]:
    """The file of each name; a missing one becomes a mistake, as one whose name cannot be shown.
    UsageError where two are called the same: runs are told apart by name, so one file would be
    measured in the place of both."""
    files: dict[str, Path] = {}
    for name in names:
        file = path_of(folder, name)
        if not file.is_file():
            mistakes.append(no_such_file(folder, kind, name))
            continue
        # Runs and folders are named by it, and a terminal could not show them.
        if not foreign_text.is_printable(file.stem):
            mistakes.append(_unprintable(kind, file))
            continue
        if names.count(name) > 1:
            raise _named_twice(kind, name)
        other = files.setdefault(file.stem, file)
        if other is not file:
            raise _same_name(kind, other, file)
    return list(files.values())


def _unprintable(kind: str, file: Path) -> Mistake:
    what = (
        f"the name of this {kind} file is not UTF-8 text in one line: rename the file"
    )
    # The name is good UTF-8, so only the locale cannot show it.
    if foreign_text.is_printable(
        os.fsencode(file.stem).decode("utf-8", "surrogateescape")
    ):
        what = f"this locale has no letters for the name of this {kind} file: set LC_ALL=C.UTF-8"
    return Mistake(str(file), what)


def _named_twice(kind: str, name: str) -> UsageError:
    advice = "name it once; --repeats says how often each is measured"
    if kind == "profile":
        advice += ", --aa measures the baseline under a second name"
    return UsageError(
        f"the {kind} {name!r} is named twice; nothing was started", advice
    )


def _same_name(kind: str, first: Path, second: Path) -> UsageError:
    files = f"{first} and {second}"
    return UsageError(
        f"{second.stem!r} is the name of two {kind}s, {files}; nothing was started",
        advice="give one of the files another name",
    )


def find(folder: Path, kind: str, name: str) -> Path:
    """The file of a name. UsageError if there is none."""
    file = path_of(folder, name)
    if not file.is_file():
        advice = "`tierbench list` shows what there is"
        if is_path(name):
            advice = (
                "check the path, or give the name of one that `tierbench list` shows"
            )
        raise UsageError(no_such_file(folder, kind, name).what, advice)
    return file


def path_of(folder: Path, name: str) -> Path:
    if is_path(name):
        return Path(name)
    return folder / f"{name}.yaml"


def is_path(name: str) -> bool:
    return name.endswith((".yaml", ".yml")) or "/" in name


def no_such_file(folder: Path, kind: str, name: str) -> Mistake:
    if is_path(name):
        return Mistake("", f"no {kind} file {name}")
    beside = Path(f"{name}.yaml")
    with suppress(OSError, ValueError):
        if beside.is_file():
            what = (
                f"no {kind} {name!r} in {folder}; did you mean the file {beside} here?"
            )
            return Mistake("", what, "unknown name")
        if Path(name).is_file():
            return Mistake("", f"{name} is no {kind}: the file of one ends in .yaml")
    return refusals.unknown_name("", kind, name, names(folder))


def read_text(file: Path, root: Path) -> tuple[str, str]:
    """A file's name for messages, and its text. UsageError if it cannot be read."""
    return where(file, root), text_of(file, root)


def text_of(file: Path, root: Path) -> str:
    """UsageError if it cannot be read, is no plain file, too large, or not UTF-8."""
    try:
        # The user has named the file or its folder, so it may be a link.
        content = plain_files.read(
            file, plain_files.MOST_WRITTEN_BYTES, through_links=True
        )
    except CutError as error:
        what = f"this file cannot be read: {error.what}"
        raise refused([Mistake(where(file, root), what)]) from error
    except OSError as error:
        what = f"this file cannot be read: {error.strerror or error}"
        hint = ""
        if isinstance(error, FileNotFoundError):
            hint = _meant_instead(file, root)
        raise refused([Mistake(where(file, root), what, hint=hint)]) from error
    try:
        return content.decode()
    except UnicodeDecodeError as error:
        # Python says the byte alone; a person looks for the line.
        line = content.count(b"\n", 0, error.start) + 1
        byte = content[error.start]
        what = f"this file is not UTF-8: byte {error.start + 1} is {byte:#04x}"
        # UTF-16 is what some editors of Windows call "Unicode".
        if content.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
            what = "this file is UTF-16"
        place = f"{where(file, root)}:{line}"
        raise refused([Mistake(place, f"{what}; save it as UTF-8")]) from error


def _meant_instead(file: Path, root: Path) -> str:
    """What to do about a file that is not there."""
    for folder in ("profiles", "workloads"):
        shipped = root / folder / file.name
        if shipped.is_file():
            return f"did you mean {shipped}?"
    near = refusals.near_names(file.stem, names(file.parent))
    if near:
        return f"did you mean {file.with_stem(near[0])}?"
    return "check its path; `tierbench list` shows names"


def where(file: Path, root: Path) -> str:
    """Names the file for messages: as it was given, or relative to the project folder."""
    if file.is_relative_to(root):
        return str(file.relative_to(root))
    return str(file)
