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
    measured = None
    if beside:
        measured = judge(store.load(beside))
    study, folder = carry_in(app, file or app.root / REFERENCE, results)
    _, verdict = app.show(folder)
    if app.out.as_json:
        return
    if measured is not None:
        app.out.print(TableView(campaign_tables.beside_changes(verdict, measured)))
        app.out.print(TableView(campaign_tables.beside_used(verdict, measured)))
    if study.deltas:
        for line in compared(study, verdict):
            app.out.print(line)


def carry_in(app: CampaignApp, file: Path, results: Path) -> tuple[Study, Path]:
    """Keeps a study as a campaign; returns its folder. UsageError with all mistakes in the file."""
    from orchestrator.cli import campaign
    from orchestrator.planning import project_files, published_study
    from orchestrator.system import files, store

    where, text = project_files.read_text(file, app.root)
    name = file.stem
    if name == "study":  # then its folder says which
        name = file.resolve().parent.name
    study = published_study.read(where, name.removeprefix("reference-"), text)
    source = {"published": study.title, "source": study.source}
    fingerprint = {"tierbench": __version__, **source, **campaign.command_given(app)}
    folder = store.create(results, study.plan, fingerprint, app.clock.now())
    files.write_text(folder / "study.yaml", text)
    for record in study.records:
        # Without raw/: there are no files of it.
        run = files.make_folder(folder, "runs", record.run.slug)
        store.save_record(run, record)
    return study, folder


def compared(study: Study, verdict: Verdict) -> list[str]:
    """How many of the changes that the study printed come out of its figures, and which do not."""
    changes = reproduced(study.deltas, verdict)
    wrong = []
    for key, printed in study.deltas.items():
        if changes[key] != printed:
            wrong.append(_not_reproduced(key, printed, changes[key]))
    agreeing = len(changes) - len(wrong)
    summary = f"{agreeing} of {len(changes)} printed changes follow from its figures"
    return [summary, *wrong]


def _not_reproduced(key: DeltaKey, printed: Decimal, change: Decimal | None) -> str:
    """`change`: what the figures make; None: they make none."""
    workload, tier, metric, _scope = key
    change_in_words = "no such change"
    if change is not None:
        change_in_words = f"{change:+} %"
    return (
        f"{tier}, {workload}, {metric}: printed {printed:+} %, and its figures make "
        f"{change_in_words}"
    )


def reproduced(
    deltas: Mapping[DeltaKey, Decimal], verdict: Verdict
) -> dict[DeltaKey, Decimal | None]:
    """The verdict's changes where the study has some, with as many digits, halves rounded away from
    zero; None if there is none."""
    computed = {}
    for delta in verdict.deltas:
        key = (delta.workload, delta.contender, delta.metric, delta.scope)
        computed[key] = delta.change_pct
    changes: dict[DeltaKey, Decimal | None] = {}
    for key, printed in deltas.items():
        changes[key] = None
        if key in computed:
            exact = Decimal(repr(computed[key]))
            rounded = exact.quantize(printed, ROUND_HALF_UP)
            changes[key] = rounded + 0  # no minus zero
    return changes
