"""Writing files so that they are whole after a power cut: all that a campaign leaves.

- A file appears whole or not at all. It is on the disk before it replaces an older one, and so is
  the folder that names it.
- It is for its user alone. What root writes in a user's folder belongs to that user.
- Nothing is written through a link, because a folder that somebody else has packed may have links
  to any file of the user.
"""

import contextlib
import errno
import json
import os
import secrets
import shutil
import stat
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path, PurePosixPath
from typing import IO, Any

from orchestrator.errors import NotWrittenError, UsageError
from orchestrator.keys import plain_files
from orchestrator.system import byte_names
from orchestrator.system.redaction import hidden, hidden_in

# Modes of new files. The user's umask takes away from the second what it does.
_USER_ONLY = 0o600
_EVERYBODY = 0o666
_READABLE_BY_ALL = 0o644
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_ADDING = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC


# ------------------------------------------------------------------ the writer


@contextlib.contextmanager
def replacing(file: Path, *, private: bool, lasting: bool) -> Iterator[IO[bytes]]:
    """Replaces a file by what the block writes, when the block ends.

    A link of that name is replaced. A file that others could read stays readable for them.
    `private`: a new file is for its user alone. `lasting`: it outlives a power cut. NotWrittenError
    if the file cannot be written."""
    # The new file is beside the old, because a rename goes no further than its file system.
    new_file = file.with_name(f".{secrets.token_hex(6)}.new")
    try:
        with (
            writing(file),
            os.fdopen(_opened_new(new_file, file, private), "wb") as opened,
        ):
            yield opened
            opened.flush()
            if lasting:
                os.fsync(opened.fileno())
        with writing(file):
            new_file.replace(file)
            if lasting:
                # The name is in the folder, which a power cut may bring back as it was.
                sync(file.parent)
    finally:
        with contextlib.suppress(OSError):  # it has its name, or was never made
            new_file.unlink()


def _opened_new(new_file: Path, file: Path, private: bool) -> int:
    """A descriptor of a new file that is to take the place of `file`, and has its owner."""
    mode = _EVERYBODY
    if private:
        mode = _USER_ONLY
    number = os.open(new_file, _NEW, mode)
    like = file.parent.stat()
    with contextlib.suppress(FileNotFoundError):
        before = file.lstat()
        if stat.S_ISREG(before.st_mode):
            shared = stat.S_IMODE(before.st_mode) & _READABLE_BY_ALL
            # Others keep the right to read, and no other that the old file gave them.
            os.fchmod(number, shared | _USER_ONLY)
            like = before
    _give_to_owner(number, like)
    return number


def _give_to_owner(target: int | Path, like: os.stat_result) -> None:
    """Gives what root has made to the user and group of `like`, nothing for other users.

    So the owner of a folder can read what root writes there. `target`: a descriptor or a folder."""
    # Root alone may give a file away, and only root writes in folders of others.
    if os.geteuid() != 0:
        return
    with contextlib.suppress(OSError):  # a server of files may refuse it
        if isinstance(target, int):
            os.fchown(target, like.st_uid, like.st_gid)
        else:
            os.lchown(target, like.st_uid, like.st_gid)


@contextlib.contextmanager
def writing(path: Path, verb: str = "written") -> Iterator[None]:
    """What fails in the block is a NotWrittenError that names the file or folder."""
    try:
        yield
    except NotWrittenError:
        raise
    except OSError as error:
        raise _not_written(path, verb, error) from error


def _not_written(path: Path, verb: str, error: OSError) -> NotWrittenError:
    why = error.strerror or str(error)
    advice = ""
    if isinstance(error, FileNotFoundError | NotADirectoryError):
        advice = "make its folder first, or name another place"
    return NotWrittenError(f"{path} cannot be {verb}: {why}", why, advice)


@contextlib.contextmanager
def keeping(what: str) -> Iterator[None]:
    """Says what is lost if something of it cannot be written."""
    try:
        yield
    except NotWrittenError as error:
        lost = f"{what} is not kept: {error.what}"
        raise NotWrittenError(lost, error.why, error.advice) from error


def write_text(file: Path, text: str, private: bool = True) -> None:
    """Writes atomically, as UTF-8: a reader sees the old file or the new one, never half of one.

    Bytes that are not UTF-8, as in names of files on an old disk, are written as escapes."""
    content = text.encode("utf-8", errors="backslashreplace")
    with replacing(file, private=private, lasting=True) as opened:
        opened.write(content)


def write_json(file: Path, content: Any) -> None:
    """Writes any JSON. Passwords in URLs and connection strings are left out."""
    write_text(file, json_text(content, indent=1) + "\n")


def json_text(content: Any, indent: int | None = None) -> str:
    """JSON without passwords. A byte of a name that is not UTF-8 is shown (see `byte_names`)."""
    text = json.dumps(
        hidden_in(content), indent=indent, ensure_ascii=False, default=str
    )
    return byte_names.shown_in_json(text)


def write_below(folder: Path, texts: Mapping[str, str]) -> None:
    """Writes texts by their paths below a folder, which is made if it is not there."""
    for path, text in texts.items():
        place = PurePosixPath(path)
        write_text(make_folder(folder, *place.parent.parts) / place.name, text)


