"""What was read from a cluster that others run, and what the profile only declares of it."""

from __future__ import annotations

from collections.abc import Iterator

from orchestrator.analysis import results
from orchestrator.model import DISK_DEVICE, NODE_EXPORTER, PRESSURE, Profile, Record
from orchestrator.report.blocks import Stamp
from orchestrator.report.report_index import ReportIndex, closed, sentence
from orchestrator.units import listed

_VERIFIED = ("verify-full", "verify-ca")
_OF_MACHINES = (NODE_EXPORTER, DISK_DEVICE, PRESSURE)


def stamps(index: ReportIndex) -> Iterator[Stamp]:
    """One for each such cluster, and one more if nobody checked who it is."""
    for profile in index.profiles:
        if profile.cluster.database != "existing":
            continue
        records = [data.record for data in index.campaign.runs]
        done = [r for r in records if r.run.profile == profile.name and r.outcome == "done"]
        if not done:
            continue
        yield Stamp(f"{profile.name}: others run it", _known(profile, done[-1]), "")
        mode = results.database(done[-1]).more.get("tls")
        if isinstance(mode, str) and mode not in _VERIFIED:
            open_to_all = " and passwords and data went in the clear" * (mode == "off")
            text = f"With `tls: {mode}` nothing proves that it was this cluster which answered"
            yield Stamp(f"{profile.name}: not verified", closed(f"{text}{open_to_all}"), "")


def _known(profile: Profile, record: Record) -> str:
    read, declared, unknown = ["release"], list[str](), list[str]()
    facts, tier, size = results.database(record), profile.tier, profile.cluster.node
    nodes = [node for node in record.nodes if node.role == "database"]
    sources = {name for node in nodes for name in node.sources}
    if facts.durability:
        read.append("settings of durability")
    if facts.settings:
        read.append("other settings")
    (read if "replication_factor" in facts.more else declared).append("number of copies")
    if any(node.cpus for node in nodes):
        read.append("processors and memory of the nodes")
    elif size is not None:
        declared.append("size of the nodes")
    else:
        unknown.append("size of the nodes")
    (declared if tier.limits.iops or tier.limits.bytes_per_s else unknown).append(
        "limits of the disks"
    )
    for name, what in (
        (NODE_EXPORTER, "CPU, memory and network of the nodes"),
        (DISK_DEVICE, "load of the disks"),
        (PRESSURE, "time for which the nodes' tasks waited"),
    ):
        (read if name in sources else unknown).append(what)
    servers = "counters of the storage engine"
    (read if sources - set(_OF_MACHINES) else unknown).append(servers)
    parts = (("read", read), ("only declared", declared), ("not known", unknown))
    return " ".join(closed(sentence(f"{word}: {listed(what)}")) for word, what in parts if what)
