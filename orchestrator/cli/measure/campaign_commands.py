"""`tierbench run`, `compare`, `rehearse`, `resume` and `analyze`: campaigns, from a command to its
exit code."""

from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from orchestrator import errors
from orchestrator.cli import REHEARSALS, RESULTS
from orchestrator.cli.common import forms, options as asked
from orchestrator.cli.common.command_making import takes
from orchestrator.cli.common.options import (
    Compared,
    Measuring,
    Options,
    Request,
    all_names,
)
from orchestrator.cli.measure.campaign_app import CampaignApp

REHEARSED_PROFILES = ["premium", "ultra"]
REHEARSED_WORKLOADS = ["point-select", "insert", "tpcc"]


@takes(Options, shown_as=forms.OF_ANSWERS)
def run(
    app: CampaignApp,
    options: Options,
    profile_name: asked.ProfileName = None,
    workload_name: asked.WorkloadName = None,
    profiles: asked.ProfilesOption = None,
    workloads: asked.WorkloadsOption = None,
) -> None:
    """One workload on one tier: start, load, warm up, measure, report, take down."""
    names = [name for name in (profile_name, workload_name) if name]
    pair = asked.profile_and_workload(names, all_names(profiles), all_names(workloads))
    request = Request.asked(options, [pair.profile], [pair.workload])
    # One tier alone decides nothing, so an open answer is no failure here.
    _carry_out(app, replace(request, accept_inconclusive=True))


@takes(Compared, shown_as=forms.OF_ANSWERS, repetitions=5)
def compare(
    app: CampaignApp,
    options: Compared,
    campaign_file: asked.CampaignFile = None,
    profiles: asked.ProfilesOption = None,
    workloads: asked.WorkloadsOption = None,
) -> None:
    """A whole plan: tiers × workloads × repetitions, interleaved, with deltas and a decision."""
    request = Request.asked(options, all_names(profiles), all_names(workloads))
    _carry_out(app, request)


@takes(shown_as=forms.OF_ANSWERS)
def rehearse(
    app: CampaignApp,
    campaign_file: asked.CampaignFile = None,
    profiles: asked.ProfilesOption = REHEARSED_PROFILES,
    workloads: asked.WorkloadsOption = REHEARSED_WORKLOADS,
    scale: asked.ScaleOption = "smoke",
    repeats: asked.RepeatsOption = 3,
    seed: asked.SeedOption = 1,
    slo: asked.SloOption = None,
    question: Annotated[str, typer.Option(metavar="SENTENCE")] = "",
    results: asked.ResultsOption = REHEARSALS,
) -> None:
    """Goes through a whole campaign in seconds, without Docker: its figures are made up."""
    sizes = Options(
        scale=scale,
        repetitions=repeats,
        seed=seed,
        slo=slo,
        question=question,
        results=results,
    )
    request = Request.asked(sizes, all_names(profiles), all_names(workloads))
    # Made-up figures decide nothing, so a rehearsal ends with 0 whatever they say.
    app.show(app.rehearse(request))


@takes(Measuring, shown_as=forms.OF_ANSWERS)
def resume(
    app: CampaignApp,
    campaign: asked.CampaignArgument,
    options: Measuring,
    despite: asked.DespiteOption = None,
    fail_if_worse: bool = False,
    accept_inconclusive: bool = False,
) -> None:
    """Goes on with a campaign that was ended: makes the runs that are missing."""
    from orchestrator.cli.measure.on_end import require_confirmed
    from orchestrator.cli.measure.resumed_campaign import resume

    require_confirmed(app)
    # `latest` may be another campaign when this one has ended.
    folder = app.folder(options.results, campaign).resolve()
    resume(app, folder, despite or (), options)
    _show(app, folder, fail_if_worse, accept_inconclusive)


@takes(shown_as=forms.OF_ANSWERS)
def analyze(
    app: CampaignApp,
    campaign: asked.CampaignArgument,
    slo: asked.SloOption = None,
    disk_metrics: list[Path] | None = None,
    disk: Annotated[
        list[str] | None, typer.Option(metavar="[PROFILE/]NODE[.wal]=DISK")
    ] = None,
    results: asked.ResultsOption = RESULTS,
) -> None:
    """Makes verdict and report of a stored campaign again, from its files alone."""
    folder = app.folder(results, campaign)
    if disk and not disk_metrics:
        raise errors.UsageError(
            "--disk names a disk of no file", "give --disk-metrics FILE too"
        )
    if disk_metrics:
        from orchestrator.registry.installed import carries_out

        keep = carries_out("--disk-metrics")
        keep(folder, disk_metrics, disk or (), app.progress.warn)
    app.show(folder, slo)


def _carry_out(app: CampaignApp, request: Request) -> None:
    plan = app.plan(request)
    if request.dry_run:
        from orchestrator.cli.measure import dry_run

        offline = request.offline
        # A dry run comes before --on-end has to be confirmed, because it never runs that command.
        raise typer.Exit(dry_run.show(app, plan, request.max_cost, offline))
    # Only here, because libraries of tables and of statistics come with the campaign.
    from orchestrator.cli.measure import campaign, look_ahead_shown, on_end

    for text in look_ahead_shown.warnings(plan):
        app.progress.warn(text)
    on_end.require_confirmed(app)
    # A function, because the folder gets its name only when the campaign begins.
    begun = campaign.begun_since_now(request.results)
    app.campaigns.append(begun)
    if request.on_end:
        app.at_end.append(on_end.ending_with(app, request.on_end, begun))
    app.progress.note(look_ahead_shown.spoken(plan))
    folder = app.carry_out(plan, request)
    _show(app, folder, request.fail_if_worse, request.accept_inconclusive)


def _show(
    app: CampaignApp, folder: Path, fail_if_worse: bool, accept_inconclusive: bool
) -> None:
    """Reports a campaign that was measured now; ends with its exit code."""
    from orchestrator.analysis.answers import campaign

    loaded, verdict = app.show(folder)
    # This comes before "inconclusive": a tier proven worse fails a pipeline, whatever else is open.
    if fail_if_worse and any(delta.verdict == "worse" for delta in verdict.deltas):
        raise typer.Exit(errors.EXIT_WORSE)
    answer = verdict.answer or campaign.campaign_answer(loaded, verdict)
    undecided = campaign.is_undecided(answer)
    # --accept-inconclusive takes an open answer, but never a run that was lost.
    if campaign.has_lost_runs(answer) or (undecided and not accept_inconclusive):
        raise typer.Exit(errors.EXIT_INCONCLUSIVE)
