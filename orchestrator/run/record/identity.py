"""What took part in a run beside profile and workload, to tell runs of different times apart."""

import contextlib
from collections.abc import Iterator, Sequence

from orchestrator.errors import TierbenchError
from orchestrator.facts import IdentityFacts
from orchestrator.kernel import containers, mounts
from orchestrator.model import Node
from orchestrator.powers import Platform, World, machine_named
from orchestrator.run.record.run_context import RunContext

_DIGITS = 12  # digits of an image's id, as engines show it


def identity_of(here: RunContext) -> IdentityFacts:
    """What took part in the run beside profile and workload, to tell runs of different times
    apart.

    Read while containers are up. What cannot be read is left out, and never ends a run.
    """
    nodes = here.draft.nodes
    world = here.world
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
    by_machine: dict[str, str] = {}
    for machine in platform.machines():
        if machine.facts_told is not None:
            by_machine[machine.name] = machine.facts_told.instance_type
    type_by_node: dict[str, str] = {}
    for node in nodes:
        machine_type = by_machine.get(node.machine)
        if node.role == "database" and machine_type:
            type_by_node[node.name] = machine_type
    return type_by_node


def _images(nodes: Sequence[Node], platform: Platform) -> dict[str, str]:
    """Role → its images, if the nodes of a role differ all of them."""
    images_by_role: dict[str, set[str]] = {}
    for node in nodes:
        if node.container is None:
            continue
        # An image that the engine does not name is left out. It is no reason to lose a run.
        with contextlib.suppress(TierbenchError):
            image = platform.container(node.container).find_image()
            if image:
                # The id is cut as engines show it, so that a reader finds it in their lists.
                short = image.removeprefix("sha256:")[:_DIGITS]
                images_by_role.setdefault(node.role, set()).add(short)
    return {role: ", ".join(sorted(images)) for role, images in images_by_role.items()}


def _file_systems(nodes: Sequence[Node], world: World) -> Iterator[tuple[str, str]]:
    """Node → `xfs rw,relatime,…`, as its own process sees the disk mounted."""
    for node in nodes:
        if node.role != "database" or not node.device:
            continue
        with contextlib.suppress(OSError, ValueError):
            machine = machine_named(world.platform, node.machine)
            # The process's own mounts count: another may see the disk elsewhere, or not at all.
            process = containers.process_of(machine, node)
            table = machine.read(f"/proc/{process}/mountinfo")
            for mount in mounts.parsed(table):
                if mounts.device_name(mount, machine) == node.device:
                    yield node.name, f"{mount.kind} {mount.options}"
                    break
