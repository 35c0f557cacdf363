"""Names of disks in words: rows of the catalog with what was chosen of them. Pure."""

import re
from collections.abc import Iterable, Sequence

from orchestrator.texts import prose
from orchestrator.tier import disk_names
from orchestrator.tier.disk_names import DiskName

# An amount and its unit, as a parameter has them.
_GLUED = re.compile(r"^([0-9.]+)([A-Za-z])")


def specified(disk: str) -> str:
    """`aws/gp3 (2 × 250 GiB, 3,000 IOPS, 125 MiB/s)`. `disk`: as the catalog or
    `disk_in_words` has it. A layout with a second disk: `azure/P15, log on azure/P4`."""
    name = disk_names.read(disk)
    if name.log is not None:
        return f"{_with_shape(name)}, log on {_with_shape(name.log)}"
    return _with_shape(name)


def _with_shape(name: DiskName) -> str:
    shape = _shape(name)
    if not shape:
        return name.row
    return f"{name.row} ({shape})"


def row_in_words(disk: str) -> str:
    """`aws/gp3`, or `azure/P15, log on azure/P4`: what a headline has room for."""
    name = disk_names.read(disk)
    if name.log is not None:
        return f"{name.row}, log on {name.log.row}"
    return name.row


def shapes_in_words(disks: Sequence[str]) -> str:
    """Chosen sizes and limits of disks whose catalog rows leave them open, each once: `250 GiB,
    3,000 IOPS` of one; of several, or of a layout with a log's disk, behind their names."""
    if len(disks) == 1:
        name = disk_names.read(disks[0])
        if name.log is None:
            return _shape(name)
    texts: dict[str, None] = {}
    for disk in disks:
        if not disk_names.read(disk).leaves_nothing_open:
            texts[specified(disk)] = None
    return prose.listed([*texts])


def _shape(name: DiskName) -> str:
    """`2 × 250 GiB, 3,000 IOPS, 125 MiB/s`; empty for a row that leaves nothing open."""
    values = _parameters(name.keys)
    size = values.pop("size", "")
    count = values.pop("count", "1")
    if count != "1":
        size = f"{count} × {size}"
    texts = [size]
    for key, value in values.items():
        # A rate has its unit in its value, IOPS have it in their name.
        if key == "iops" and value.isdigit():
            value = f"{int(value):,} IOPS"
        texts.append(value)
    return ", ".join(text for text in texts if text)


def _parameters(parameters: Iterable[str]) -> dict[str, str]:
    """`size=250GiB`, `count=2` → size `250 GiB`, count `2`."""
    values: dict[str, str] = {}
    for parameter in parameters:
        key, _, value = parameter.partition("=")
        values[key] = _GLUED.sub(_apart, value)
    return values


def _apart(figure: re.Match[str]) -> str:
    """`4,000 G`, of the `4000G` with which `4000GiB` begins."""
    digits, unit = figure.groups()
    if digits.isdigit():
        digits = f"{int(digits):,}"
    return f"{digits} {unit}"
