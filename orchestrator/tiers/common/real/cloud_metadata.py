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
from orchestrator.keys.shipped_yaml import shipped
from orchestrator.platforms import own_images
from orchestrator.powers import HOST_NETWORK, Machine, World
from orchestrator.system import http_client
from orchestrator.tier import Tier
from orchestrator.tiers.common.real.node_places import DiskPath

Ask = Callable[[str, str, Mapping[str, str]], str]  # method, URL, headers → body
Answer = Mapping[str, Any]  # facts of one device: its type, size, rates, caching
DisksAt = Mapping[DiskPath, mounts.RealDisk]

_TIMEOUT_S = 1.0  # the address answers at once, or nothing listens at it
_ASKING_S = 60.0  # the start of the container is included
# A rate this near to the tier's is the same: a MiB is 4.9 % more than a MB.
_SAME_PCT = 5.0


def of_clouds(subject: str) -> Mapping[str, Any]:
    """What cloud_metadata.yaml says of this."""
    return dict(shipped(__package__, "cloud_metadata.yaml")[subject])


@dataclass(frozen=True)
class _Service:
    """How a cloud's service is asked, and where its answer has what. Places are like `a.b.c`."""

    url: str
    headers: Mapping[str, str]
    # A token is asked for there first, and then handed in as this header of the question.
    token_url: str = ""
    token_headers: Mapping[str, str] = field(default_factory=dict)
    token_header: str = ""
    machine: str = ""  # place of the machine's size; "": that is all of the answer
    disks: str = ""  # place of the list of disks
    facts: Mapping[str, str] = field(default_factory=dict)  # our name → place in a disk
    numbers: Mapping[str, int] = field(default_factory=dict)  # facts that are, → unit
    # Templates of udev's links to a disk. Each system has one of them at most.
    links: Sequence[str] = ()


@dataclass(frozen=True)
class MetadataAnswer:
    """What a cloud answered about the disks of a tier.

    `disks`: path → what it says of each device under it. `differences`: from the profile.
    `warnings`: those that make it another disk than is meant, or why nothing was answered.
    """

    cloud: str = ""
    machine: str = ""
    disks: Mapping[str, Mapping[str, Answer]] = field(default_factory=dict)
    differences: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    failure: str = ""


def recorded(answers: Sequence[MetadataAnswer]) -> dict[str, Any]:
    """The answers of a tier's machines, as a run's facts keep them."""
    cloud = answers[0].cloud
    disks: dict[str, Any] = {}
    differences: list[str] = []
    machines: list[str] = []
    failures: list[str] = []
    for answer in answers:
        disks |= answer.disks
        differences += answer.differences
        machines.append(answer.machine)
        failures.append(answer.failure)
    facts: dict[str, Any] = {"provider": cloud}
    # Several machines of one size are told once.
    machines = _distinct(machines)
    if machines:
        facts["machine"] = ", ".join(machines)
        facts["machines"] = machines
    if disks:
        facts["disks"] = disks
    if differences:
        facts["differences"] = differences
    failures = _distinct(failures)
    if failures:
        facts["failure"] = "; ".join(failures)
    facts["not_told"] = of_clouds("not_told").get(cloud, "")
    return facts


def _distinct(texts: Sequence[str]) -> list[str]:
    """The texts that are not empty, each once."""
    return [text for text in dict.fromkeys(texts) if text]


def ask(method: str, url: str, headers: Mapping[str, str]) -> str:
    """Asks the service. OSError if it does not answer at once."""
    return http_client.get(
        url,
        _TIMEOUT_S,
        headers=headers,
        method=method,
        most_bytes=http_client.METADATA_BYTES,
    )


def asked_there(world: World) -> Ask:
    """`ask` from a container on a machine elsewhere, which answers about its own disks alone."""

    def asking(method: str, url: str, headers: Mapping[str, str]) -> str:
        program = shipped(__package__, "cloud_metadata.yaml")["asking"]
        spec = own_images.container(
            "disk",
            f"{world.scope}-metadata",
            ("python3", "-c", program, method, url, str(_TIMEOUT_S)),
            world,
            # A command line may be seen by all users of the
            # machine, and the headers may have a token.
            environment={"TOKEN_HEADERS": json.dumps(dict(headers))},
            # The link-local address is reached from the machine's own network alone.
            network=HOST_NETWORK,
            capabilities=(),
        )
        done = world.platform.once(spec, timeout_s=_ASKING_S)
        if done.exit_code == 0:
            return done.out
        lines = done.tail().strip().splitlines()
        if not lines:
            raise OSError(f"the question ended with {done.exit_code}")
        raise OSError(lines[-1])

    return asking


def about(
    tier: Tier, disks_at: DisksAt, machine: Machine, asking: Ask = ask
) -> MetadataAnswer:
    """What the cloud that the tier names says of its disks; nothing if it names none."""
    cloud = tier.disk.cloud
    if cloud is None:
        return MetadataAnswer()
    service = _Service(**of_clouds("clouds")[cloud])
    try:
        answered = _answered(service, machine, asking)
    except (OSError, *UNREADABLE) as error:
        # The cloud's answer only confirms the profile, so its silence is no reason to stop.
        failure = f"the metadata service of {cloud} told nothing: {error}"
        return MetadataAnswer(cloud, failure=failure, warnings=(failure,))
    disks: dict[str, Mapping[str, Answer]] = {}
    differences: list[str] = []
    contradictions: list[str] = []
    for place, disk in disks_at.items():
        by_device = _answers_of(cloud, disk, answered.disks, machine)
        disks[place.key] = _not_empty(by_device)
        meant = _meant(tier, place)
        if meant is not None:
            contradictions += _contradictions(place, meant, by_device)
            differences += _differences(place, meant, by_device)
    differences = contradictions + differences
    return MetadataAnswer(
        cloud=cloud,
        machine=answered.machine,
        disks=disks,
        differences=tuple(differences),
        warnings=tuple(contradictions),
    )


