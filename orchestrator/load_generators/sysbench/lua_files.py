"""Which Lua files a workload of ours runs, and one hash of them all.

A script beside it that belongs to another workload may change without changing this one.
"""

from __future__ import annotations

import hashlib
import re
from pathlib import Path

_REQUIRED = re.compile(r"""require\s*\(?\s*["']([\w.]+)["']""")


def content_hash(workloads: Path, script: str) -> str:
    """Returns twelve hexadecimal digits over the script, the `load.lua` beside it, and all that
    they require, from their folder or from `lib/`. Modules of LuaJIT itself are in the image."""
    first = workloads / script
    digest = hashlib.sha256()
    for file in sorted(_closure([first, first.with_name("load.lua")], workloads / "lib")):
        digest.update(str(file.relative_to(workloads)).encode() + b"\0")
        digest.update(file.read_bytes() + b"\0")
    return digest.hexdigest()[:12]


def _closure(files: list[Path], lib: Path) -> set[Path]:
    found: set[Path] = set()
    folder, open_ends = files[0].parent, list(files)
    while open_ends:
        file = open_ends.pop()
        if file in found or not file.is_file():
            continue
        found.add(file)
        names = _REQUIRED.findall(file.read_text())
        open_ends += [place / f"{name}.lua" for name in names for place in (folder, lib)]
    return found
