"""Folders that carry our mark: how they are made, and the only way in which they are removed.

The mark is a file that says whose a folder is: the host and the cache of the program that made it,
and the campaign. It is looked at by what removes, where it removes. No mount is entered and no link
is followed; whatever cannot be removed is told, and the rest goes on. The mark goes last, so that
what a killed program leaves is still known as ours.

This file runs in containers too, as a program: `python3 -c … VERB OWNER FOLDER…`, so it imports
nothing that an image might not have. VERB: `list` and `remove` take folders and print what they
found of each as a line of JSON; `anew` takes a folder and the names of empty ones to make in it."""

from __future__ import annotations

import json
import os
import stat
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

MARK = ".made-by-tierbench"
UNMARKED = "has no mark of tierbench"
# The mark of an earlier release, or a cut one.
UNSAID = "has a mark that does not say whose it is"
_OPEN = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


def owner(cache: Path, campaign: str) -> str:
    """What the mark says of folders that belong to this cache of this computer. `host_before`: what
    the computer was called when the cache became its own."""
    # The module is there on this computer alone: a container has nothing but this file.
    from orchestrator.system import machine_caches

    machine = machine_caches.here()
    return owned_by(machine.name, machine.id, cache, campaign)


def owned_by(name: str, machine: str, cache: Path, campaign: str) -> str:
    """The owner's mark of a computer with this name and this hash of its /etc/machine-id."""
    mark = {"host": name, "cache": str(cache.resolve()), "campaign": campaign}
    if machine:
        mark["machine"] = machine
    with suppress(OSError):
        signed = os.readlink(cache / ".owner")
        mark["host_before"] = signed.partition(" ")[0]
    return json.dumps(mark)


def is_same(mark: Any, ours: Any) -> bool:
    """Whether a mark is of the machine and the cache of `ours`. One of an earlier release has the
    machine's name alone. KeyError, TypeError if it says nothing of them."""
    if mark["cache"] != ours["cache"]:
        return False
    if "machine" in mark:
        return bool(mark["machine"] == ours.get("machine"))
    return mark["host"] in (ours["host"], ours.get("host_before"))


def make(folder: str, whose: str) -> str:
    """Makes the folder with its mark, and so the one above if that is missing too. Returns why it
    cannot be used; "" if it can. One that is there must have the mark of the same host and cache,
    or be empty."""
    above = os.path.dirname(folder)
    # The folder above is ours only if we make it; one that is there keeps its owner.
    if not os.path.exists(above):
        os.makedirs(above)
        _sign(above, whose)
    os.makedirs(folder, exist_ok=True)
    if not os.listdir(folder):
        _sign(folder, whose)
    state = remove(folder, whose, only_list=True)
    if state:
        return str(state["foreign"])
    return ""


def _sign(folder: str, whose: str) -> None:
    with open(f"{folder}/{MARK}", "w", encoding="utf-8") as file:
        file.write(f"{whose}\n")
        file.flush()
        # A mark that a power cut took would leave a folder which nobody removes.
        os.fsync(file.fileno())


def remove(folder: str, whose: str, only_list: bool) -> dict[str, Any] | None:
    """Removes a folder if its mark says the same host and cache as `whose`, and the one above if
    only its mark is left there. None if there is no such folder; else its `place`, the `bytes` that
    its files take, why it was not touched (`foreign`), and what of it stayed (`kept`)."""
    state: dict[str, Any] = {"place": folder, "bytes": 0, "foreign": "", "kept": []}
    try:
        top = os.open(folder, _OPEN)
    except FileNotFoundError:
        return None
    except OSError as error:
        return {
            **state,
            "foreign": f"is not a folder that can be opened ({error.strerror})",
        }
    try:
        state["foreign"] = _foreign(top, whose)
        if state["foreign"]:
            return state
        state["bytes"] = _emptied(
            top, _mount(top), folder, state["kept"], only_list, MARK
        )
        if only_list or state["kept"]:
            return state
        # The mark goes last. Until now a program that is killed leaves a folder that is known as
        # ours.
        os.unlink(MARK, dir_fd=top)
        os.rmdir(folder)
        above = os.path.dirname(folder)
        if not os.path.islink(above) and os.listdir(above) == [MARK]:
            os.unlink(f"{above}/{MARK}")
            os.rmdir(above)
    except OSError as error:
        state["kept"].append(f"{folder}: {error.strerror}")
    finally:
        os.close(top)
    return state


