"""The command line: arguments → calls, errors → messages and exit codes. No other logic.

Exit codes: 0 done · 1 a contender is worse (only with --fail-if-worse), or `verify` found a
difference · 2 inconclusive or invalid runs · 64 bad profile or arguments · 69 something needed is
unavailable · 70 our own fault · 130 interrupted.
"""

from __future__ import annotations

import os
import sys
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import typer
from rich.markup import escape

from orchestrator.cli import ROOT
from orchestrator.cli.commands import LazyGroup, Program
from orchestrator.cli.console import ConsoleProgress, LastingConsole
from orchestrator.cli.options import (
    AcceptOption,
    CampaignArgument,
    Compared,
    DrainOption,
    FailOption,
    FirstRunOption,
    JsonOption,
    Options,
    PlacingOption,
    PlatformOption,
    ProfileOption,
    ProfilesOption,
    QuickOption,
    Request,
    ResultsOption,
    ScaleOption,
    SloOption,
    VersionOption,
    WorkloadOption,
    WorkloadsOption,
    names_in,
    takes,
)
from orchestrator.errors import (
    EXIT_DONE,
    EXIT_INCONCLUSIVE,
    EXIT_INTERNAL,
    EXIT_INTERRUPTED,
    EXIT_UNAVAILABLE,
    EXIT_USAGE,
    EXIT_WORSE,
    InterruptedByUser,
    TierbenchError,
    UsageError,
)

if TYPE_CHECKING:  # what only the work needs is imported where it is done: see test_start_up.py
    from orchestrator.analysis.conclusions import Verdict
    from orchestrator.analysis.results import Results
    from orchestrator.model import Profile

CACHE = Path(os.environ.get("TIERBENCH_CACHE") or ROOT / ".cache")
RESULTS = ROOT / "results"
REHEARSALS = CACHE / "rehearsals"  # apart from what was measured

_out = LastingConsole()
_err = LastingConsole(stderr=True)
_progress = ConsoleProgress(_err)


class _Commands(LazyGroup):
    session = Program(
        ROOT,
        CACHE,
        RESULTS,
        REHEARSALS,
        _out,
        _progress,
        lambda folder, as_json: _conclude(folder, as_json),
    )


