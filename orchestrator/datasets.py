"""Loaded data sets, kept as disk images: loaded once without any limit, then copied for each run.

A copy of the images of all nodes, taken after a clean stop, is a copy of the data set. So every
run of every tier starts from the same bytes, and repetitions do not drift as tables grow.
A data set is complete when its `dataset.json` is there; it is written last.
"""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

from orchestrator import host, store
from orchestrator.errors import UnavailableError
from orchestrator.model import ClusterSpec, NodeSize, Plan, Profile, Workload
from orchestrator.protocols import Parts, TierMechanism, World
from orchestrator.units import format_bytes

_LOADING_MEMORY_BYTES = 3 * 2**30


def ensure(
    profile: Profile, workload: Workload, seed: int, parts: Parts, world: World
) -> tuple[Path, ...] | None:
    """The images of the loaded data set, one per node; loaded now if they are not kept yet.

    None where the tier or the database cannot start from a copy: then the run loads by itself.
    """
    mechanism = parts.tiers[profile.tier.enforcement]
    database = parts.databases[profile.cluster.database]
    if not mechanism.keeps_images(profile.tier) or not database.keeps_images(profile.cluster):
        return None
    identity = _identity(profile.cluster, workload, seed, parts, world)
    key = hashlib.sha256(json.dumps(identity, sort_keys=True).encode()).hexdigest()[:16]
    folder = world.cache / "datasets" / key
    if not (folder / "dataset.json").is_file():
        _load(folder, identity, profile.cluster, workload, mechanism, parts, world)
    return tuple(sorted(folder.glob("node-*.img")))


def prefix_of(images: Sequence[Path] | None) -> str | None:
    """The network that a kept data set was loaded on: some databases start on no other."""
    if not images:
        return None
    content = json.loads((images[0].parent / "dataset.json").read_text())
    return str(content["prefix"]) if content.get("prefix") else None


def _identity(
    spec: ClusterSpec, workload: Workload, seed: int, parts: Parts, world: World
) -> dict[str, Any]:
    """Everything that decides the bytes on the disks."""
    return {
        "family": workload.dataset.family,
        "parameters": dict(workload.dataset.parameters),
        "loader": parts.load_generators[workload.generator].loader_version(workload, world),
        "database": spec.database,
        "image": parts.databases[spec.database].image(spec, world),
        "nodes": spec.nodes,
        "replication_factor": spec.replication_factor,
        "disk_bytes": spec.node.disk_bytes,
        "settings": dict(spec.settings),
        "seed": seed,
    }


def _load(
    folder: Path,
    identity: Mapping[str, Any],
    spec: ClusterSpec,
    workload: Workload,
    mechanism: TierMechanism,
    parts: Parts,
    world: World,
) -> None:
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    database = parts.databases[spec.database]
    generator = parts.load_generators[workload.generator]
    images = [folder / f"node-{number}.img" for number in range(1, spec.nodes + 1)]
    started_s = world.clock.monotonic()
    try:
        with ExitStack() as up:
            sizes = [spec.node.disk_bytes] * spec.nodes
            volumes = up.enter_context(mechanism.loading(sizes, images, world))
            prefix = up.enter_context(world.containers.network("tierbench-load"))
            world.tell.step(f"loading {workload.dataset.family}: starting {database.name}")
            cluster = up.enter_context(
                database.running(_roomy(spec), volumes, "tierbench-load", prefix, world)
            )
            client = up.enter_context(generator.client("tierbench-load", folder, world))
            world.tell.step(f"loading {workload.dataset.family} (once; later runs copy it)")
            generator.load(workload, cluster, client, world)
            database.settle(cluster, world)
            facts = dict(database.facts(cluster, world))
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise
    took_s = world.clock.monotonic() - started_s
    content = {
        **identity,
        "prefix": prefix,
        "loaded_s": world.clock.now(),
        "took_s": took_s,
        "facts": facts,
    }
    store.write_json(folder / "dataset.json", content)
    world.tell.note(
        f"loaded {workload.dataset.family} {dict(workload.dataset.parameters)} "
        f"in {took_s:.0f} s; kept for later runs"
    )


def _roomy(spec: ClusterSpec) -> ClusterSpec:
    """Loading is not measured: it may have more memory and CPU than the measured node."""
    node = NodeSize(
        cpus=max(spec.node.cpus, float(host.cpu_count())),
        memory_bytes=max(spec.node.memory_bytes, _LOADING_MEMORY_BYTES // spec.nodes),
        disk_bytes=spec.node.disk_bytes,
    )
    return replace(spec, node=node, port=None)


def check_space(plan: Plan, world: World) -> None:
    """UnavailableError where the disks of one run could not even hold the data they are sized for.

    Images are sparse, so their nominal size is an upper bound; a data set uses roughly what its
    disk is sized for, once as the kept copy and once as the running one.
    """
    for profile in plan.profiles:
        if profile.tier.enforcement == "none":
            continue
        place, copies = world.cache, 2
        # A real disk: no image, the data are loaded on it.
        if profile.tier.path is not None and profile.tier.enforcement != "emulated":
            place, copies = Path(profile.tier.path), 1
        free = host.free_bytes(place)
        wanted = copies * profile.cluster.nodes * profile.cluster.node.disk_bytes
        if wanted > free:
            raise UnavailableError(
                f"{profile.name} needs {format_bytes(wanted)} for the disks of "
                f"{profile.cluster.nodes} nodes; {place} has {format_bytes(free)} free",
                advice="take a smaller SCALE or fewer NODES, or put the cache elsewhere "
                "(TIERBENCH_CACHE)",
            )
        memory = profile.cluster.nodes * profile.cluster.node.memory_bytes
        if 0 < host.memory_bytes() < memory:
            raise UnavailableError(
                f"{profile.name} needs {format_bytes(memory)} of memory for "
                f"{profile.cluster.nodes} nodes; this machine has "
                f"{format_bytes(host.memory_bytes())}",
                advice="take a smaller SCALE or fewer NODES",
            )


def forget(cache: Path) -> tuple[str, ...]:
    """Removes all kept data sets and what a killed run left of its disks; one line each."""
    removed = []
    for folder in (cache / "datasets", cache / "disks", cache / "gates"):
        if folder.is_dir():
            files = (file for file in folder.rglob("*") if file.is_file())
            size = sum(file.stat().st_blocks * 512 for file in files)  # images are sparse
            shutil.rmtree(folder)
            removed.append(f"{folder} ({format_bytes(size)})")
    return tuple(removed)
