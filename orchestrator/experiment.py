"""The flow: a plan becomes runs, runs leave records. Reads aloud; no part's name occurs here.

`execute` does, in this order:
 1. remove what an earlier, killed campaign left behind
 2. check everything that could fail late: databases, generators, tiers, space; nothing starts
 3. write plan and fingerprint
 4. for each run, nested so that each thing is taken down in reverse order whatever happens:
    the data set loaded (once, then copied) → the tier's disks, which passed their gate → the
    database cluster → the client → warm-up → measured window, sampled all the while
 5. write the run's record before the next begins

A run that fails is recorded as failed and the plan goes on; an interrupt is recorded and passed on.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from orchestrator import datasets, host, store
from orchestrator.errors import RunError, TierbenchError
from orchestrator.gates import Gates, believe
from orchestrator.model import (
    Cluster,
    ClusterSpec,
    Gate,
    Node,
    Outcome,
    Phase,
    Plan,
    Record,
    Run,
    Volume,
)
from orchestrator.plan import TimeLeft, as_used
from orchestrator.protocols import Parts, Result, World
from orchestrator.telemetry import Readings, sampling


def execute(
    plan: Plan, parts: Parts, world: World, results: Path, fingerprint: Mapping[str, Any]
) -> Path:
    """Carries out `plan`; returns the campaign's folder. Raises what stops the whole campaign."""
    for line in world.containers.sweep():
        world.tell.note(f"removed a leftover: {line}")
    check(plan, parts, world)
    folder = store.create(results, plan, fingerprint, world.clock.now())
    gates = Gates(parts.tiers, world)
    left = TimeLeft(plan)
    for run in plan.runs:
        world.tell.run(run.slug, run.number, len(plan.runs), left.before(run))
        started_s = world.clock.monotonic()
        _run_and_record(plan, run, parts, gates, folder, world)
        left.took(run, world.clock.monotonic() - started_s)
    return folder


def check(plan: Plan, parts: Parts, world: World) -> None:
    """Everything that could fail late, before anything starts."""
    for profile in plan.profiles:
        parts.tiers[profile.tier.enforcement].check(profile.tier, world)
        checked: list[ClusterSpec] = []
        for workload in plan.workloads:
            cluster = as_used(profile, workload).cluster
            if cluster not in checked:
                parts.databases[cluster.database].check(cluster, world)
                checked.append(cluster)
            parts.load_generators[workload.generator].check(workload, cluster, world)
    datasets.check_space(plan, world)


# ------------------------------------------------------------------ one run


@dataclass
class _Draft:
    """What is known of a run so far; becomes its Record whatever happens."""

    phases: list[Phase]
    nodes: tuple[Node, ...] = ()
    gate: Gate | None = None
    result: Result | None = None
    readings: Readings | None = None
    facts: dict[str, Any] | None = None


def _run_and_record(
    plan: Plan, run: Run, parts: Parts, gates: Gates, folder: Path, world: World
) -> None:
    draft = _Draft(phases=[])
    place = store.run_folder(folder, run)
    outcome: Outcome = "done"
    failure: str | None = None
    try:
        _run(plan, run, parts, gates, place, draft, world)
    except RunError as error:
        outcome, failure = "failed", error.what
        (place / "raw" / "failure.txt").write_text(f"{error.what}\n\n{error.evidence}\n")
        world.tell.warn(f"{run.slug} failed: {error.what}")
    except (KeyboardInterrupt, TierbenchError):
        outcome, failure = "interrupted", "stopped before the run ended"
        raise
    finally:
        _save(plan, run, place, draft, outcome, failure)


