"""Profiles that are refused, with the place and the words of the mistake."""

from __future__ import annotations

from tests.plans import profile_text

NINES = "9" * 400


def cluster_text(**odd: str) -> str:
    """A cluster of one node, with these values in place of its own."""
    keys = {"cpus": "1", "memory": "256MiB", "disk": "2GiB", "nodes": "1", **odd}
    size = f"{{cpus: {keys['cpus']}, memory: {keys['memory']}, disk: {keys['disk']}}}"
    return f"{{nodes: {keys['nodes']}, replication_factor: 1, node: {{smoke: {size}}}}}"


MISTAKES = [
    ("title: a\ntitle: b\n", "profiles/x.yaml:2:1", "stands twice"),
    ("- a list\n", "profiles/x.yaml", "mapping"),
    ("a: [\n", "profiles/x.yaml:2:1", "expected"),
    (profile_text(cluster="big"), "cluster", "unknown cluster 'big'; known: small"),
    (profile_text("{iops: 500}"), "tier", "needs `iops` and `throughput`"),
    (profile_text("{enforcement: mounted}"), "tier", "needs `disks`"),
    (profile_text("{enforcement: magic}"), "tier.enforcement", "emulated"),
    (
        profile_text("{enforcement: mounted, path: mnt/data}"),
        "tier.path",
        "the directory in full, from /",
    ),
    (
        profile_text("{enforcement: mounted, path: /mnt/a, snapshots: {path: kept}}"),
        "tier.snapshots.path",
        "the directory in full, from /",
    ),
    (profile_text("{iops: 5, throughput: 250Mb/s}"), "tier.throughput", "in bits"),
    (
        profile_text("{iops: 5, throughput: 1MB/s, burst: {iop: 9, duration: 1min}}"),
        "tier.burst.iop",
        "did you mean iops?",
    ),
    (
        profile_text(
            cluster="{nodes: 1, replication_factor: 1, "
            "node: {smoke: {cpu: 1, memory: 1GiB, disk: 2GiB}}}"
        ),
        "cluster.node.smoke.cpu",
        "did you mean cpus?",
    ),
    (profile_text("{iops: 5,000, throughput: 1MB/s}"), "tier", "a comma in a number"),
    (
        profile_text("{iops: 9, throughput: 1MB/s, burst: {iops: 3, duration: 1min}}"),
        "tier",
        "`burst.iops` is not above `iops`",
    ),
]

# Values that no machine has, with the place that is named.
NO_MACHINE = [
    (profile_text(cluster=cluster_text(cpus="'inf'")), "cluster.node.smoke.cpus"),
    (profile_text(cluster=cluster_text(cpus="'nan'")), "cluster.node.smoke.cpus"),
    (profile_text(cluster=cluster_text(cpus="'1e400'")), "cluster.node.smoke.cpus"),
    (
        profile_text(cluster=cluster_text(memory=f"'{NINES}'")),
        "cluster.node.smoke.memory",
    ),
    (profile_text(cluster=cluster_text(disk=f"{NINES}GiB")), "cluster.node.smoke.disk"),
    (profile_text(cluster=cluster_text(nodes=f"'{NINES}'")), "cluster.nodes"),
    (profile_text(cluster=cluster_text(cpus=".inf")), "profiles/x.yaml:4:"),
    (profile_text(f"{{iops: {NINES}, throughput: 1MB/s}}"), "profiles/x.yaml:3:"),
    (profile_text(f"{{iops: '{NINES}', throughput: 1MB/s}}"), "tier.iops"),
    (profile_text(f"{{iops: 500, throughput: {NINES}MB/s}}"), "tier.throughput"),
    (
        profile_text(f"{{iops: 5, throughput: 1MB/s, read_latency: {NINES}s}}"),
        "read_latency",
    ),
    (
        profile_text("{iops: 5, throughput: 1MB/s, burst_time_scale: 'inf'}"),
        "burst_time_scale",
    ),
    (profile_text("{iops: 5, throughput: 1MB/s, as_of: [1, 2]}"), "tier.as_of"),
    (profile_text(f"{{type: azure/premium-v2, size: {NINES}GiB}}"), "tier.size"),
    (
        profile_text(f"{{type: azure/premium-v2, size: 64GiB, burst: '{NINES}'}}"),
        "tier.burst",
    ),
]
