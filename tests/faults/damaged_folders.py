"""Results folders damaged as disks, editors and strangers do it: JSON, files and their places."""

from __future__ import annotations

import copy
import json
import os
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hypothesis import strategies as st

from tests.faults.damage import damaged

# Plan and records decide most, so they are damaged most.
FILES = (
    *("plan.json", "plan.json", "plan.json"),
    *("runs/*/record.json", "runs/*/record.json", "runs/*/record.json"),
    "fingerprint.json",
    "gates.json",
    "predictions.json",
    "verdict.json",
)
ODD_VALUES: tuple[Any, ...] = (
    *(
        None,
        True,
        False,
        0,
        -1,
        1,
        2**63,
        2**64,
        10**30,
        10**400,
        1e308,
        -1e308,
        1e-308,
    ),
    *(float("nan"), float("inf"), float("-inf"), 1e300, 0.1, 1e12),
    *("", "x", "../../x", "premium", "ultra", "insert", "a\0b", "\ud800", "x" * 5000),
    *([], {}, [[]], [None], {"a": 1}, [1, 2, 3], {"": None}, [{}], "nan", "1"),
)
Place = tuple[str | int, ...]


@dataclass(frozen=True)
class Damage:
    """What is done to a folder. `name` is shown when it is not survived."""

    name: str
    do: Callable[[Path], None]

    def __repr__(self) -> str:
        return self.name


def places(content: Any, above: Place = ()) -> list[Place]:
    """Where something stands in JSON, at any depth."""
    found: list[Place] = []
    entries: list[tuple[str | int, Any]] = []
    if isinstance(content, dict):
        entries = list(content.items())
    elif isinstance(content, list):
        entries = list(enumerate(content))
    for key, value in entries:
        found.append((*above, key))
        found += places(value, (*above, key))
    return found


def _container(content: Any, place: Place) -> Any:
    for key in place[:-1]:
        content = content[key]
    return content


def _removed(content: Any, place: Place, _odd: Any) -> None:
    del _container(content, place)[place[-1]]


def _replaced(content: Any, place: Place, odd: Any) -> None:
    _container(content, place)[place[-1]] = odd


def _doubled(content: Any, place: Place, _odd: Any) -> None:
    """An entry of a list twice; of an object under another name."""
    around = _container(content, place)
    again = copy.deepcopy(around[place[-1]])
    if isinstance(around, list):
        around.append(again)
    else:
        around["copy"] = again


def _scaled(content: Any, place: Place, _odd: Any) -> None:
    """A number ten times as large, of the other sign; a text without its first character."""
    around = _container(content, place)
    value = around[place[-1]]
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        around[place[-1]] = -10 * value
    elif isinstance(value, str):
        around[place[-1]] = value[1:]


def _larger(content: Any, place: Place, _odd: Any) -> None:
    around = _container(content, place)
    value = around[place[-1]]
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        around[place[-1]] = 10 * value + 1


CHANGES = (_removed, _replaced, _doubled, _scaled, _larger)


def _file(draw: st.DrawFn, folder: Path) -> Path:
    pattern = draw(st.sampled_from(FILES))
    return draw(st.sampled_from(sorted(folder.glob(pattern))))


@st.composite
def edits(draw: st.DrawFn, folder: Path) -> Damage:
    """One to three changes of values in a file; mostly it keeps the checksum of before."""
    file = _file(draw, folder)
    content = json.loads(file.read_text())
    names = []
    for _ in range(draw(st.integers(1, 3))):
        place = draw(st.sampled_from(places(content)))
        change = draw(st.sampled_from(CHANGES))
        odd = draw(st.sampled_from(ODD_VALUES))
        change(content, place, copy.deepcopy(odd))
        names.append(f"{change.__name__} {place} {odd!r:.20}")
        if not places(content):
            break
    if draw(st.integers(0, 2)) == 0 and isinstance(content, dict):
        content.pop("content_sha256", None)
        names.append("without its checksum")
    name = str(file.relative_to(folder))

    def do(damaged_folder: Path) -> None:
        (damaged_folder / name).write_text(json.dumps(content))

    return Damage(f"{name}: {'; '.join(names)}", do)


@st.composite
def texts(draw: st.DrawFn, folder: Path) -> Damage:
    """A file whose text was cut, doubled or mistyped."""
    file = _file(draw, folder)
    text = draw(damaged((file.read_text(),)))
    name = str(file.relative_to(folder))

    def do(damaged_folder: Path) -> None:
        content = text.encode(errors="surrogatepass")
        (damaged_folder / name).write_bytes(content)

    title = f"{name} as text"
    if '"content_sha256": "' not in text:
        title += " without its checksum"
    return Damage(title, do)


def _pipe(path: Path) -> None:
    _gone(path)
    os.mkfifo(path)


def _gone(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink()


def _link(path: Path) -> None:
    elsewhere = path.with_name(f"{path.name}-elsewhere")
    path.rename(elsewhere)
    path.symlink_to(elsewhere.name)


def _dangling(path: Path) -> None:
    _gone(path)
    path.symlink_to("me@host.123")


def _folder(path: Path) -> None:
    _gone(path)
    path.mkdir()


def _empty(path: Path) -> None:
    _gone(path)
    path.write_text("")


def _copied(path: Path) -> None:
    again = path.with_name(f"{path.name} (copy)")
    if path.is_dir():
        shutil.copytree(path, again)
    else:
        shutil.copy(path, again)


def _endless(path: Path) -> None:
    _gone(path)
    path.symlink_to("/dev/zero")


PUTS = (_pipe, _gone, _link, _dangling, _folder, _empty, _copied, _endless)


@st.composite
def strange_places(draw: st.DrawFn, folder: Path) -> Damage:
    """A file or folder that is gone, doubled, or has something else in its place; or two that have
    changed theirs."""
    all_names = sorted(str(path.relative_to(folder)) for path in folder.rglob("*"))
    name = draw(st.sampled_from(all_names))
    if draw(st.booleans()):
        other = draw(st.sampled_from(sorted(folder.glob("runs/*/record.json"))))
        record = str(other.relative_to(folder))
        another = draw(st.sampled_from(sorted(folder.glob("runs/*/record.json"))))
        place = str(another.relative_to(folder))

        def swap(damaged_folder: Path) -> None:
            content = (damaged_folder / place).read_bytes()
            shutil.copy(folder / record, damaged_folder / place)
            (damaged_folder / record).write_bytes(content)

        return Damage(f"{record} and {place} swapped", swap)
    put = draw(st.sampled_from(PUTS))

    def do(damaged_folder: Path) -> None:
        put(damaged_folder / name)

    return Damage(f"{name}: {put.__name__}", do)


def damages(folder: Path) -> st.SearchStrategy[Damage]:
    """What may have become of a sound folder."""
    return st.one_of(
        edits(folder), edits(folder), texts(folder), strange_places(folder)
    )