def _run(
    plan: Plan, run: Run, parts: Parts, gates: Gates, place: Path, draft: _Draft, world: World
) -> None:
    workload = plan.workload(run.workload)
    profile = as_used(plan.profile(run.profile), workload)
    mechanism = parts.tiers[profile.tier.enforcement]
    database = parts.databases[profile.cluster.database]
    generator = parts.load_generators[workload.generator]
    with _phase("load", draft, world):
        images = datasets.ensure(profile, workload, plan.seed, parts, world)
    with _phase("prepare", draft, world):
        draft.gate = gates.of(profile.tier)
        believe(draft.gate)
    with ExitStack() as up:
        with _phase("prepare", draft, world):
            world.tell.step(f"attaching {profile.tier.title}")
            sizes = [profile.cluster.node.disk_bytes] * profile.cluster.nodes
            volumes = up.enter_context(mechanism.attached(profile.tier, sizes, images, world))
            network = f"tierbench-{run.number}"
            prefix = up.enter_context(world.containers.network(network, datasets.prefix_of(images)))
            world.tell.step(f"starting {database.name}, {profile.cluster.nodes} node(s)")
            cluster = up.enter_context(
                database.running(profile.cluster, volumes, network, prefix, world)
            )
            up.callback(_keep_logs, cluster, place, world)
            client = up.enter_context(generator.client(network, place / "raw", world))
        draft.nodes = _watched(cluster, volumes, client)
        draft.readings = up.enter_context(sampling(draft.nodes, parts.collectors, world.clock))
        if images is None:
            with _phase("load", draft, world):
                world.tell.step(f"loading {workload.dataset.family}")
                generator.load(workload, cluster, client, world)
                database.settle(cluster, world)
        with _phase("prepare", draft, world):
            world.tell.step("warming the cache")
            database.warm(cluster, world)
            database.begin_measuring(cluster, world)
        before = dict(database.facts(cluster, world))
        world.tell.step("warm-up, then measuring", workload.warmup_s + workload.measure_s)
        warmup, measure = generator.run(workload, cluster, client, place / "raw", world)
        draft.phases += [warmup, measure]
        draft.facts = {
            "tier": dict(mechanism.facts()),
            "database_before": before,
            "database": dict(database.facts(cluster, world)),
            "checked": dict(generator.verify(workload, cluster, world)),
        }
    draft.result = generator.read(workload, place / "raw", measure.start_s, measure.end_s)


def _watched(cluster: Cluster, volumes: Sequence[Volume], client: Node) -> tuple[Node, ...]:
    servers = [volume.server for volume in volumes if volume.server is not None]
    return (*cluster.nodes, client, *servers, _machine())


def _machine() -> Node:
    """What all of them share on a laptop; on a cluster of machines, the client's."""
    return Node(
        name="host",
        role="host",
        cpus=float(host.cpu_count()),
        memory_bytes=host.memory_bytes() or None,
    )


@contextmanager
def _phase(name: Any, draft: _Draft, world: World) -> Iterator[None]:
    start_s = world.clock.now()
    try:
        yield
    finally:
        draft.phases.append(Phase(name, start_s, world.clock.now()))


def _keep_logs(cluster: Cluster, place: Path, world: World) -> None:
    """Called while the containers still exist, also on failure and interrupt."""
    for node in cluster.nodes:
        with contextlib.suppress(TierbenchError):
            log = world.containers.logs(node.container or node.name)
            (place / "raw" / f"{node.name}.log").write_text(log)


def _save(
    plan: Plan, run: Run, place: Path, draft: _Draft, outcome: Outcome, failure: str | None
) -> None:
    result, readings = draft.result, draft.readings
    workload = plan.workload(run.workload)
    facts = dict(draft.facts or {})
    if changes := store.limit_changes(place):
        facts["limit_changes"] = changes
    if readings is not None:
        facts["telemetry"] = readings.facts()
    if result is not None:
        facts["generator"] = dict(result.facts)
    record = Record(
        schema_version=store.SCHEMA_VERSION,
        run=run,
        profile=as_used(plan.profile(run.profile), workload),
        workload=workload,
        outcome=outcome,
        failure=failure,
        phases=tuple(draft.phases),
        nodes=draft.nodes,
        measurements=result.measurements if result and outcome == "done" else (),
        gate=draft.gate,
        facts=facts,
    )
    samples = readings.table(draft.phases) if readings is not None else None
    intervals = result.intervals if result is not None else None
    store.save_run(place, record, intervals, result.latencies if result else None, samples)
