"""A profile's settings for YugabyteDB: read, checked, refused. Pure.

A setting is one of `OWN`, or a flag of the servers: `name` for both, `master.name` or
`tserver.name` for one. Flags that give durability up, or keep the cluster from coming up, are
refused."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Literal, Self

from orchestrator.databases.common.cluster_checks import setting_mistake, shape_mistakes
from orchestrator.errors import Mistake
from orchestrator.keys.shipped_yaml import shipped
from orchestrator.model import ClusterSpec, Volume
from orchestrator.yugabyte import releases, server_facts, versions

# A master needs 512 MiB at least (flags.py); a tablet server and sessions need more.
MIN_MEMORY_BYTES = 3 * 2**29
REPLICATION_FACTORS = (1, 3, 5)
OWN = (
    "durability",
    "tls",
    "zones",
    "wal_directory",
    "image",
    "restore",
)  # docs/research/YUGABYTEDB.md

_YAML = {"true": "on", "false": "off"}  # YAML's reading of an unquoted `on` and `off`
_NAME = re.compile(r"(?:(master|tserver)\.)?([a-z][a-z0-9_]*)")
_ZONE = re.compile(r"[A-Za-z0-9_-]+(\.[A-Za-z0-9_-]+){2}")
_NO_SYNC = (
    "without `durability: durable` no commit waits for a sync, so no sync can be "
    "taken away"
)
_DURABLE = (
    "it decides what survives a power cut: use `durability: default` or `durable`"
)


@dataclass(frozen=True)
class Settings:
    """The settings of a profile. `wal_disk`: whether nodes have a disk for the WAL, by the tier."""

    version: versions.Version
    tls: bool
    own_wal_directory: bool
    wal_disk: bool
    restores: bool
    durability: Literal["default", "durable"] = "default"
    zones: tuple[str, ...] = ()
    image: str | None = None
    master_flags: Mapping[str, str] = field(default_factory=dict)
    tserver_flags: Mapping[str, str] = field(default_factory=dict)

    @property
    def fault_tolerance(self) -> str:
        """The loss that the placement must survive: of a zone, if there are several."""
        if len(set(self.zones)) > 1:
            return "zone"
        return "none"

    def on(self, volume: Volume) -> Self:
        """The settings on the disks of a node."""
        return replace(self, wal_disk=bool(volume.wal))


def read(spec: ClusterSpec) -> tuple[Settings, tuple[Mistake, ...]]:
    """The settings, a mistaken one as its default, and all mistakes in them and in the shape."""
    mistakes = [*_mistakes_of_shape(spec)]
    texts = dict(spec.settings)
    durable = _is_second("durability", ("default", "durable"), texts, mistakes)
    tls = _is_second("tls", ("off", "on"), texts, mistakes)
    if spec.without == "commit" and not durable:
        mistakes.append(setting_mistake("durability", _NO_SYNC))
    durability: Literal["default", "durable"] = "default"
    if durable and spec.without != "commit":
        durability = "durable"
    own_wal = _is_second("wal_directory", ("shared", "own"), texts, mistakes)
    loads = _is_second("restore", ("copy", "load"), texts, mistakes)
    zones = _zones(
        texts.pop("zones", None), spec.nodes, spec.replication_factor, mistakes
    )
    version = _version(spec.version, mistakes)
    image = texts.pop("image", None) or _image_for_arm(spec, version)
    # Whatever no line above has taken out of `texts` must be a flag of the servers.
    flags = _flags(texts, version, mistakes)
    settings = Settings(
        version=version,
        durability=durability,
        tls=tls,
        zones=zones,
        own_wal_directory=own_wal,
        image=image,
        restores=not loads,
        master_flags=flags["master"],
        tserver_flags=flags["tserver"],
        wal_disk=False,
    )
    return settings, tuple(mistakes)


def _image_for_arm(spec: ClusterSpec, version: versions.Version) -> str | None:
    """The image of a `version` that ends with an architecture, which no server's version has."""
    if (spec.version or "").strip().endswith(versions.ARM):
        return f"{releases.REPOSITORY}:{version}{versions.ARM}"
    return None


def _mistakes_of_shape(spec: ClusterSpec) -> Iterator[Mistake]:
    yield from shape_mistakes(spec, MIN_MEMORY_BYTES, "a master, a tablet server")
    copies = spec.replication_factor
    if copies not in REPLICATION_FACTORS:
        text = f"{copies} copies: a majority needs an odd number; 1, 3 or 5 are set up here"
        yield Mistake("cluster.replication_factor", text)


def _is_second(
    name: str, words: tuple[str, str], texts: dict[str, str], mistakes: list[Mistake]
) -> bool:
    """Whether the second of two words was chosen; the first is the default. Takes the setting out
    of `texts`."""
    value = texts.pop(name, words[0]).strip().lower()
    value = _YAML.get(value, value)
    if value not in words:
        mistakes.append(
            setting_mistake(name, f"{value!r} is none of {', '.join(words)}")
        )
    return value == words[1]


def _version(text: str | None, mistakes: list[Mistake]) -> versions.Version:
    try:
        return versions.parse(text or versions.DEFAULT)
    except ValueError as error:
        mistakes.append(Mistake("cluster.version", str(error)))
        return versions.parse(versions.DEFAULT)


def _zones(
    text: str | None, nodes: int, copies: int, mistakes: list[Mistake]
) -> tuple[str, ...]:
    """The zone of each node. By default there are as many as copies, node after node."""
    if text is None:
        # yugabyted places copies in the zones of the first nodes: one in a further zone has none.
        numbers = [i % copies + 1 for i in range(nodes)]
        return tuple(f"tierbench.local.zone{number}" for number in numbers)
    zones = tuple(re.split(r"[\s,]+", text.strip()))
    wrong = [zone for zone in zones if not _ZONE.fullmatch(zone)]
    if wrong:
        mistakes.append(
            setting_mistake("zones", f"{', '.join(wrong)}: write cloud.region.zone")
        )
    elif len(zones) != nodes:
        mistakes.append(
            setting_mistake(
                "zones", f"{len(zones)} zones for {nodes} nodes: one for each"
            )
        )
    return zones


def _flags(
    texts: Mapping[str, str], version: versions.Version, mistakes: list[Mistake]
) -> dict[str, dict[str, str]]:
    """Server → flags."""
    reserved = dict.fromkeys(server_facts.names_of("durability"), _DURABLE)
    for group in shipped(__package__, "flags.yaml")["reserved"]:
        reserved |= dict.fromkeys(group["flags"], group["why"])
    flags: dict[str, dict[str, str]] = {"master": {}, "tserver": {}}
    for key, value in texts.items():
        match = _NAME.fullmatch(key)
        if match is None:
            text = f"neither one of {', '.join(OWN)} nor the name of a flag"
            mistakes.append(setting_mistake(key, text))
            continue
        server = match[1]
        name = match[2]
        if name in reserved:
            mistakes.append(
                setting_mistake(key, f"cannot be set here: {reserved[name]}")
            )
            continue
        wrong = _wrong_value(value, version)
        if wrong:
            mistakes.append(setting_mistake(key, wrong))
        elif server:
            flags[server][name] = value
        else:
            flags["master"][name] = value
            flags["tserver"][name] = value
    return flags


def _wrong_value(value: str, version: versions.Version) -> str:
    """Why a flag's value cannot be passed on through yugabyted; "" if it can."""
    if any(sign in value for sign in "{}\n"):
        return "braces and line breaks cannot be passed to a server"
    if "," in value and not version.has("braced_flags"):
        return f"{version} splits flags at every comma, so a value cannot hold one"
    return ""
