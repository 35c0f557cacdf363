"""Texts that name a tier, as commands take them → the tier.

`azure/P15` is a row of the catalog, `azure/premium-v2:size=1TiB,iops=5000` a row with its keys, and
`azure/P15+wal=azure/P4` has a second disk for the log. A profile is named by its name or its file.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from orchestrator.errors import KeyPlace, UsageError
from orchestrator.keys import schema, yaml_text
from orchestrator.planning import (
    profiles as profile_files,
    project_files,
    virtual_machines,
)
from orchestrator.planning.named_files import find, names
from orchestrator.tier import Tier, disk_names
from orchestrator.tier.disk_names import DiskName
from orchestrator.tier_catalog import Catalog


def tier(
    root: Path,
    name: str,
    changes: Sequence[str],
    scale: str,
    mechanisms: schema.Kinds = schema.KINDS,
    vm: str | None = None,
    rows: Catalog | None = None,
) -> tuple[Tier, int | None]:
    """The tier of a profile (by name or file) or of a catalog row, as a node gets it on the
    `vm`, and the bytes that such a disk has (None: unknown).

    `changes`: `key=value` of the profile's `tier`, with values as in a file. `rows`: the catalog of
    `root`, if it was read before. UsageError with every mistake.
    """
    changed = _read_changes(changes)
    is_file = name.endswith((".yaml", ".yml"))
    if is_file or name in names(root / "profiles"):
        # Says by itself what is wrong with the name.
        find(root / "profiles", "profile", name)
        profiles, _ = project_files.read(
            root, [name], [], scale, mechanisms, tier_changes=changed
        )
        return profiles[0].tier, None
    if rows is None:
        rows = project_files.catalog(root)
    row = profile_files.read_row(name, changed, rows, mechanisms)
    return virtual_machines.on_vm(row, vm, rows), row.size_bytes


def _read_changes(changes: Sequence[str]) -> dict[str, Any]:
    """Keys of a tier, with values as in a file."""
    lines: list[str] = []
    for key, value in keys_and_values(changes).items():
        lines.append(f"{key}: {value}")
    if not lines:
        return {}
    return yaml_text.parse("options", "\n".join(lines))


def bought(
    root: Path, text: str, vm: str | None = None, rows: Catalog | None = None
) -> tuple[Tier, int | None]:
    """The tier of a row with its keys, `azure/premium-v2:size=1TiB,iops=5000`, and its disks'
    bytes.

    `azure/P15+wal=azure/P4` has a second disk on each node for its log alone. The bytes are those
    of all disks of the data together, None if unknown. `rows`, and UsageError, as of `tier`.
    """
    if rows is None:
        rows = project_files.catalog(root)
    disk = disk_names.read(text)
    if not disk.row or (disk.log is not None and not disk.log.row):
        layout = disk_names.with_log("azure/P15", "azure/P4")
        raise UsageError(
            f"{text!r} names no disk for its data or its log",
            advice=f"for example azure/P15, or {layout}",
        )
    chosen, size_bytes = _bought_row(root, disk, vm, rows)
    if disk.log is not None:
        log_tier, _ = _bought_row(root, disk.log, vm, rows)
        chosen = profile_files.with_log_beside(
            chosen, log_tier, KeyPlace(text, ("wal",)), rows
        )
    if size_bytes is None:
        return chosen, None
    return chosen, size_bytes * chosen.count


def _bought_row(
    root: Path, disk: DiskName, vm: str | None, rows: Catalog
) -> tuple[Tier, int | None]:
    every_scale = profile_files.ANY_SCALE
    return tier(root, disk.row, disk.keys, every_scale, vm=vm, rows=rows)


def row_and_changes(text: str) -> tuple[str, list[str]]:
    """The row of a disk, and `key=value` of each key. `azure/P15+wal=azure/P4` has the key
    `wal=azure/P4`, as a profile has it."""
    disk = disk_names.read(text)
    changes = list(disk.keys)
    if disk.log is not None and disk.log.row:
        changes.append(_log_key(disk.log))
    return disk.row, changes


def _log_key(log: DiskName) -> str:
    """The profile's key for the log's disk: `wal=azure/P4`, or `wal={type: …, size: 64GiB}`."""
    if not log.keys:
        return f"wal={log.row}"
    pairs = [f"type: {log.row}", *(key.replace("=", ": ", 1) for key in log.keys)]
    return f"wal={{{', '.join(pairs)}}}"


def keys_and_values(changes: Sequence[str]) -> dict[str, str]:
    """Key → value of each change. UsageError if one is none, or if a key stands twice."""
    values: dict[str, str] = {}
    for change in changes:
        key, value = key_and_value(change)
        if key in values:
            raise UsageError(
                f"the key {key!r} stands twice: {values[key]} and {value}",
                advice="give each key once",
            )
        values[key] = value
    return values


def key_and_value(change: str) -> tuple[str, str]:
    """`key=value` of a profile's tier. UsageError if it is none."""
    key, equals, value = change.partition("=")
    if not (equals and key and value):
        raise UsageError(
            f"{change!r} is not key=value",
            advice="for example `burst=full`; several values of an option are joined by "
            "commas",
        )
    return key, value
