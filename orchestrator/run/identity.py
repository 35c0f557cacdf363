"""What took part in a run beside profile and workload: scripts, images, mounted file systems.

It is kept so that runs of different times can be told apart, so a part that cannot be read is left
out ("not recorded") and never ends a run.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence

from orchestrator.collectors.common import local
from orchestrator.errors import TierbenchError
from orchestrator.facts import IdentityFacts
from orchestrator.kernel import containers, mounts
from orchestrator.model import Node
from orchestrator.platforms.common.machines import ToldOf
from orchestrator.powers import Platform, World
from orchestrator.run.context import RunContext

_DIGITS = 12  # of an image's id, as engines show it


def of_run(here: RunContext) -> IdentityFacts:
    """Reads it while the run's containers are up."""
    nodes, world = here.draft.nodes, here.world
    scripts = ""
    with contextlib.suppress(OSError, TierbenchError):
        scripts = here.generator.scripts(here.workload, world)
    return IdentityFacts(
        scripts=scripts or None,
        images=_images(nodes, world.platform),
        file_systems=dict(_file_systems(nodes, world)),
        machine_types=_machine_types(nodes, world.platform),
    )


def _machine_types(nodes: Sequence[Node], platform: Platform) -> dict[str, str]:
    """Database node → the type of its machine, where the platform says it."""
    told = {one.name: one.told for one in platform.machines() if isinstance(one, ToldOf)}
    machines = {node.name: told.get(node.machine) for node in nodes if node.role == "database"}
    return {name: one.instance_type for name, one in machines.items() if one and one.instance_type}


def _images(nodes: Sequence[Node], platform: Platform) -> dict[str, str]:
    """Role → its images, if the nodes of a role differ all of them."""
    found: dict[str, set[str]] = {}
    for node in nodes:
        if node.container is None:
            continue
        with contextlib.suppress(TierbenchError):
            if image := platform.container(node.container).find_image():
                short = image.removeprefix("sha256:")[:_DIGITS]
                found.setdefault(node.role, set()).add(short)
    return {role: ", ".join(sorted(images)) for role, images in found.items()}


def _file_systems(nodes: Sequence[Node], world: World) -> Iterator[tuple[str, str]]:
    """Node → `xfs rw,relatime,…`, as its own process sees the disk mounted."""
    for node in nodes:
        if node.role != "database" or not node.device:
            continue
        with contextlib.suppress(OSError, ValueError):
            machine = local.on(world.platform)(node)
            table = machine.read(f"/proc/{containers.process_of(machine, node)}/mountinfo")
            for mount in mounts.parsed(table):
                if mounts.device_name(mount, machine) == node.device:
                    yield node.name, f"{mount.kind} {mount.options}"
                    break
