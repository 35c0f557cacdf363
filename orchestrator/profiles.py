"""YAML → Profile and Workload: every mistake at once, each with its file and YAML path.

Pure: takes texts, gives records. Units are parsed here and nowhere below; unknown keys and keys
given twice are refused, because a misspelt limit would silently be no limit.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Annotated, Any, Literal, TypeVar

import yaml
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError, model_validator

from orchestrator import units
from orchestrator.errors import Mistake, UsageError
from orchestrator.model import (
    Burst,
    ClusterSpec,
    Dataset,
    Enforcement,
    NodeSize,
    Price,
    Profile,
    Tier,
    Workload,
)

Bytes = Annotated[int, BeforeValidator(units.parse_bytes), Field(gt=0)]
BytesPerS = Annotated[int, BeforeValidator(units.parse_bytes_per_s), Field(gt=0)]
Seconds = Annotated[float, BeforeValidator(units.parse_seconds), Field(ge=0)]
Positive = Annotated[int, Field(gt=0)]
Parameter = int | float | str
Text = Annotated[str, BeforeValidator(str)]  # YAML reads a bare date or number as such

MIN_DISK_BYTES = 512 * 2**20  # XFS refuses less than 300 MiB, and a database needs its log
MIN_MEMORY_BYTES = 128 * 2**20


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class BurstYaml(_Strict):
    iops: Positive | None = None
    throughput: BytesPerS | None = None
    duration: Seconds
    start: Literal["full", "empty"] | Annotated[float, Field(ge=0, le=100)] = "full"

    def build(self) -> Burst:
        start = {"full": 100.0, "empty": 0.0}.get(str(self.start))
        return Burst(
            iops=self.iops,
            bytes_per_s=self.throughput,
            duration_s=self.duration,
            start_pct=float(self.start) if start is None else start,
        )


class PriceYaml(_Strict):
    monthly: Annotated[float, Field(ge=0)]
    currency: str
    region: str
    as_of: Text
    source: str


class TierYaml(_Strict):
    enforcement: Enforcement = "emulated"
    iops: Positive | None = None
    throughput: BytesPerS | None = None
    read_latency: Seconds | None = None
    write_latency: Seconds | None = None
    burst: BurstYaml | None = None
    io_unit: Bytes = 262_144
    path: str | None = None
    price: PriceYaml | None = None
    source: str = ""
    as_of: Text = ""
    notes: str = ""

    @model_validator(mode="after")
    def _whole(self) -> TierYaml:
        if self.enforcement == "mounted" and not self.path:
            raise ValueError("a mounted tier needs `path`: the directory where the disk is mounted")
        if self.enforcement == "emulated" and not (self.iops and self.throughput):
            raise ValueError("an emulated tier needs `iops` and `throughput`")
        burst = self.burst
        if burst and burst.iops and self.iops and burst.iops < self.iops:
            raise ValueError("`burst.iops` is below `iops`")
        if burst and burst.throughput and self.throughput and burst.throughput < self.throughput:
            raise ValueError("`burst.throughput` is below `throughput`")
        return self

    def build(self, name: str, title: str) -> Tier:
        return Tier(
            name=name,
            title=title,
            enforcement=self.enforcement,
            iops=self.iops,
            bytes_per_s=self.throughput,
            read_latency_s=self.read_latency,
            write_latency_s=self.write_latency,
            burst=self.burst.build() if self.burst else None,
            io_unit_bytes=self.io_unit,
            path=self.path,
            price=Price(**self.price.model_dump()) if self.price else None,
            source=self.source,
            as_of=self.as_of,
            notes=self.notes,
        )


class NodeYaml(_Strict):
    cpus: Annotated[float, Field(gt=0)]
    memory: Annotated[Bytes, Field(ge=MIN_MEMORY_BYTES)]
    disk: Annotated[Bytes, Field(ge=MIN_DISK_BYTES)]


class ClusterYaml(_Strict):
    database: str = "auto"
    version: Text | None = None
    nodes: Positive
    replication_factor: Positive
    port: Annotated[int, Field(gt=0, lt=65536)] | None = None
    node: Annotated[Mapping[str, NodeYaml], Field(min_length=1)]
    settings: Mapping[str, Text] = {}

    @model_validator(mode="after")
    def _whole(self) -> ClusterYaml:
        if self.replication_factor > self.nodes:
            raise ValueError("`replication_factor` is above `nodes`: a replica needs its own node")
        return self

    def build(self, scale: str) -> ClusterSpec:
        size = self.node[scale]
        return ClusterSpec(
            database=self.database,
            version=self.version,
            nodes=self.nodes,
            replication_factor=self.replication_factor,
            port=self.port,
            node=NodeSize(cpus=size.cpus, memory_bytes=size.memory, disk_bytes=size.disk),
            settings=dict(self.settings),
        )


class ProfileYaml(_Strict):
    question: str
    title: str
    tier: TierYaml
    cluster: ClusterYaml


class ScaleYaml(_Strict):
    dataset: Mapping[str, Parameter]
    threads: Positive
    loader_threads: Positive = 2
    warmup: Seconds
    measure: Annotated[Seconds, Field(gt=0)]
    options: Mapping[str, Parameter] = {}


class WorkloadYaml(_Strict):
    title: str
    generator: str
    script: str
    dataset: str
    statements_per_transaction: Positive | None = None
    options: Mapping[str, Parameter] = {}
    scales: Annotated[Mapping[str, ScaleYaml], Field(min_length=1)]


def read_profile(name: str, text: str, clusters: Mapping[str, str], scale: str) -> Profile:
    """`text` is profiles/<name>.yaml. Its `cluster` is a mapping, or names one of `clusters`.

    Raises UsageError with every mistake in the file.
    """
    where = f"profiles/{name}.yaml"
    content = _parse_yaml(where, text)
    cluster = content.get("cluster")
    if isinstance(cluster, str):
        if cluster not in clusters:
            raise _usage([Mistake(f"{where}: cluster", _unknown("cluster", cluster, clusters))])
        content["cluster"] = _parse_yaml(f"profiles/clusters/{cluster}.yaml", clusters[cluster])
    read = _validate(ProfileYaml, where, content)
    if scale not in read.cluster.node:
        what = _unknown("scale", scale, read.cluster.node)
        raise _usage([Mistake(f"{where}: cluster.node", what)])
    return Profile(
        name=name,
        question=read.question,
        tier=read.tier.build(name, read.title),
        cluster=read.cluster.build(scale),
    )


def read_workload(name: str, text: str, scale: str) -> Workload:
    """`text` is workloads/<name>.yaml. Raises UsageError with every mistake in the file."""
    where = f"workloads/{name}.yaml"
    read = _validate(WorkloadYaml, where, _parse_yaml(where, text))
    if scale not in read.scales:
        raise _usage([Mistake(f"{where}: scales", _unknown("scale", scale, read.scales))])
    size = read.scales[scale]
    return Workload(
        name=name,
        title=read.title,
        generator=read.generator,
        script=read.script,
        dataset=Dataset(family=read.dataset, parameters=dict(size.dataset)),
        scale=scale,
        threads=size.threads,
        loader_threads=size.loader_threads,
        warmup_s=size.warmup,
        measure_s=size.measure,
        statements_per_transaction=read.statements_per_transaction,
        options={**read.options, **size.options},
    )


@contextmanager
def collecting(mistakes: list[Mistake]) -> Iterator[None]:
    """Adds the mistakes of a UsageError raised inside to the list instead of passing it on."""
    try:
        yield
    except UsageError as error:
        mistakes.extend(error.mistakes or (Mistake("", error.what),))


def raise_all(mistakes: list[Mistake]) -> None:
    """One UsageError for all that was collected, if anything was."""
    if mistakes:
        raise _usage(mistakes)


def _usage(mistakes: list[Mistake]) -> UsageError:
    count = "one mistake" if len(mistakes) == 1 else f"{len(mistakes)} mistakes"
    return UsageError(
        f"{count} found; nothing was started",
        advice="correct them; `tierbench list` shows what there is",
        mistakes=tuple(mistakes),
    )


def _unknown(kind: str, name: str, known: Mapping[str, Any]) -> str:
    return f"unknown {kind} {name!r}; there is {', '.join(sorted(known)) or 'none'}"


class _NoDuplicates(yaml.SafeLoader):
    """PyYAML keeps the last of two equal keys without a word; we refuse."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        seen: set[Any] = set()
        for key_node, _ in node.value:
            key = self.construct_object(key_node, deep=True)
            if key in seen:
                raise yaml.MarkedYAMLError(
                    problem=f"the key {key!r} stands twice", problem_mark=key_node.start_mark
                )
            seen.add(key)
        return super().construct_mapping(node, deep)