app = typer.Typer(
    cls=_Commands,
    help="Which disk tier should this distributed SQL database run on? Measured, not guessed.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)


@app.command()
@takes(Options)
def run(
    profile: ProfileOption,
    workload: WorkloadOption,
    options: Options,
    results: ResultsOption = RESULTS,
    as_json: JsonOption = False,
) -> None:
    """One workload on one tier: start, load, warm up, measure, report, take down."""
    request = Request(profiles=[profile], workloads=[workload], **vars(options))
    _carry_out(request, results, as_json, fail_if_worse=False, accept_inconclusive=True)


@app.command()
@takes(Compared, repetitions=5)
def compare(
    profiles: ProfilesOption,
    workloads: WorkloadsOption,
    options: Compared,
    results: ResultsOption = RESULTS,
    as_json: JsonOption = False,
    fail_if_worse: FailOption = False,
    accept_inconclusive: AcceptOption = False,
) -> None:
    """A whole plan: tiers × workloads × repetitions, interleaved, with deltas and a decision."""
    request = Request(profiles=names_in(profiles), workloads=names_in(workloads), **vars(options))
    _carry_out(request, results, as_json, fail_if_worse, accept_inconclusive)


@app.command()
def analyze(
    campaign: CampaignArgument,
    slo: SloOption = None,
    as_json: JsonOption = False,
    results: ResultsOption = RESULTS,
) -> None:
    """Makes verdict and report of a stored campaign again, from its files alone."""
    from orchestrator.system import stored_campaigns

    _conclude(stored_campaigns.resolve(results, campaign), as_json, slo)


@app.command(name="report")
def show_report(campaign: CampaignArgument = "latest", results: ResultsOption = RESULTS) -> None:
    """Shows the newest campaign again (or the one named)."""
    from orchestrator.system import stored_campaigns

    _conclude(stored_campaigns.resolve(results, campaign), as_json=False)


@app.command()
def calibrate(
    profile: ProfileOption,
    scale: ScaleOption = "laptop",
    quick: QuickOption = False,
    drain: DrainOption = False,
) -> None:
    """Measures a profile's disk with fio against what its tier declares: about three minutes."""
    from orchestrator import report
    from orchestrator.cli import campaign
    from orchestrator.tiers.common.emulated import host_load

    gate = campaign.calibrate(profile, scale, not quick, drain, ROOT, CACHE, _progress)
    _progress.done()
    _out.print(report.gate_table(gate))
    if busy := () if gate.passed else host_load.reasons(gate):
        _err.print(
            f"This machine was busy during the check: {' and '.join(busy)}.", highlight=False
        )
    raise typer.Exit(EXIT_DONE if gate.passed else EXIT_INCONCLUSIVE)


@app.command()
def setup(platform: PlatformOption = None, profile: PlacingOption = None) -> None:
    """Provides what a first campaign needs: Docker engine, base image, our images; and brings
    those to the registry of a platform elsewhere."""
    from orchestrator.cli import outside, plans, provision
    from orchestrator.system.clock import SystemClock
    from orchestrator.system.shell import SystemShell

    placed = plans.placed(ROOT, profile, platform) if profile else None
    where = (placed.platform, placed.placing) if placed else (platform, None)
    engine = provision.provide(ROOT, CACHE, SystemClock(), SystemShell(), _progress)
    if where[0] not in (None, outside.PLATFORM):
        provision.bring_images(engine, outside.platform(*where), ROOT, _progress)
    _progress.done()


@app.command(name="doctor")
def show_doctor(
    db: FirstRunOption = None,
    version: VersionOption = None,
    platform: PlatformOption = None,
    profile: PlacingOption = None,
) -> None:
    """Says what this machine, or a platform elsewhere, offers and lacks; with --db yugabytedb, what
    its image does there."""
    from orchestrator.cli import doctor, plans
    from orchestrator.system.clock import SystemClock

    placed = plans.placed(ROOT, profile, platform) if profile else None
    if db is not None:
        _first_run(version, platform, placed)
        return
    if version is not None:
        raise UsageError("--version is of the checklist: say --db yugabytedb too")
    if doctor.show(doctor.examine(ROOT, CACHE, SystemClock(), platform, placed), _out):
        raise typer.Exit(EXIT_UNAVAILABLE)


def _first_run(version: str | None, platform: str | None, placed: Profile | None) -> None:
    from orchestrator.cli import campaign

    marks = {"confirmed": "[green]", "not confirmed": "[red]", "could not be looked at": "[yellow]"}
    states = []
    for finding in campaign.first_run(version, ROOT, CACHE, _progress, RESULTS, platform, placed):
        _progress.done()
        states.append(finding.state)
        before = " (inferred)" if finding.inferred else ""
        line = f"{finding.name}{before}: {escape(finding.claim)}"
        text = f"{marks[finding.state]}{finding.state}[/] {line}"
        _out.print(text, highlight=False)
        _out.print(f"    {escape(finding.seen)}", style="dim", highlight=False)
    if any(state != "confirmed" for state in states):
        raise typer.Exit(EXIT_INCONCLUSIVE)


@app.command(name="yugabyte-image")
def yugabyte_image(tarball: Path) -> None:
    """Packs a downloaded distribution of YugabyteDB into an image."""
    from orchestrator.cli import outside
    from orchestrator.databases.yugabytedb import image

    step = _progress.step
    tag = image.pack(tarball.resolve(), ROOT, outside.platform(), lambda line: step(line[:100]))
    _progress.done()
    _out.print(f"built {tag}", highlight=False)


@app.command(name="list")
def show_list() -> None:
    """Lists profiles, workloads, databases, load generators and tier mechanisms."""
    from orchestrator.databases import databases
    from orchestrator.load_generators import load_generators
    from orchestrator.planning import project_files
    from orchestrator.tiers import tier_mechanisms

    for title, names in (
        ("profiles", project_files.names(ROOT / "profiles")),
        ("workloads", project_files.titles(ROOT / "workloads")),
        ("databases", tuple(databases())),
        ("load generators", tuple(load_generators())),
        ("tier mechanisms", tuple(tier_mechanisms())),
    ):
        _out.print(f"[bold]{title}[/bold]: {', '.join(names)}", highlight=False)


def _carry_out(
    request: Request, results: Path, as_json: bool, fail_if_worse: bool, accept_inconclusive: bool
) -> None:
    from orchestrator.cli import campaign, dry_run, plans

    made = plans.make_plan(request, ROOT, CACHE)
    for note in made.notes:
        _progress.warn(str(note))
    if request.dry_run:
        given = (ROOT, CACHE, _progress, _out, as_json, request.max_cost)
        raise typer.Exit(dry_run.show(made, *given))
    _progress.note(dry_run.spoken(made))
    folder = campaign.carry_out(made, request, ROOT, CACHE, results, _progress)
    loaded, verdict = _conclude(folder, as_json)
    if fail_if_worse and any(delta.verdict == "worse" for delta in verdict.deltas):
        raise typer.Exit(EXIT_WORSE)
    lost = loaded.excluded or any(data.record.outcome != "done" for data in loaded.runs)
    undecided = any(one.tier is None or one.cheaper_open for one in verdict.decisions)
    if lost or (undecided and not accept_inconclusive):
        raise typer.Exit(EXIT_INCONCLUSIVE)


def _conclude(folder: Path, as_json: bool, slo: str | None = None) -> tuple[Results, Verdict]:
    from orchestrator import report
    from orchestrator.cli import campaign

    _progress.step("judging and writing the report")
    loaded, verdict, paths = campaign.conclude(folder, slo, CACHE)
    _progress.done()
    if as_json:
        _out.print_json((folder / "verdict.json").read_text())
        return loaded, verdict
    for part in report.console(loaded, verdict):
        _out.print(part)
    for path in (paths.html, paths.markdown):
        _out.print(f"report: {path.resolve()}", soft_wrap=True, highlight=False)
    return loaded, verdict


# ------------------------------------------------------------------ the edge


def _complain(error: TierbenchError) -> None:
    _progress.done()
    _err.print(f"[red]tierbench:[/red] {escape(error.what)}", highlight=False)
    for mistake in getattr(error, "mistakes", ()):
        where = f"{mistake.where}: " if mistake.where else ""
        _err.print(f"  {escape(where + mistake.what)}", highlight=False)
    if error.evidence:
        _err.print(escape(error.evidence.strip()), style="dim", highlight=False)
    if error.advice:
        _err.print(f"  → {escape(error.advice)}", highlight=False)


def main() -> NoReturn:
    """Runs a command; the only place that turns errors into exit codes."""
    sys.exit(_guarded(lambda: app(standalone_mode=False)))


def _guarded(command: Callable[[], Any]) -> int:
    try:
        code = command()
    except KeyboardInterrupt:
        advice = "`tierbench analyze results/latest` makes a report of the finished runs"
        _complain(InterruptedByUser("interrupted", advice=advice))
        return EXIT_INTERRUPTED
    except TierbenchError as error:
        _complain(error)
        return error.exit_code
    except (typer.Exit, typer.Abort) as end:
        return int(getattr(end, "exit_code", EXIT_INTERRUPTED))
    except Exception as error:
        if type(error).__module__.startswith(("click", "typer")):
            getattr(error, "show", lambda: None)()
            if "unexpected extra argument" in str(error):
                _err.print('  → several names go in quotation marks: "premium ultra"')
            return EXIT_USAGE
        _progress.done()
        traceback.print_exc()
        _err.print(
            "[red]tierbench:[/red] this is a fault of tierbench; please report it with the above"
        )
        return EXIT_INTERNAL
    return int(code or EXIT_DONE)
