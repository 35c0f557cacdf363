"""YugabyteDB's first-run checklist, gone through on nodes that are started for it."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

from orchestrator.cli.common.app import App
from orchestrator.cli.measure.database_choice import end_of_support, on_database
from orchestrator.databases.choice import PREFERRED
from orchestrator.design import machines
from orchestrator.design.factors import EXISTING
from orchestrator.errors import UsageError
from orchestrator.model import Cluster, ClusterSpec, Profile
from orchestrator.parts import AUTO, CheckedFact, FirstRun
from orchestrator.texts.prose import listed


def _nobody(_cluster: Cluster) -> None:
    """Reads nothing of a cluster that is up."""


def findings(
    app: App,
    version: str | None,
    platform: str | None = None,
    profile: Profile | None = None,
    results: Path | None = None,
    listen: Callable[[Cluster], None] = _nobody,
) -> Iterator[CheckedFact]:
    """Goes through YugabyteDB's checklist (docs/FIRST-RUN-YUGABYTEDB.md); keeps it in `results`,
    and lets `listen` read the cluster. On `platform`; `profile`: on the platform and the machines
    of that, with its release or image. UsageError if it cannot run there."""
    abilities = app.parts(None).databases[PREFERRED].abilities
    checklist = abilities.first_run
    assert checklist is not None, "it is preferred where that passed"
    spec = checklist.spec(version, {})
    placing = None
    if profile is not None:
        spec = _cluster_of_profile(checklist, profile, version)
        platform = profile.platform
        placing = profile.placing
    old = end_of_support(spec, app.clock)
    if old:
        app.progress.warn(old)
    with app.at_work(platform, placing) as world:
        # Brings the image if it can be had; else the checklist could only say that it is missing.
        if abilities.image_supply is not None:
            abilities.image_supply.obtain(spec, world.platform)
        facts = app.first_run(spec, world, listen)
        yield from checklist.kept(facts, spec, world, results)


def _cluster_of_profile(
    checklist: FirstRun, profile: Profile, version: str | None
) -> ClusterSpec:
    """The checklist's cluster, of the release that was asked for, else of the profile's."""
    cluster = on_database(profile.cluster, PREFERRED)
    if profile.cluster.database == EXISTING:
        raise UsageError(
            f"{profile.name} is an existing cluster, but the checklist starts "
            "its own nodes",
            "leave out --profile; a campaign says at once what an existing "
            "cluster lacks",
        )
    # Its release and settings are of another database, or another release is asked for.
    if profile.cluster.database not in (AUTO, PREFERRED) or version:
        cluster = replace(cluster, version=version, settings={})
    # The checklist's nodes are its own, three small ones: of these settings only the image counts.
    image_alone = {}
    if "image" in cluster.settings:
        image_alone["image"] = cluster.settings["image"]
    spec = checklist.spec(cluster.version, image_alone)
    # Two nodes would share a machine if there were fewer.
    engines = machines.named(profile)
    if 0 < len(engines) < spec.nodes:
        names = listed(engines)
        raise UsageError(
            f"the checklist starts {spec.nodes} nodes; {profile.name} names {names}",
            "name a machine for each node; or leave out --profile to run the "
            "checklist here",
        )
    return spec
