"""What is written goes through one writer, and texts are UTF-8 wherever the program runs.

Goal: nothing that a campaign leaves is half written, open to others, or written through a link; and
no text is read by a locale's rules. Method: the syntax tree of every module.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from tests.sources import MODULES, PACKAGE, nodes

WRITER = "system/files"
# Modules that write something besides results, by their own means.
OTHERS = {
    "cli/__init__": "copies what a wheel has shipped into a folder of the cache",
    "cli/look/export": "`--output` may name a pipe or a device, which cannot be replaced",
    "platforms/common/archives": "unpacks, past links, what comes from a container",
    "system/marked": "marks folders; runs alone on machines elsewhere",
    "platforms/own_images": "copies what an image is built of into a temporary folder",
    "databases/yugabytedb/image": "copies what an image is built of into a temporary folder",
    "report/rendering/page": "keeps Vega's code in the cache; no level below has a writer",
    "run/data/datasets": "sets the time at which a data set was used",
    "extensions/standing_disks/standing": "makes the folder at which a disk is mounted",
}
WRITING = {
    "write_text", "write_bytes", "mkdir", "makedirs", "touch", "copy2", "copytree",
    "copyfile", "copyfileobj", "to_csv", "to_parquet", "to_json", "extractall",
}  # fmt: skip
# Others have methods of these names too.
OWNER = {"copy": "shutil", "extract": "archive"}
MODES_THAT_WRITE = set("wax+")


def _calls() -> Iterator[tuple[str, ast.Call]]:
    """Every call, with the module that it is in."""
    for file in MODULES:
        place = file.relative_to(PACKAGE).with_suffix("").as_posix()
        for node in nodes(file):
            if isinstance(node, ast.Call):
                yield place, node


def _called(call: ast.Call) -> tuple[str, str]:
    """Of what is called its owner, as far as that is a name, and its name."""
    if isinstance(call.func, ast.Name):
        return "", call.func.id
    if isinstance(call.func, ast.Attribute):
        owner = ""
        if isinstance(call.func.value, ast.Name):
            owner = call.func.value.id
        return owner, call.func.attr
    return "", ""


def _mode(call: ast.Call) -> str | None:
    """How a call of `open` opens a file; None if it opens something else."""
    owner, name = _called(call)
    if name != "open" or owner in ("os", "tarfile", "opener", "_public"):
        return None
    arguments = list(call.args)
    if isinstance(call.func, ast.Name):
        arguments = arguments[1:]
    for keyword in call.keywords:
        if keyword.arg == "mode":
            arguments = [keyword.value]
    if not arguments:
        return "r"
    if isinstance(arguments[0], ast.Constant):
        return str(arguments[0].value)
    return "w"  # one that is told later may write


def _writes(call: ast.Call) -> bool:
    owner, name = _called(call)
    if name == "to_csv":
        return bool(call.args)  # else it returns the text
    if name == "to_json" and isinstance(call.func, ast.Name):
        return False  # pydantic's function, which returns bytes; tables have a method
    if name in OWNER:
        return owner == OWNER[name]
    mode = _mode(call)
    if mode is not None:
        return bool(MODES_THAT_WRITE & set(mode))
    return name in WRITING and owner != "files"


def test_nothing_but_the_writer_writes_results() -> None:
    found = set()
    stray = []
    for place, call in _calls():
        if place == WRITER or not _writes(call):
            continue
        found.add(place)
        if place not in OTHERS:
            stray.append(f"{place}:{call.lineno}")
    assert stray == [], "write by orchestrator/system/files.py"
    assert set(OTHERS) <= found, "these write nothing by themselves any more"


def test_every_text_is_read_and_written_as_utf_8() -> None:
    by_locale = []
    for place, call in _calls():
        _, name = _called(call)
        mode = _mode(call)
        is_text = mode is not None and "b" not in mode
        is_text = is_text or (
            name in ("read_text", "write_text") and len(call.args) < 1
        )
        encodings = [keyword.arg for keyword in call.keywords]
        if is_text and "encoding" not in encodings:
            by_locale.append(f"{place}:{call.lineno}")
    assert by_locale == [], 'give encoding="utf-8"'
