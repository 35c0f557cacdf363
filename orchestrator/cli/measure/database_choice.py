"""Profiles → profiles on the nodes and the database that they will run on. Nothing is started, but
images that can be had are brought."""

import contextlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from functools import cache, partial
from pathlib import Path

from orchestrator import parts, powers
from orchestrator.cli.common.app import PLATFORM, App
from orchestrator.cli.measure import reaching, reading
from orchestrator.databases import databases
from orchestrator.databases.choice import PREFERRED, choose
from orchestrator.design import factors, machines
from orchestrator.errors import UnavailableError, UsageError
from orchestrator.keys.refusals import near_names
from orchestrator.model import ClusterSpec, NodeSize, Note, Placing, Profile
from orchestrator.planning import plan, sizes
from orchestrator.platforms.common.local_machine import LocalMachine
from orchestrator.texts.prose import listed

_BY_DATABASE = "`node_of`, `settings_of` or `version_of` of the cluster"
Connected = Callable[[], powers.Platform]  # UnavailableError if it does not answer


def with_databases(
    app: App, draft: reading.PlanDraft, start_failure: str
) -> tuple[tuple[Profile, ...], tuple[Note, ...]]:
    """Binds profiles to nodes and a database where they run, with notes on what was changed."""
    request = draft.request
    connected = _connection(app, draft)
    fitted, notes = _on_fitting_nodes(draft, connected)
    choices: list[Note] = []
    chosen: list[Profile] = []
    for profile in fitted:
        # Notes come before it is bound: a bound cluster has forgotten what was for other databases.
        choices += _extension_notes(profile)
        bound, note = _on_its_database(app, draft, profile, connected, start_failure)
        chosen.append(bound)
        choices += _notes_on_choice(bound, note, app.clock)
    # Sizes come after all are bound, because one has to suit the profile with most nodes.
    if request.node_size:
        size = _node_size(chosen, connected, request.node_size)
        chosen = [sizes.with_node(profile, size) for profile in chosen]
    # A dry run brings nothing, not even an image.
    if not request.dry_run:
        _obtain_images(chosen, connected)
    # Several profiles have the same note, which is said once.
    return tuple(chosen), (*dict.fromkeys(choices), *notes)


def _notes_on_choice(
    bound: Profile, note: Note | None, clock: powers.Clock
) -> Iterator[Note]:
    """How `auto` chose, if it did, and that the release is out of support, if it is."""
    if note:
        yield note
    old = end_of_support(bound.cluster, clock)
    if old:
        yield Note("other", old)


def _connection(app: App, draft: reading.PlanDraft) -> Connected:
    """What connects to the platform, once however often it is called; in a dry run briefly."""
    # The profiles of a campaign are on the same machines (`platform_choice.py` checks that).
    placing = draft.profiles[0].placing
    request = draft.request
    if request.dry_run:
        return reaching.briefly(app, draft.platform, placing, request.offline)
    return cache(partial(app.connect, draft.platform, placing))


def _on_fitting_nodes(
    draft: reading.PlanDraft, connected: Connected
) -> tuple[tuple[Profile, ...], tuple[Note, ...]]:
    """The profiles with as many nodes as the machines carry, unless a number was asked for."""
    nodes = draft.request.nodes
    name_machines = any(machines.named(profile) for profile in draft.profiles)
    cores = []
    if not nodes:
        cores = _cores(connected, draft.platform != PLATFORM or name_machines)
    return plan.fit_to_machines(draft.profiles, nodes, cores)


def _on_its_database(
    app: App,
    draft: reading.PlanDraft,
    profile: Profile,
    connected: Connected,
    start_failure: str,
) -> tuple[Profile, Note | None]:
    """The profile on the database that was asked for, else on its own; with a note of how `auto`
    chose."""
    cluster = profile.cluster
    asked = draft.request.database
    # A cluster that others run has the database that it has, whatever --db says.
    if asked == parts.AUTO or factors.is_of_others(cluster):
        asked = cluster.database
    members = app.parts(None).databases
    proven = partial(_proven, cluster, connected, app.cache)
    place = _real_place(profile, draft.platform)
    name, note = choose(asked, members, proven, start_failure, place)
    return replace(profile, cluster=on_database(cluster, name)), note


def end_of_support(cluster: ClusterSpec, clock: powers.Clock) -> str:
    """A sentence if nodes would be started whose release is out of support, or soon will be."""
    supply = _image_supply(cluster)
    if supply is None:
        return ""
    today = datetime.fromtimestamp(clock.now(), UTC).date()
    return supply.end_of_support(cluster, today)


