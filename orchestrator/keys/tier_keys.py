"""The keys of a tier: where its real disks are, and which keys belong to which enforcement. Pure.

`disks` maps nodes to paths, `{node-1: /mnt/a, node-2: {data: /mnt/b, wal: /mnt/b-wal}}`, or gives
one pattern for all, `/mnt/p15-{node}`, which is kept as the disks of the node named `node-{node}`,
until `design/node_disks` knows how many nodes there are.

A key that its kind of disk does not use is refused: who wrote `path` believes that the disk there
was measured, and without `enforcement: mounted` it would have been an emulated one."""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, Any, Literal, Self

from pydantic import AfterValidator, BeforeValidator, model_validator

from orchestrator.keys.strict_records import ReadBy, Strict
from orchestrator.tier import DiskKind, NodeDisks, Snapshots

NUMBER = "{node}"
PATTERN = f"node-{NUMBER}"

# All but `none` and `dry`, of whose disks nothing is declared.
_DECLARED: tuple[DiskKind, ...] = (
    "emulated",
    "mounted",
    "storage-class",
    "existing",
)
# Key → the kinds of disk that use it; all other keys are used by every kind.
_USED_BY: Mapping[str, tuple[DiskKind, ...]] = {
    "type": _DECLARED,
    "iops": _DECLARED,
    "throughput": _DECLARED,
    "read_latency": _DECLARED,
    "write_latency": _DECLARED,
    "burst": _DECLARED,
    "io_unit": _DECLARED,
    "burst_time_scale": ("emulated",),
    "recorded": ("emulated",),
    "storage_class": ("storage-class",),
    "size": ("storage-class",),
    "allow_retained_volumes": ("storage-class",),
    "path": ("mounted",),
    "disks": ("mounted",),
    "file_system": ("mounted",),
    "mount_options": ("mounted",),
    "allow_root_disk": ("mounted",),
    "cloud": ("mounted",),
    "wal": _DECLARED,
    "snapshots": ("mounted", "storage-class"),
    "count": ("emulated", "mounted", "existing"),
    "shared_limit": ("emulated",),
}
# Keys that the tier of a log's disks does not have. Where they are is in `disks`, and the rest
# holds for both. Volumes of a log have a class and a size of their own.
_NOT_OF_LOGS = (
    "enforcement",
    "path",
    "disks",
    "wal",
    "cloud",
    "recorded",
    "snapshots",
    "file_system",
    "mount_options",
    "allow_root_disk",
    "allow_retained_volumes",
    "burst_time_scale",
    "count",
    "shared_limit",
)


def _absolute(path: str) -> str:
    if not path.startswith("/"):
        raise ValueError("give the directory in full, from /")
    for placeholder in re.findall(r"\{[^{}]*\}", path):
        if placeholder != NUMBER:
            raise ValueError(
                f"{placeholder} stands for nothing: write {NUMBER} for a node's number"
            )
    return path


def _path_of_data(value: object) -> object:
    """`/mnt/a` as `{data: /mnt/a}`; all else as it is."""
    if isinstance(value, str):
        return {"data": value}
    return value


def _by_node(value: object) -> object:
    """A pattern as the disks of PATTERN; a mapping of nodes as it is."""
    if isinstance(value, str):
        return {PATTERN: value}
    # No node is called so: these are the keys of the pattern itself.
    if isinstance(value, dict) and {"data", "wal"} & set(value):
        return {PATTERN: value}
    return value


def _option_list(value: object) -> object:
    """`noatime,discard` as a list; all else as it is."""
    if isinstance(value, str):
        return value.replace(",", " ").split()
    return value


Directory = Annotated[str, AfterValidator(_absolute)]


class NodeDisksYaml(Strict):
    """The disks of one node."""

    data: Directory
    wal: Directory | None = None


def _way_of_snapshots(value: object) -> object:
    """`snapshots: copy` as a mapping; all else as it is. ValueError for a way that is gone."""
    if value in ("reflink", {"way": "reflink"}):
        why = "runs wrote to shared blocks at a quarter of the rate"
        raise ValueError(f"`reflink` was removed, because {why}: write `copy`")
    if isinstance(value, str):
        return {"way": value}
    return value


