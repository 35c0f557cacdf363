"""`tierbench calibrate`: the disk check of one profile, without a campaign."""

import typer

from orchestrator import errors
from orchestrator.cli.common import forms, options as asked
from orchestrator.cli.common.app import App
from orchestrator.cli.common.command_making import takes
from orchestrator.tier import Gate


@takes(shown_as=forms.OR_JSON)
def calibrate(
    app: App,
    profile: asked.ProfileOption,
    scale: asked.ScaleOption = "laptop",
    quick: bool = False,
    drain: bool = False,
) -> None:
    """Measures a profile's disk with fio against what its tier declares: about three minutes."""
    from orchestrator.report.rendering.terminal import TableView
    from orchestrator.report.sections.gates import gate_table
    from orchestrator.run.disks import busy_machines

    gate = disk_check(app, profile, scale, not quick, drain)
    app.progress.done()
    app.out.show(gate, TableView(gate_table(gate)))
    if gate.passed:
        raise typer.Exit(errors.EXIT_DONE)
    # The disk may be good and the check wrong if the machine is busy.
    busy = " and ".join(busy_machines.reasons(gate))
    if busy:
        app.err.print(f"This machine was busy during the check: {busy}.")
    raise typer.Exit(errors.EXIT_INCONCLUSIVE)


def disk_check(
    app: App, profile_name: str, scale: str, thorough: bool, drain: bool
) -> Gate:
    """Takes the disk check of one profile's tier: always measured, kept if it passed."""
    from orchestrator.cli.measure import platform_choice
    from orchestrator.design.factors import EXISTING
    from orchestrator.design.used_profiles import on_nodes
    from orchestrator.planning import notes
    from orchestrator.run.disks.gate_taking import GateTaker

    profile = platform_choice.placed(app, profile_name, scale=scale)
    tier = on_nodes(profile, profile.cluster.nodes).tier
    if profile.cluster.database == EXISTING:
        raise errors.UsageError(
            f"{profile_name}: tierbench cannot measure the disks of an existing "
            "cluster",
            "run fio on its nodes while nothing else uses them",
        )
    if drain:
        # Refuses what no disk of the profile can be asked for; a note is of a campaign.
        list(notes.of_options(["drain"], [profile]))
    with app.at_work(profile.platform, profile.placing) as world:
        mechanisms = app.parts(world.platform).tiers
        # What a tier cannot have here is refused before fio's three minutes.
        mechanisms[tier.disk.enforcement].check(tier, world)
        taker = GateTaker(mechanisms, world)
        return taker.take(
            tier,
            profile.cluster.nodes,
            thorough=thorough,
            drain=drain,
            may_be_kept=False,
        )