def keep(file: Path, text: str, *, adds: bool = False) -> None:
    """Writes, or adds to a file, what another program said or was given, without secrets."""
    kept = hidden(text)
    if not adds:
        write_text(file, kept)
        return
    content = kept.encode("utf-8", errors="backslashreplace")
    with writing(file):
        is_new = not os.path.lexists(file)
        # O_APPEND, so that two programs which add at once do not overwrite each other.
        number = os.open(file, _ADDING, _USER_ONLY)
        with os.fdopen(number, "ab") as opened:
            if is_new:
                _give_to_owner(number, file.parent.stat())
            opened.write(content)


def free_bytes(folder: Path) -> int:
    """The free bytes on the file system of a folder, or of the nearest existing one above it."""
    existing = folder.absolute()
    # The folder is made later; its file system is that of the one above.
    while not existing.exists():
        existing = existing.parent
    return shutil.disk_usage(existing).free


def make_folder(above: Path, *names: str) -> Path:
    """Makes nested folders for their user alone, and returns the last one.

    `above`: may be a link, because a person has named it. The folders below it may not.
    NotWrittenError if one is a link, or cannot be made."""
    folder = above
    with writing(folder, "made"):
        folder.mkdir(parents=True, exist_ok=True)
    for name in names:
        folder = folder / name
        if folder.is_symlink():
            raise NotWrittenError(
                f"{folder} is a link, and nothing is written through a link",
                "it is a link",
                "remove the link, or put a folder in its place",
            )
        with writing(folder, "made"):
            if not folder.is_dir():
                # Another program may make it in this very moment.
                folder.mkdir(0o700, exist_ok=True)
                _give_to_owner(folder, folder.parent.stat())
    return folder


def make_new_folder(folder: Path) -> None:
    """Makes a folder for its user alone. FileExistsError if it is there already."""
    try:
        folder.mkdir(0o700)
    except FileExistsError:
        raise
    except OSError as error:
        raise _not_written(folder, "made", error) from error


def content(file: Path) -> dict[str, Any]:
    """What is in a JSON file; empty if it is not there. ValueError if it was cut; CutError if it is
    no plain file."""
    if plain_files.kind_of(file) == "nothing":
        return {}
    return dict(json.loads(plain_files.read(file)))


# ------------------------------------------------------------------ for others


def require_absent(file: Path) -> None:
    """UsageError if something has this name, or its folder is not there.

    A file that is made to be sent to others never replaces one."""
    if file.is_symlink() or file.exists():
        raise UsageError(f"{file} is there already", "name a file that is not there")
    if not file.parent.is_dir():
        raise UsageError(
            f"there is no folder {file.parent}", "make it, or name another"
        )


def write_new(file: Path, text: str, private: bool) -> None:
    """Writes a file that was not there; `private`: which only its user may read. UsageError if
    something has its name by now, a link among others: nothing is written through it."""
    mode = _EVERYBODY
    if private:
        mode = _USER_ONLY
    try:
        number = os.open(file, _NEW, mode)
    except FileExistsError:
        require_absent(file)
        raise
    except OSError as error:
        raise _not_written(file, "written", error) from error
    with writing(file), os.fdopen(number, "w", encoding="utf-8") as opened:
        _give_to_owner(number, file.parent.stat())
        opened.write(text)
        opened.flush()
        os.fsync(number)


# Errors of a folder, or a file that is mounted alone, when something would replace the file.
_NOT_REPLACED = (errno.EACCES, errno.EPERM, errno.EROFS, errno.EBUSY, errno.EXDEV)


def _replaced(file: Path, text: str) -> None:
    write_text(file, text, private=False)


def write_named(
    file: Path, text: str, replace: Callable[[Path, str], None] = _replaced
) -> None:
    """Writes a file that its user has named; if it is a link, the file that it points to.

    The file is replaced as a whole. If its folder may not be written, it is overwritten in place.
    NotWrittenError if neither is possible. `replace`: tests pass another way."""
    # The user named the link and meant the file; the link itself stays.
    target = Path(os.path.realpath(file))
    try:
        replace(target, text)
    except NotWrittenError as error:
        cause = error.__cause__
        may_be_written = isinstance(cause, OSError) and cause.errno in _NOT_REPLACED
        if not (may_be_written and target.is_file()):
            raise
        with writing(file):
            target.write_bytes(text.encode("utf-8", errors="backslashreplace"))


def copy(source: Path, file: Path) -> None:
    """Copies `source` to `file`."""
    with (
        source.open("rb") as content,
        replacing(file, private=True, lasting=True) as opened,
    ):
        shutil.copyfileobj(content, opened)


def sync(path: Path) -> None:
    """Waits until a file, or the names in a folder, are on the disk.

    Some file systems refuse that for folders. Then it depends on them when names are safe."""
    number = os.open(path, os.O_RDONLY)
    try:
        os.fsync(number)
    except OSError:
        if not path.is_dir():
            raise
    finally:
        os.close(number)