def _image_supply(cluster: ClusterSpec) -> parts.ImageSupply | None:
    database = databases().get(cluster.database)
    if database is None:
        return None
    return database.abilities.image_supply


def _real_place(profile: Profile, platform: str) -> str:
    """Where the profile's nodes run; empty for emulated disks of this machine.

    An engine that DOCKER_HOST names counts as this machine: Docker Desktop is one.
    """
    if machines.named(profile):
        return f"the machines of {profile.name}"
    if platform != PLATFORM:
        return platform
    if profile.tier.disk.is_real:
        return f"the real disk of {profile.name}"
    return ""


def _obtain_images(profiles: Sequence[Profile], connected: Connected) -> None:
    """Gets what can be had; the check of the database names all ways to get the others."""
    for profile in profiles:
        supply = _image_supply(profile.cluster)
        if supply is not None:
            with contextlib.suppress(UnavailableError):
                supply.obtain(profile.cluster, connected())


def _node_size(
    profiles: Sequence[Profile], connected: Connected, text: str
) -> NodeSize:
    """The size of a node: as given, or what the machines have for it.

    UnavailableError if none answers.
    """
    if text != "auto":
        return sizes.node_size(text)
    offered = []
    for machine in connected().machines_of_nodes():
        # What the platform says is taken first, because asking a machine starts a container there.
        facts = machine.facts_told or machine.facts()
        offered.append((facts.cpus, facts.memory_bytes))
    # One size for all tiers: another number of CPUs would look like another disk.
    nodes = 0
    disk_bytes = 0
    for profile in profiles:
        nodes = max(nodes, profile.cluster.nodes)
        if profile.cluster.node is not None:
            disk_bytes = max(disk_bytes, profile.cluster.node.disk_bytes)
    is_beside = _is_client_beside(profiles[0].placing)
    return sizes.of_machines(offered, nodes, disk_bytes, is_beside)


def _is_client_beside(placing: Placing | None) -> bool:
    """Whether the load runs on a machine of nodes, and takes a part of it."""
    if placing is None:
        return True
    return not (placing.client_machine or placing.client_selector)


def _unknown_names(cluster: ClusterSpec) -> list[str]:
    """The databases for which a profile says something, and which are not installed."""
    named = {*cluster.node_of, *cluster.settings_of, *cluster.version_of}
    return sorted(named - set(databases()))


def _extension_notes(profile: Profile) -> Iterator[Note]:
    """A note for each database of an extension that a profile names and that is not installed."""
    names = _unknown_names(profile.cluster)
    if names:
        text = (
            f"{_BY_DATABASE} names {listed(names)}, which no installed extension brings"
        )
        yield Note("no effect", text, profile.name)


def on_database(cluster: ClusterSpec, name: str) -> ClusterSpec:
    """The cluster of that database, with the size, release and settings that the profile has for
    it."""
    installed = list(databases())
    # Other names may be of extensions that are not installed here: that is noted, and no mistake.
    slips = [other for other in _unknown_names(cluster) if near_names(other, installed)]
    if slips:
        raise UsageError(
            f"{_BY_DATABASE} names {listed(slips)}",
            advice=f"write the name of a database: {listed(installed)}",
        )
    node = cluster.node_of.get(name, cluster.node)
    # What is set for this database goes before what is set for any.
    in_force = {**cluster.settings, **cluster.settings_of.get(name, {})}
    version = cluster.version_of.get(name, cluster.version)
    return replace(
        cluster,
        database=name,
        node=node,
        node_of={},
        settings=in_force,
        settings_of={},
        version=version,
        version_of={},
    )


def _cores(connected: Connected, elsewhere: bool) -> list[int]:
    """The cores of each machine that runs nodes.

    If no platform answers, these are the cores of this computer. If nodes are elsewhere, there are
    none.
    """
    try:
        cpus: list[int] = []
        for machine in connected().machines_of_nodes():
            facts = machine.facts_told or machine.facts()
            cpus.append(facts.cpus)
        return cpus
    except UnavailableError:
        if elsewhere:
            # Profiles keep their number of nodes if the cores of machines elsewhere are not known.
            return []
        # No engine answers, but its nodes would run on this computer.
        return [LocalMachine().facts().cpus]


def _proven(cluster: ClusterSpec, connected: Connected, folder: Path) -> str:
    # A checklist that passed is of one image: the one that this cluster would start.
    started = on_database(cluster, PREFERRED)
    checklist = databases()[PREFERRED].abilities.first_run
    if checklist is None:
        return ""
    try:
        return checklist.passed(started, connected(), folder)
    except UnavailableError:
        # What does not answer proves nothing, so `auto` does not take YugabyteDB.
        return ""