def _foreign(top: int, whose: str) -> str:
    """Why the folder is not to be removed by `whose`; "" if it is."""
    try:
        opened = os.open(MARK, os.O_RDONLY | os.O_NOFOLLOW, dir_fd=top)
        with open(opened, encoding="utf-8") as file:
            # A mark has some hundred bytes; another file of that name may have any number.
            mark = json.loads(file.read(10_000))
        ours = json.loads(whose)
        host = mark["host"]
        cache = mark["cache"]
        is_ours = is_same(mark, ours)
    except FileNotFoundError:
        return UNMARKED
    except (OSError, ValueError, KeyError, TypeError):
        return UNSAID
    if is_ours:
        return ""
    return f"belongs to the cache {cache} of {host}"


def _emptied(
    folder: int,
    mount: str,
    path: str,
    kept: list[str],
    only_list: bool,
    spared: str = "",
) -> int:
    """Removes all in an open folder but what is `spared`; returns the bytes that its files take."""
    size_bytes = 0
    for name in os.listdir(folder):
        place = f"{path}/{name}"
        try:
            status = os.stat(name, dir_fd=folder, follow_symlinks=False)
            if stat.S_ISDIR(status.st_mode):
                size_bytes += _inner_removed(
                    folder, name, mount, place, kept, only_list
                )
            elif not only_list and name != spared:
                os.unlink(name, dir_fd=folder)
            # Blocks of 512 bytes, whatever those of the file system are: stat(2).
            size_bytes += status.st_blocks * 512
        except OSError as error:
            kept.append(f"{place}: {error.strerror}")
    return size_bytes


def _inner_removed(
    folder: int, name: str, mount: str, place: str, kept: list[str], only_list: bool
) -> int:
    # The open folder is used: a path could lead elsewhere since it was looked at.
    inner = os.open(name, _OPEN, dir_fd=folder)
    before = len(kept)
    try:
        if _mount(inner) != mount:
            kept.append(f"{place}: something is mounted there, and no mount is entered")
            return 0
        size_bytes = _emptied(inner, mount, place, kept, only_list)
    finally:
        os.close(inner)
    if len(kept) == before and not only_list:
        os.rmdir(name, dir_fd=folder)
    return size_bytes


def _mount(opened: int) -> str:
    """Which mount a folder is on. Its device would not do: a part of a disk may be mounted twice
    (`mount --bind`)."""
    with (
        suppress(OSError),
        open(f"/proc/self/fdinfo/{opened}", encoding="ascii") as file,
    ):
        for line in file:
            if line.startswith("mnt_id:"):
                return line.strip()
    return str(os.fstat(opened).st_dev)


def main(verb: str, whose: str, *folders: str) -> int:
    """See the module. Ends with 0 only if `anew` did all."""
    if verb == "anew":
        place, *names = folders
        return _made_anew(place, names, whose)
    states = [remove(folder, whose, verb == "list") for folder in folders]
    print("\n".join(json.dumps(state) for state in states if state))
    return 0


def _made_anew(place: str, names: list[str], whose: str) -> int:
    left = remove(place, whose, only_list=False)
    if left and left["foreign"]:
        print(f"{place} {left['foreign']}")
        return 1
    if left and left["kept"]:
        print("; ".join(left["kept"]))
        return 1
    why = make(place, whose)
    if why:
        print(f"{place} {why}")
        return 1
    for name in names:
        os.mkdir(f"{place}/{name}")
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
