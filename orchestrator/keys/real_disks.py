"""The keys of a profile that say where the real disks of a tier are.

`disks` maps nodes to paths, `{node-1: /mnt/a, node-2: {data: /mnt/b, wal: /mnt/b-wal}}`, or gives
one pattern for all, `/mnt/p15-{node}` or `data: …` and `wal: …`, in which `{node}` is the node's
number. A pattern is kept as the disks of the node named `node-{node}`, until
`planning/node_disks` knows how many nodes there are.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, model_validator

from orchestrator.tier import NodeDisks, Snapshots

NUMBER = "{node}"
PATTERN = f"node-{NUMBER}"


def _absolute(path: str) -> str:
    if not path.startswith("/"):
        raise ValueError("give the directory in full, from /")
    return path


def _data(value: object) -> object:
    """One path is that of the data."""
    return {"data": value} if isinstance(value, str) else value


def _by_node(value: object) -> object:
    """A pattern as the disks of PATTERN; a mapping of nodes as it is."""
    pattern = isinstance(value, str) or (isinstance(value, dict) and {"data", "wal"} & set(value))
    return {PATTERN: value} if pattern else value


def _options(value: object) -> object:
    """`noatime,discard` as a list."""
    return value.replace(",", " ").split() if isinstance(value, str) else value


Directory = Annotated[str, AfterValidator(_absolute), Field(json_schema_extra={"pattern": "^/"})]


class NodeDisksYaml(BaseModel):
    """The disks of one node."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    data: Directory
    wal: Directory | None = None


def _one_word(value: object) -> object:
    """`snapshots: copy` as a mapping; everything else as it is."""
    return {"way": value} if isinstance(value, str) else value


Way = Literal["copy", "reflink", "none"]


class SnapshotsYaml(BaseModel):
    """How data loaded on a real disk are kept."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    way: Way | None = None
    path: str | None = None
    save: str | None = None
    restore: str | None = None

    @model_validator(mode="after")
    def _whole(self) -> SnapshotsYaml:
        if bool(self.save) != bool(self.restore):
            raise ValueError("`save` and `restore` belong together")
        if sum(map(bool, (self.way, self.path, self.save))) != 1:
            raise ValueError(
                "give `copy`, `reflink` or `none`, or a mapping with `path`, or with `save` and "
                "`restore`"
            )
        return self

    def build(self) -> Snapshots:
        way = self.way or ("elsewhere" if self.path else "command")
        return Snapshots(way, self.path, self.save or "", self.restore or "")


SnapshotsKey = Annotated[
    SnapshotsYaml, BeforeValidator(_one_word, json_schema_input_type=SnapshotsYaml | Way)
]
NodeKey = Annotated[
    NodeDisksYaml, BeforeValidator(_data, json_schema_input_type=NodeDisksYaml | Directory)
]


class RealDiskYaml(BaseModel):
    """The keys of a tier that say where its real disks are, and what must be found there."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)

    path: str | None = None
    disks: Annotated[
        Mapping[str, NodeKey],
        BeforeValidator(
            _by_node, json_schema_input_type=Directory | NodeDisksYaml | Mapping[str, NodeKey]
        ),
    ] = {}
    file_system: str | None = None
    mount_options: Annotated[
        tuple[str, ...], BeforeValidator(_options, json_schema_input_type=str | list[str])
    ] = ()
    cloud: Literal["azure", "aws", "gcp"] | None = None
    allow_root_disk: bool = False
    allow_retained_volumes: bool = False
    snapshots: SnapshotsKey | None = None

    @property
    def on_real_disks(self) -> bool:
        return bool(self.path or self.disks)

    def places(self) -> dict[str, Any]:
        """The fields of `Tier` that these keys fill."""
        return {
            **{name: getattr(self, name) for name in RealDiskYaml.model_fields},
            "disks": {name: NodeDisks(one.data, one.wal) for name, one in self.disks.items()},
            "snapshots": self.snapshots.build() if self.snapshots else None,
        }