class SnapshotsYaml(Strict):
    """How data loaded on a real disk are kept."""

    way: Literal["copy", "none"] | None = None
    path: Directory | None = None
    save: str | None = None
    restore: str | None = None

    @model_validator(mode="after")
    def _whole(self) -> Self:
        # A snapshot that nothing brings back would serve no run.
        if bool(self.save) != bool(self.restore):
            raise ValueError("`save` and `restore` belong together")
        ways = [way for way in (self.way, self.path, self.save) if way]
        if len(ways) != 1:
            raise ValueError(
                "give `copy` or `none`, or a mapping with `path`, or with `save` and "
                "`restore`"
            )
        return self

    def build(self) -> Snapshots:
        if self.way:
            return Snapshots(self.way, self.path)
        if self.path:
            return Snapshots("elsewhere", self.path)
        return Snapshots("command", None, self.save or "", self.restore or "")


NodeKey = Annotated[NodeDisks, ReadBy(NodeDisksYaml), BeforeValidator(_path_of_data)]


def _row_or_keys(value: object) -> object:
    """The WAL's tier as it is written. ValueError if it is neither a row nor has keys."""
    # pydantic would tell it twice, once of each type that the key may have.
    if value is None or isinstance(value, str | Mapping):
        return value
    raise ValueError("expected a row such as azure/P30, or keys and their values")


class RealDiskYaml(Strict):
    """The keys of a tier that say where its real disks are, and what must be found there."""

    path: Directory | None = None
    disks: Annotated[Mapping[str, NodeKey], BeforeValidator(_by_node)] = {}
    file_system: str | None = None
    mount_options: Annotated[tuple[str, ...], BeforeValidator(_option_list)] = ()
    cloud: Literal["azure", "aws", "gcp"] | None = None
    allow_root_disk: bool = False
    allow_retained_volumes: bool = False
    snapshots: Annotated[SnapshotsYaml, BeforeValidator(_way_of_snapshots)] | None = (
        None
    )
    # A tier by itself, read as one.
    wal: Annotated[Mapping[str, Any] | str | None, BeforeValidator(_row_or_keys)] = None

    @property
    def on_real_disks(self) -> bool:
        return bool(self.path or self.disks)


def mistakes(
    tier: Mapping[str, Any], kind: DiskKind, mechanism: str
) -> Iterator[tuple[str, str]]:
    """Key of a profile's `tier` → what is wrong with it. `kind`: of the disk that is to be made."""
    unused = unused_by(kind)
    for key, value in tier.items():
        if value is None or key not in unused:
            continue
        # The size says which size of a row is bought, whatever makes the disk here.
        if key == "size" and "type" in tier:
            continue
        users = _users_in_words(_USED_BY[key])
        remark = _remark_on_unused(key, kind)
        mistake = (
            f"belongs to `enforcement: {users}; here it is `{mechanism}`, {remark}"
        )
        yield key, mistake


def _remark_on_unused(key: str, kind: DiskKind) -> str:
    """Why a kind of disk does not use the key, and what to do."""
    if key == "count" and kind == "storage-class":
        # A stripe is a device of the machine, made by a privileged pod. Nor are directories on
        # several volumes one disk: YugabyteDB puts each tablet whole into one of them
        # (`GetAndRegisterDataAndWalDir` in its ts_tablet_manager.cc), so one volume may be full
        # while others rest.
        why = "and to stripe its volumes takes rights on the machine"
        return f"{why}: take a larger volume, or `enforcement: emulated`"
    why = "which does not use it"
    if key in ("path", "disks") and kind != "existing":
        advice = (
            "write `enforcement: mounted` to measure the disk there, or leave it out"
        )
        return f"{why}: {advice}"
    return f"{why}: leave it out"


def _users_in_words(kinds: Sequence[DiskKind]) -> str:
    """``a`, `b` or `c``, but without the first backtick, which stands before it already."""
    quoted = [f"{kind}`" for kind in kinds]
    if len(quoted) == 1:
        return quoted[0]
    first = ", `".join(quoted[:-1])
    return f"{first} or `{quoted[-1]}"


def of_logs(
    wal: Mapping[str, Any] | str, kind: DiskKind
) -> tuple[dict[str, Any], list[tuple[str, str]]]:
    """The keys of the tier of a log's disks, of the kind of those of the data, and key → what is
    wrong with it."""
    keys: dict[str, Any] = {}
    if isinstance(wal, str):
        keys["type"] = wal
    else:
        keys |= wal
    wrong = []
    for key in keys:
        if key in _NOT_OF_LOGS:
            wrong.append((f"wal.{key}", "is set for both disks, in the tier"))
    keys["enforcement"] = kind
    if kind == "mounted":
        # The places are said once, in `disks` of the tier; this only passes the checks.
        keys["disks"] = "/{node}"
    return keys, wrong


def unused_by(kind: DiskKind) -> tuple[str, ...]:
    """The keys that it does not use."""
    return tuple(key for key, users in _USED_BY.items() if kind not in users)
