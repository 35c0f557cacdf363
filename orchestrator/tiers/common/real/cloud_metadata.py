"""What the cloud's own metadata service says of a machine's disks, held against the profile.

It is asked only if the profile names the cloud, at a link-local address that never leaves the host,
and on the machine that has the disks.
Sources: Azure, "Azure Instance Metadata Service" (instance, storageProfile; figures only of Ultra
Disks); links to disks by LUN, Azure/azure-vm-utils and WALinuxAgent. AWS, "Instance metadata
categories" and "Use IMDSv2"; "NVMe EBS volumes" (model, volume id as serial). Google Cloud,
"Default VM metadata values" (disks/) and "Disk symlinks" (google-<device name>)."""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from orchestrator.errors import UNREADABLE
from orchestrator.kernel import block_devices, mounts
from orchestrator.keys.strict_yaml import shipped
from orchestrator.platforms import own_images
from orchestrator.powers import HOST_NETWORK, Machine, World
from orchestrator.system import http_client
from orchestrator.tier import RealDisks, Tier
from orchestrator.tiers.common.real.node_places import DiskPath

Ask = Callable[[str, str, Mapping[str, str]], str]  # method, URL, headers → body
Told = Mapping[str, Any]
Found = Mapping[DiskPath, mounts.RealDisk]

_TIMEOUT_S = 1.0
_ASKING_S = 60.0  # with the container's start
_SAME_PCT = 5.0  # a provisioned rate this near to the tier's is the same, MB or MiB


def of_clouds(subject: str) -> Mapping[str, Any]:
    """What cloud_metadata.yaml says of this."""
    return dict(shipped(__package__, "cloud_metadata.yaml")[subject])


@dataclass(frozen=True)
class MetadataAnswer:
    """`disks`: path → what was told of each device under it. `differences`: from the profile.
    `warnings`: those that make it another disk than is meant, or why nothing was told."""

    cloud: str = ""
    machine: str = ""
    disks: Mapping[str, Told] = field(default_factory=dict)
    differences: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    failure: str = ""


def recorded(answers: Sequence[MetadataAnswer]) -> dict[str, Any]:
    """The answers of a tier's machines, as a run's facts keep them."""
    cloud = answers[0].cloud
    known = {
        "machine": ", ".join(
            dict.fromkeys(each.machine for each in answers if each.machine)
        ),
        "disks": {path: told for each in answers for path, told in each.disks.items()},
        "differences": [text for each in answers for text in each.differences],
        "failure": "; ".join(
            dict.fromkeys(each.failure for each in answers if each.failure)
        ),
    }
    named = {name: value for name, value in known.items() if value}
    return {
        "provider": cloud,
        **named,
        "not_told": of_clouds("not_told").get(cloud, ""),
    }


def ask(method: str, url: str, headers: Mapping[str, str]) -> str:
    """Asks the service. OSError if it does not answer at once."""
    return http_client.get(url, _TIMEOUT_S, headers=headers, method=method)


def asked_there(world: World) -> Ask:
    """`ask` from a container of a machine elsewhere: each is told of its own disks alone."""

    def asking(method: str, url: str, headers: Mapping[str, str]) -> str:
        asked = shipped(__package__, "cloud_metadata.yaml")["asking"]
        argv = ("python3", "-c", asked, method, url, str(_TIMEOUT_S))
        where = {"network": HOST_NETWORK, "capabilities": ()}
        headers_there = {"TOKEN_HEADERS": json.dumps(dict(headers))}
        name = f"{world.scope}-metadata"
        spec = own_images.container(
            "disk", name, argv, world, environment=headers_there, **where
        )
        done = world.platform.once(spec, timeout_s=_ASKING_S)
        if done.exit_code != 0:
            said = done.tail().strip().splitlines()
            raise OSError(
                said[-1] if said else f"the question ended with {done.exit_code}"
            )
        return done.out

    return asking


