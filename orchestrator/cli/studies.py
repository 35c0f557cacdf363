"""`tierbench import-study`: what others published, stored as a campaign and judged like one."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import ROUND_HALF_UP, Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from typer import Argument

from orchestrator import __version__, errors
from orchestrator.cli import RESULTS, options
from orchestrator.cli.campaign_app import CampaignApp

if TYPE_CHECKING:
    from orchestrator.analysis.conclusions import Verdict
    from orchestrator.planning.published_study import DeltaKey, Study

REFERENCE = Path("results") / "reference-azure-yugabytedb" / "study.yaml"


@options.takes(in_json=True)
def import_study(
    app: CampaignApp,
    file: Annotated[Path | None, Argument()] = None,
    results: Path = RESULTS,
    beside: Path | None = None,
) -> None:
    """Makes a campaign of a study's published tables, to be judged by this program's rules."""
    from orchestrator.analysis.verdicts import judge
    from orchestrator.report import campaign_tables
    from orchestrator.report.rendering.terminal import TableView
    from orchestrator.system import store

    if beside and app.out.as_json:
        raise errors.UsageError(
            "--beside shows tables, which --json does not have: give one"
        )
    own = None
    if beside:
        own = judge(store.load(beside))
    study, folder = carry_in(app, file or app.root / REFERENCE, results)
    _, verdict = app.show(folder)
    if own is not None and not app.out.as_json:
        app.out.print(TableView(campaign_tables.beside_changes(verdict, own)))
        app.out.print(TableView(campaign_tables.beside_used(verdict, own)))
    if study.deltas and not app.out.as_json:
        for line in compared(study, verdict):
            app.out.print(line)


def carry_in(app: CampaignApp, file: Path, results: Path) -> tuple[Study, Path]:
    """Keeps a study as a campaign; returns its folder. UsageError with all mistakes in the file."""
    from orchestrator.cli import campaign
    from orchestrator.planning import project_files, published_study
    from orchestrator.system import files, store

    where, text = project_files.read_text(file, app.root)
    if file.stem != "study":
        name = file.stem
    else:
        name = file.resolve().parent.name
    study = published_study.read(where, name.removeprefix("reference-"), text)
    source = {"published": study.title, "source": study.source}
    fingerprint = {"tierbench": __version__, **source, **campaign.command_given(app)}
    folder = store.create(results, study.plan, fingerprint, app.clock.now())
    files.write_text(folder / "study.yaml", text)
    for record in study.records:
        run = folder / "runs" / record.run.slug
        run.mkdir()  # without raw/: there are no files of it
        store.save_record(run, record)
    return study, folder


def compared(study: Study, verdict: Verdict) -> list[str]:
    """How many of the changes that the study printed come out of its figures, and which do not."""
    changes = reproduced(study.deltas, verdict)
    wrong = [
        f"{tier}, {workload}, {metric}: printed {printed:+} %, and its figures make "
        f"{'no such change' if change is None else f'{change:+} %'}"
        for (workload, tier, metric, scope), printed in study.deltas.items()
        if (change := changes[workload, tier, metric, scope]) != printed
    ]
    agreeing = len(changes) - len(wrong)
    return [
        f"{agreeing} of {len(changes)} printed changes follow from its figures",
        *wrong,
    ]


def reproduced(
    deltas: Mapping[DeltaKey, Decimal], verdict: Verdict
) -> dict[DeltaKey, Decimal | None]:
    """The verdict's changes where the study has some, with as many digits, halves rounded away from
    zero; None if there is none."""
    computed = {
        (d.workload, d.contender, d.metric, d.scope): d.change_pct
        for d in verdict.deltas
    }
    return {
        key: Decimal(repr(computed[key])).quantize(printed, ROUND_HALF_UP)
        + 0  # no minus zero
        if key in computed
        else None
        for key, printed in deltas.items()
    }
