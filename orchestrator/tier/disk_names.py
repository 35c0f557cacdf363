"""Names of disks, as commands take them and answers give them; they are read here alone.

`azure/P15` is a row of the catalog, `azure/premium-v2:size=1TiB,iops=5000` a row with its keys, and
`azure/P15+wal=azure/P4` has a second disk for the log.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

_LOG_SIGN = "+wal="


@dataclass(frozen=True)
class DiskName:
    """A disk by its row of the catalog, and the disk of its log, if that is another one.

    row: the name of a profile has this form too. keys: what the row leaves open, each `key=value`.
    """

    row: str
    keys: tuple[str, ...] = ()
    log: DiskName | None = None

    @property
    def provider(self) -> str:
        """`azure` of `azure/P15`."""
        return self.row.partition("/")[0]

    @property
    def leaves_nothing_open(self) -> bool:
        """Whether rows alone say what both disks are."""
        if self.log is not None and self.log.keys:
            return False
        return not self.keys


def read(text: str) -> DiskName:
    """The name in a text. Its row, or that of its log, is empty where the text has none."""
    if _LOG_SIGN not in text:
        return _read_one(text)
    data, log = text.split(_LOG_SIGN, maxsplit=1)
    return replace(_read_one(data), log=_read_one(log))


def _read_one(text: str) -> DiskName:
    row, _, parameters = text.partition(":")
    return DiskName(row, _keys_in(parameters))


def _keys_in(parameters: str) -> tuple[str, ...]:
    keys: list[str] = []
    for parameter in parameters.split(","):
        if parameter.strip():
            keys.append(parameter.strip())
    return tuple(keys)


def with_log(data: str, log: str) -> str:
    """The name of a layout, of the names of its disks."""
    return f"{data}{_LOG_SIGN}{log}"