def about(
    tier: Tier, disks_at: Found, machine: Machine, asking: Ask = ask
) -> MetadataAnswer:
    """What the cloud that the tier names says of its disks; nothing if it names none."""
    if isinstance(tier.disk, RealDisks):
        cloud = tier.disk.cloud
    else:
        cloud = None
    if cloud is None:
        return MetadataAnswer()
    try:
        size, told_of = _read(of_clouds("clouds")[cloud], machine, asking)
    except (OSError, *UNREADABLE) as error:
        failure = f"the metadata service of {cloud} told nothing: {error}"
        return MetadataAnswer(cloud, failure=failure, warnings=(failure,))
    disks: dict[str, Told] = {}
    differences: list[str] = []
    contradictions: list[str] = []
    for place, disk in disks_at.items():
        devices = sorted(block_devices.physical(disk.device, machine))
        told = {device: _told(cloud, device, told_of, machine) for device in devices}
        disks[place.key] = {device: facts for device, facts in told.items() if facts}
        meant: Tier | None = tier
        if place.only_wal:
            meant = tier.wal
        if meant is None:
            continue
        for device, facts in disks[place.key].items():
            which = f"{place.title} is on {device}"
            contradictions += [
                f"{which}, {text}" for text in _of_another_type(meant, facts)
            ]
            alone = len(devices) == 1  # a stripe's figures are sums
            differences += [
                f"{which}, {text}" for text in _otherwise(meant, facts, alone)
            ]
    differences = contradictions + differences
    return MetadataAnswer(cloud, size, disks, tuple(differences), tuple(contradictions))


def _told(
    cloud: str, device: str, told_of: Mapping[str, Told], machine: Machine
) -> Told:
    if cloud != "aws":
        return told_of.get(device, {})
    facts = block_devices.facts(device, machine)
    kind = of_clouds("aws_models").get(str(facts.get("model")))
    if kind:
        return {"type": kind, "volume": facts.get("serial", "")}
    return {}


def _of_another_type(tier: Tier, told: Told) -> Iterator[str]:
    kind = str(told.get("type", ""))
    meant = tier.origin.catalog_type
    if not meant or not kind:
        return
    named = of_clouds("types").get(kind)
    never = of_clouds("never").get(kind)
    if named not in (None, meant) or never == meant:
        yield f"which the cloud calls {kind}; the profile says {meant}"


def _otherwise(tier: Tier, told: Told, alone: bool) -> Iterator[str]:
    caching = str(told.get("caching") or "None")
    if caching != "None":
        yield f"whose host caching is {caching}: reads may come from the host and not from the disk"
    if not alone or tier.origin.vm_caps:
        return
    for name, mine, word in (
        ("iops", tier.limits.iops, "IOPS"),
        ("bytes_per_s", tier.limits.bytes_per_s, "bytes/s"),
    ):
        provisioned = told.get(name)
        if provisioned and mine and abs(provisioned / mine - 1) * 100 > _SAME_PCT:
            yield f"provisioned with {provisioned:,} {word}; the profile says {mine:,}"


def _read(
    how: Mapping[str, Any], machine: Machine, asking: Ask
) -> tuple[str, dict[str, Told]]:
    """The size of the machine and what is told of each device that udev's links name."""
    headers = how["headers"]
    token = how.get("token")
    if token:
        headers = {token["header"]: asking("PUT", token["url"], token["headers"])}
    answer = asking("GET", how["url"], headers)
    if "disks" not in how:
        return answer.strip(), {}
    content = json.loads(answer)
    told_of = dict[str, Told]()
    for disk in _at(content, how["disks"]):
        told = {name: _at(disk, path) for name, path in how["facts"].items()}
        told |= {
            name: int(told[name] or 0) * unit for name, unit in how["numbers"].items()
        }
        links = [link.format_map(disk) for link in how["links"]]
        link = next(filter(machine.exists, links), None)
        if link:
            device = Path(machine.real_path(link)).name
            told_of[device] = {
                name: value for name, value in told.items() if value is not None
            }
    return _at(content, how["machine"]).rpartition("/")[2], told_of


def _at(content: Any, path: str) -> Any:
    """What is at `a.b.c`; None if the service left a part of it out."""
    for key in path.split("."):
        content = (content or {}).get(key)
    return content