def _parse_yaml(where: str, text: str) -> dict[str, Any]:
    try:
        content = yaml.load(text, Loader=_NoDuplicates)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark
        place = f"{where}:{mark.line + 1}:{mark.column + 1}" if mark else where
        raise _usage([Mistake(place, str(error.problem))]) from error
    if not isinstance(content, dict):
        raise _usage([Mistake(where, "expected a mapping of keys to values")])
    return content


_Model = TypeVar("_Model", bound=BaseModel)


def _validate(model: type[_Model], where: str, content: Mapping[str, Any]) -> _Model:
    try:
        return model.model_validate(content)
    except ValidationError as error:
        raise _usage(
            [Mistake(f"{where}: {_path(one['loc'])}", _say(one)) for one in error.errors()]
        ) from error


def _path(location: tuple[int | str, ...]) -> str:
    return ".".join(str(part) for part in location) or "(the whole file)"


def _say(one: Mapping[str, Any]) -> str:
    if one["type"] == "extra_forbidden":
        return "unknown key"
    if one["type"] == "missing":
        return "this key is missing"
    text = str(one["msg"]).removeprefix("Value error, ")
    given = "" if isinstance(one["input"], Mapping) else f" (given: {one['input']!r})"
    return text if "got" in text else f"{text}{given}"
