"""An App that carries campaigns out: what the commands of a campaign are given.

A test hands the command line one of its own. Nothing heavy is imported before it is used."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from orchestrator.cli.common import forms, streams
from orchestrator.cli.common.app import App, Platforms
from orchestrator.model import Placing
from orchestrator.parts import Parts
from orchestrator.powers import Clock, Platform
from orchestrator.texts import foreign_text

if TYPE_CHECKING:
    from collections.abc import Iterable

    from orchestrator.analysis.conclusions import Verdict
    from orchestrator.analysis.results import Results
    from orchestrator.cli.common.options import Request
    from orchestrator.model import Plan


@dataclass(frozen=True)
class CampaignApp(App):
    """What `run`, `compare` and those that report are made of."""

    def plan(self, request: Request) -> Plan:
        """The plan of what was asked for; nothing is started."""
        from orchestrator.cli.measure import plans

        return plans.make_plan(self, request)

    def carry_out(self, plan: Plan, request: Request) -> Path:
        """Runs the plan; returns the campaign's folder."""
        from orchestrator.cli.measure import campaign

        return campaign.carry_out(self, plan, request)

    def rehearse(self, request: Request) -> Path:
        """Plans as asked, goes through all runs in made-up time, on parts that do nothing and
        without Docker; returns the campaign's folder. Says nothing but warnings."""
        from orchestrator.cli.common.progress import WarningsAlone
        from orchestrator.cli.measure import campaign
        from orchestrator.design import rehearsal
        from orchestrator.platforms.dry import DryPlatform
        from orchestrator.run import experiment
        from orchestrator.system.clock import MadeUpClock

        platform: Any = DryPlatform()
        request = replace(request, database="postgresql")  # any: none is started
        platforms = partial(_platforms_alike, self.platforms(), platform)
        # A cache of its own: the gates and data sets of a rehearsal are made up, and a real
        # campaign would take them for measured ones.
        with TemporaryDirectory() as cache:
            dry = replace(
                self,
                progress=WarningsAlone(self.progress),
                cache=Path(cache),
                clock=MadeUpClock(self.clock.now()),
                platforms=platforms,
            )
            plan = rehearsal.rehearsed(dry.plan(request))
            world = replace(dry.world(), scope="tierbench")
            host = asdict(world.machine.facts())
            # The reason why there is no engine stands in the place of its facts.
            facts = campaign.fingerprint(self, host, rehearsal.WARNING, world)
            parts = _dry_parts(dry.parts(platform))
            return experiment.execute(plan, parts, world, request.results, facts)

    def show(self, folder: Path, slo: str | None = None) -> tuple[Results, Verdict]:
        """Judges a campaign, prints what was found and writes its report. NotWrittenError if that
        cannot be written, when all else is shown."""
        from orchestrator.cli.measure import concluding
        from orchestrator.run.progress import judged_runs

        self.progress.step("judging")
        basis = None
        if slo is None:
            # The basis is taken before the files are read, as in `concluding.conclude`.
            basis = judged_runs.basis_of(folder)
        loaded, verdict = concluding.found(folder, slo)
        # The verdict is shown before the report is written, which a full disk may refuse.
        self._print(loaded, verdict)
        self.progress.step("writing the report")
        paths = concluding.keep(loaded, verdict, folder, self.cache, basis)
        self.progress.done()
        for file in (paths.html, paths.markdown):
            self.out.add(f"report: {file.resolve()}")
        return loaded, verdict

    def show_again(self, folder: Path) -> None:
        """Prints what was found of a campaign, judged anew if that is not kept; nothing is
        written."""
        from orchestrator.cli.measure import kept_answers, pages

        kept = None
        if self.out.form != forms.HTML:  # whose charts are drawn from tables
            kept = kept_answers.kept_answer(folder)
        if kept is not None:
            self._print(kept.campaign, kept.verdict, kept.text)
            # It was read from verdict.json, so that file has this answer.
            self.out.add(pages.where_the_page_is(folder, "this one"))
            return
        from orchestrator.cli.measure import concluding
        from orchestrator.system import saved_verdicts

        if self.out.form == forms.TABLE:
            self.progress.step("judging")
        loaded, verdict = concluding.found(folder)
        self._print(loaded, verdict)
        # What is judged now may differ from what was kept with the page.
        saved = saved_verdicts.kind(folder, verdict)
        self.out.add(pages.where_the_page_is(folder, saved))

    def _print(self, loaded: Results, verdict: Verdict, kept_text: str = "") -> None:
        """`kept_text`: of verdict.json, if the verdict was read from it."""
        from orchestrator import report
        from orchestrator.analysis.answers.named_disks import named_disks
        from orchestrator.cli.common import documents
        from orchestrator.report.report_index import ReportIndex
        from orchestrator.system import campaign_writing

        self.progress.done()
        if self.out.form == forms.NAME:
            answer = ReportIndex(loaded, verdict).answer
            documents.show_names(self, named_disks(answer), answer.brief)
            return
        text = ""
        if self.out.form == forms.MARKDOWN:
            text = report.for_the_ticket(loaded, verdict)
        elif self.out.form == forms.SUMMARY:
            text = report.summary_of(loaded, verdict)
        elif self.out.form == forms.HTML:
            text = report.files(loaded, verdict, self.cache)[report.PAGE]
        if text:
            # Past the console, which would break lines and read brackets as styles.
            streams.write_utf_8(foreign_text.printable(text))
            return
        content = None
        # What verdict.json has, so that both forms of it have the same keys.
        if self.out.as_json:
            content = json.loads(kept_text or campaign_writing.verdict_text(verdict))
        self.out.show(content, *report.console(loaded, verdict))


def _dry_parts(parts: Parts) -> Parts:
    """The parts, with only those collectors that make figures up."""
    from orchestrator.keys.schema import DRY

    collectors = [collector for collector in parts.collectors if collector.name == DRY]
    return replace(parts, collectors=tuple(collectors))


def _platforms_alike(names: Iterable[str], platform: Platform) -> Platforms:
    """Whatever platform is connected to, it is this one."""

    def connect(_clock: Clock, _placing: Placing) -> Platform:
        return platform

    return dict.fromkeys(names, connect)