def _not_empty(by_device: Mapping[str, Answer]) -> dict[str, Answer]:
    return {device: answer for device, answer in by_device.items() if answer}


def _answers_of(
    cloud: str,
    disk: mounts.RealDisk,
    answers: Mapping[str, Answer],
    machine: Machine,
) -> dict[str, Answer]:
    """Each device of a disk, by name, with what is said of it; empty if nothing is."""
    by_device: dict[str, Answer] = {}
    for device in sorted(block_devices.physical(disk.device, machine)):
        by_device[device] = _answer_of(cloud, device, answers, machine)
    return by_device


def _contradictions(
    place: DiskPath, meant: Tier, by_device: Mapping[str, Answer]
) -> Iterator[str]:
    """What makes it another disk than is meant."""
    for device, answer in by_device.items():
        for text in _unlike_type(meant, answer):
            yield f"{place.title} is on {device}, {text}"


def _differences(
    place: DiskPath, meant: Tier, by_device: Mapping[str, Answer]
) -> Iterator[str]:
    # A tier of several striped disks declares their sum, and the cloud tells of each by itself.
    alone = len(by_device) == 1
    for device, answer in by_device.items():
        for text in _otherwise(meant, answer, alone):
            yield f"{place.title} is on {device}, {text}"


def _meant(tier: Tier, place: DiskPath) -> Tier | None:
    """The tier by which a disk is judged. None: a disk that holds only WAL may be of any kind."""
    if place.only_wal:
        return tier.wal
    return tier


def _answer_of(
    cloud: str, device: str, answers: Mapping[str, Answer], machine: Machine
) -> Answer:
    """What the cloud answers about a disk. On AWS only the model of the device says its type."""
    if cloud != "aws":
        return answers.get(device, {})
    facts = block_devices.facts(device, machine)
    kind = of_clouds("aws_models").get(str(facts.get("model")))
    if kind:
        return {"type": kind, "volume": facts.get("serial", "")}
    return {}


def _unlike_type(tier: Tier, answer: Answer) -> Iterator[str]:
    kind = str(answer.get("type", ""))
    meant = tier.origin.catalog_type
    if not meant or not kind:
        return
    named = of_clouds("types").get(kind)
    never = of_clouds("never").get(kind)
    # A type that we have no name for may be the one that is meant.
    if named not in (None, meant) or never == meant:
        yield f"which the cloud calls {kind}; the profile says {meant}"


def _otherwise(tier: Tier, answer: Answer, alone: bool) -> Iterator[str]:
    caching = str(answer.get("caching") or "None")
    if caching != "None":
        yield (
            f"with host caching {caching}: reads may come from the host and not "
            "from the disk"
        )
    # Limits that the machine's caps have lowered are not those of the disk.
    if not alone or tier.origin.vm_caps:
        return
    limits = tier.limits
    yield from _provisioned_otherwise(answer.get("iops"), limits.iops, "IOPS")
    rate = answer.get("bytes_per_s")
    yield from _provisioned_otherwise(rate, limits.bytes_per_s, "bytes/s")


def _provisioned_otherwise(
    provisioned: int | None, declared: int | None, unit: str
) -> Iterator[str]:
    # Azure, for one, tells figures of Ultra Disks alone.
    if not provisioned or not declared:
        return
    # A quotient would be rounded, and then 5 % be more than 5 %.
    if 100 * abs(provisioned - declared) > _SAME_PCT * declared:
        yield f"provisioned with {provisioned:,} {unit}; the profile says {declared:,}"


@dataclass(frozen=True)
class _Answered:
    """The size of the machine, and device → what is said of it."""

    machine: str
    disks: Mapping[str, Answer] = field(default_factory=dict)


def _answered(service: _Service, machine: Machine, asking: Ask) -> _Answered:
    headers = service.headers
    # AWS answers only with a token of IMDSv2, which a PUT gives.
    if service.token_url:
        token = asking("PUT", service.token_url, service.token_headers)
        headers = {service.token_header: token}
    body = asking("GET", service.url, headers)
    if not service.disks:
        return _Answered(body.strip())
    content = json.loads(body)
    disks: dict[str, Answer] = {}
    for disk in _at(content, service.disks):
        answer = _facts_of(disk, service)
        # The cloud names a disk by its LUN or name, and only udev's link says which device that is.
        link = _first_link(disk, service.links, machine)
        if link:
            disks[Path(machine.real_path(link)).name] = answer
    # Google says `projects/…/machineTypes/n2-standard-8`.
    return _Answered(_at(content, service.machine).rpartition("/")[2], disks)


def _facts_of(disk: Mapping[str, Any], service: _Service) -> Answer:
    """What the service says of a disk, by our names and in our units."""
    facts = {name: _at(disk, place) for name, place in service.facts.items()}
    for name, unit in service.numbers.items():
        # Azure says numbers as texts.
        facts[name] = int(facts[name] or 0) * unit
    return {name: value for name, value in facts.items() if value is not None}


def _first_link(
    disk: Mapping[str, Any], links: Sequence[str], machine: Machine
) -> str | None:
    """The first link to a disk that udev made."""
    for template in links:
        link = template.format_map(disk)
        if machine.exists(link):
            return link
    return None


def _at(content: Any, path: str) -> Any:
    """What is at `a.b.c`; None if the service left a part of it out."""
    for key in path.split("."):
        content = (content or {}).get(key)
    return content
