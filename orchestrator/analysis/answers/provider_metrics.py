"""What a provider kept of a tier's disks may tell what limited it: which metrics to ask for. Pure.

Azure and AWS report when a limit of a disk or of its machine was reached (docs/SOURCES.md).
"""

import math
import shlex
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, fields

from orchestrator import units
from orchestrator.analysis import provider_names
from orchestrator.analysis.answers.asked import Asked
from orchestrator.analysis.conclusions import Bottleneck
from orchestrator.analysis.given_commands import results_words
from orchestrator.analysis.provider_names import Cloud
from orchestrator.analysis.telemetry.use.node_values import ProviderReport, VolumeCount
from orchestrator.design import node_disks
from orchestrator.design.nodes_by_role import nodes_of_role
from orchestrator.facts import BottleneckCause, DoubtKind, known_doubt_kind
from orchestrator.model import Record
from orchestrator.texts import prose
from orchestrator.tier.slow_disk import disk_of_node

_NOT_MEASURED: tuple[DoubtKind, ...] = ("rehearsal", "published figures")
_CLOUDS: Mapping[Cloud, str] = {"azure": "Azure", "aws": "AWS"}
# Causes that a disk's counters alone carry, and what was not found out.
_INFERRED: tuple[BottleneckCause, ...] = (
    "unattributed",
    "iops_cap",
    "bandwidth_cap",
    "vm_cap",
    "shared_cap",
    "latency_bound",
    "wal_disk_bound",
    "burst_exhausted",
)


@dataclass(frozen=True)
class ProviderMetrics:
    """profiles: whose cause they may tell. begin_s, end_s: of their runs, Unix. command: as a shell
    takes it, with FILE for the answer of the provider, and DISK for a disk that is in it. to_name:
    how many disks it has to name; the command has the first of them."""

    cloud: Cloud
    profiles: tuple[str, ...]
    begin_s: float
    end_s: float
    command: str
    to_name: int

    def in_words(self) -> str:
        begin = units.format_moment(self.begin_s)
        end = units.format_moment(self.end_s)
        others = ""
        if self.to_name > 1:
            others = f", with `--disk` for each of {self.to_name} disks"
        return (
            f"What limited {prose.listed(self.profiles)} was inferred, or not found out. "
            f"{_CLOUDS[self.cloud]} reports of limits. Ask it for the disks' metrics from {begin} "
            f"to {end} (docs/SOURCES.md), then `{self.command}`{others}."
        )


def of_campaign(asked: Asked) -> ProviderMetrics | None:
    """What to ask for. None where it would tell nothing, or no provider is known that has it."""
    # No provider has metrics of runs that nobody made.
    if any(
        known_doubt_kind(doubt.kind) in _NOT_MEASURED for doubt in asked.verdict.doubts
    ):
        return None
    # Nobody compares two clouds in one campaign, and a command is of one.
    for cloud, records in _by_cloud(asked).items():
        return _asked_of(asked, cloud, records)
    return None


def _by_cloud(asked: Asked) -> dict[Cloud, list[Record]]:
    """The runs of profiles of which nobody told what limited them, each with its cloud."""
    by_cloud: dict[Cloud, list[Record]] = {}
    for profile in _untold(asked):
        for record in _on_disks_of_providers(asked, profile):
            cloud = provider_names.cloud(record)
            if cloud is not None:
                by_cloud.setdefault(cloud, []).append(record)
    return by_cloud


def _untold(asked: Asked) -> Iterable[str]:
    profiles: dict[str, None] = {}
    for bottleneck in asked.verdict.bottlenecks:
        if _is_untold(bottleneck):
            profiles[bottleneck.profile] = None
    return profiles


def _is_untold(bottleneck: Bottleneck) -> bool:
    """Whether nothing but the counters of the machine carries the cause."""
    for counted in (*fields(ProviderReport), *fields(VolumeCount)):
        if counted.name in bottleneck.evidence:
            return False
    # A trial with other limits is a proof.
    return bottleneck.cause in _INFERRED and not bottleneck.elasticities


def _on_disks_of_providers(asked: Asked, profile: str) -> Iterator[Record]:
    for run in asked.campaign.done:
        record = run.record
        is_ours = record.profile.tier.disk.holds_limits
        if record.run.profile == profile and not is_ours and record.phases:
            yield record


def _asked_of(asked: Asked, cloud: Cloud, records: list[Record]) -> ProviderMetrics:
    first_runs: dict[str, Record] = {}
    begin_s = math.inf
    end_s = -math.inf
    for record in records:
        first_runs.setdefault(record.run.profile, record)
        begin_s = min(begin_s, record.phases[0].start_s)
        end_s = max(end_s, record.phases[-1].end_s)
    to_name = _all_to_name(asked, first_runs.values())
    return ProviderMetrics(
        cloud=cloud,
        profiles=tuple(first_runs),
        begin_s=begin_s,
        end_s=end_s,
        command=_command(asked, to_name[:1]),
        to_name=len(to_name),
    )


def _command(asked: Asked, disks: Iterable[str]) -> str:
    words = ["tierbench", "analyze", asked.campaign.name]
    words += results_words(asked.campaign)
    words += ["--disk-metrics", "FILE"]
    for disk in disks:
        words += ["--disk", disk]
    return shlex.join(words)


def _all_to_name(asked: Asked, records: Iterable[Record]) -> list[str]:
    disks: list[str] = []
    for record in records:
        disks += _disks_to_name(asked, record)
    return disks


def _disks_to_name(asked: Asked, record: Record) -> Iterator[str]:
    """`p15/node-1=DISK` for each disk that is not recognised by itself; as often as disks are
    striped to one."""
    profile = record.run.profile
    tier = record.profile.tier
    has_logs = node_disks.has_logs(tier)
    is_alone = len(asked.campaign.plan.profiles) == 1 and not has_logs
    for node in nodes_of_role(record.nodes, "database"):
        if not is_alone and not provider_names.of_disks(
            record, node.name, of_log=False
        ):
            yield from [f"{profile}/{node.name}=DISK"] * tier.count
        if has_logs and not provider_names.of_disks(record, node.name, of_log=True):
            log = disk_of_node(node.name, of_log=True)
            yield from [f"{profile}/{log}=DISK"] * node_disks.striped_of_log(tier)
