"""`tierbench import-study`: what others published, stored as a campaign and judged like one."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Annotated

from rich.console import Console
from typer import Argument, Option

from orchestrator import __version__, report
from orchestrator.analysis.campaigns import published_deltas
from orchestrator.analysis.conclusions import Verdict
from orchestrator.analysis.results import Results
from orchestrator.analysis.verdicts import judge
from orchestrator.cli import campaign
from orchestrator.errors import UsageError
from orchestrator.planning import project_files, published_study
from orchestrator.planning.published_study import Study
from orchestrator.system import store
from orchestrator.system.clock import SystemClock

REFERENCE = Path("results") / "reference-azure-yugabytedb" / "study.yaml"


def command(
    root: Path, kept: Path, out: Console, conclude: Callable[[Path, bool], tuple[Results, Verdict]]
) -> Callable[..., None]:
    """The command; `kept`: where campaigns stay unless named, `conclude`: judges and shows one."""

    def import_study(
        file: Annotated[
            Path | None, Argument(help="Its tables in YAML; default: the study on Azure disks.")
        ] = None,
        results: Annotated[Path, Option(help="Where results are kept.")] = kept,
        beside: Annotated[
            Path | None,
            Option(help="A campaign with its tiers and workloads, to be shown beside it."),
        ] = None,
        as_json: Annotated[bool, Option("--json", help="Print verdict.json, no tables.")] = False,
    ) -> None:
        """Makes a campaign of a study's published tables, to be judged by this program's rules."""
        if beside and as_json:
            raise UsageError("--beside shows tables, which --json does not have: give one")
        own = judge(store.load(beside)) if beside else None
        study, folder = carry_in(file or root / REFERENCE, root, results)
        _, verdict = conclude(folder, as_json)
        if own is not None and not as_json:
            for table in report.beside_tables(verdict, own):
                out.print(table)
        if study.deltas and not as_json:
            for line in compared(study, verdict):
                out.print(line, highlight=False)

    return import_study


def carry_in(file: Path, root: Path, results: Path) -> tuple[Study, Path]:
    """Reads a study and keeps it as a campaign; returns its folder. UsageError with all mistakes
    in the file."""
    where, text = project_files.read_text(file, root)
    name = file.stem if file.stem != "study" else file.resolve().parent.name
    study = published_study.read(where, name.removeprefix("reference-"), text)
    source = {"published": study.title, "source": study.source}
    fingerprint = {"tierbench": __version__, **source, **campaign.given()}
    return study, store.keep_published(results, study, text, fingerprint, SystemClock().now())


def compared(study: Study, verdict: Verdict) -> list[str]:
    """How many of the changes that the study printed come out of its figures, and which do not."""
    every = published_deltas.reproduced(study.deltas, verdict)
    wrong = [str(one) for one in every if not one.agrees]
    count = len(every) - len(wrong)
    return [f"{count} of {len(every)} printed changes follow from its figures", *wrong]
