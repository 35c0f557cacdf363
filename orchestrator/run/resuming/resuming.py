"""Going on with a campaign that ended before its plan did.

What is finished stays as it is, byte for byte: a run that was done or failed. One that was measured
to its end, but not read, is read now. What any other left is put aside and the run is made again.
The other runs are made as planned, where and with what the first ones were."""

from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from orchestrator import powers
from orchestrator.analysis import results
from orchestrator.design.used_profiles import as_used
from orchestrator.errors import LoadError, TierbenchError, UsageError
from orchestrator.model import Note, Plan, Record, Run
from orchestrator.parts import Parts
from orchestrator.planning.plan import attempts, interruptions
from orchestrator.run.clients import several_clients
from orchestrator.run.progress import campaign_time, outlines
from orchestrator.run.resuming.resumed_conditions import differences, never_kept
from orchestrator.system import (
    campaign_writing,
    file_checksums,
    files,
    run_folders,
    store,
    unfinished_runs,
)
from orchestrator.texts.prose import counted, listed
from orchestrator.units import format_moment

ASPECTS = ("code", "image", "machine", "kernel", "profile", "workload")


def images(plan: Plan, parts: Parts, world: powers.World) -> dict[str, str]:
    """The image of each database that is started here → its id, where the platform knows it."""
    ids: dict[str, str] = {}
    for profile in plan.profiles:
        for workload in plan.workloads:
            spec = as_used(profile, workload).cluster
            database = parts.databases[spec.member]
            # Clusters of others run images that this program neither chose nor can look up.
            if database.abilities.reserved is not None:
                continue
            tag = database.image(spec, world)
            with suppress(TierbenchError):
                # Many profiles may have one image, which is looked up once.
                ids[tag] = ids.get(tag) or world.platform.images.id(tag) or ""
    return ids


@dataclass(frozen=True)
class Resumption:
    """A stored campaign that is gone on with. `despite`: of `ASPECTS`, those that may differ;
    `max_cost` and `on_end`: those of its plan from now on, if others are given."""

    folder: Path
    despite: tuple[str, ...] = ()
    max_cost: str | None = None
    on_end: str | None = None

    @cached_property
    def before(self) -> results.Results:
        """The campaign as it was left."""
        return store.load_without_tables(self.folder)

    @property
    def plan(self) -> Plan:
        return self.before.plan

    @property
    def most_cost(self) -> str:
        """What all parts may cost together; "" for any amount."""
        return self.max_cost or self.plan.max_cost

    @property
    def ended_s(self) -> dict[str, float]:
        """Profile → when its last run ended, as the folder has them now."""
        ended: dict[str, float] = {}
        for record in self._records():
            if record.phases:
                ended[record.run.profile] = record.phases[-1].end_s
        return ended

    @property
    def finished(self) -> frozenset[int]:
        """Numbers of the runs that are not made again, as the folder has them now."""
        numbers: set[int] = set()
        for record in self._records():
            # A failed run is finished too: it is made again only as a new run behind all
            # others.
            if record.outcome != "interrupted":
                numbers.add(record.run.number)
        return frozenset(numbers)

    @property
    def lacks_nothing(self) -> bool:
        """Whether every run of the plan is done, and none is added by what is found."""
        # Repetitions may follow until it is decided, and failed runs are repeated.
        if self.plan.repeats.looks:
            return False
        done: set[int] = set()
        for record in self._records():
            if record.outcome == "done":
                done.add(record.run.number)
        lacking = []
        for runs in attempts(self.plan):
            if done.isdisjoint(run.number for run in runs):
                lacking.append(runs)
        return not lacking

    def read_again(self, plan: Plan) -> "Resumption":
        """The campaign in the folder as it is now, while only this program may write to it.

        UsageError if its plan is not `plan` any more: another program has resumed it since it was
        read.
        """
        now = replace(self)
        if now.plan != plan:
            raise UsageError(
                f"another command continued {self.folder.name} meanwhile, and "
                "changed its plan",
                "give the same command again",
            )
        return now

    def _records(self) -> Iterator[Record]:
        return (data.record for data in store.load_without_tables(self.folder).runs)

    def begin(self, now: Mapping[str, Any], now_s: float, parts: Parts) -> Plan:
        """Makes the folder ready to go on; returns the plan, which notes the interruption.

        `now`: the fingerprint of this program and place, which is kept for the new part. UsageError
        if it differs from the runs before, or if nothing says what these had.
        """
        unlike = dict(differences(self.before, self.folder, now))
        self._require_alike(unlike)
        outline = outlines.of_campaign(self.before)
        # The time is read before anything is written here, which would be the newest file.
        left_s = campaign_time.last_written_s(outline, self.folder)
        number = 1 + interruptions(self.plan)
        notes = [Note("interrupted", self._interruption(number, now_s, parts))]
        for aspect, text in unlike.items():
            despite = f"from interruption {number} on {aspect}: {text}"
            notes.append(Note("gone on despite", despite))
        plan = replace(self.plan, notes=(*self.plan.notes, *notes))
        if self.max_cost is not None:
            plan = replace(plan, max_cost=self.max_cost)
        if self.on_end is not None:
            plan = replace(plan, on_end=self.on_end)
        plan = campaign_time.with_pause(plan, left_s, now_s)
        # First, because a plan that counts a part without a fingerprint is not gone on with.
        campaign_writing.save_fingerprint(self.folder, number + 1, now)
        campaign_writing.save_plan(self.folder, plan)
        return plan

    def _require_alike(self, unlike: Mapping[str, str]) -> None:
        """UsageError if something differs that may not, or may that is no aspect."""
        for name in self.despite:
            if name not in ASPECTS:
                raise UsageError(
                    f"--despite {name}: no condition has that name",
                    advice=f"name one of {', '.join(ASPECTS)}",
                )
        refused: dict[str, str] = {}
        for aspect, text in unlike.items():
            if aspect not in self.despite:
                refused[aspect] = text
        if refused:
            raise _other_place(self.folder.name, refused, self._advice(refused))

    def _advice(self, refused: Mapping[str, str]) -> str:
        """What to do if these aspects differ. A file that no version wrote cannot be put back."""
        options = " ".join(f"--despite {aspect}" for aspect in refused)
        goes_on = f"go on with `{options}`, which the report then notes"
        missing = never_kept(self.before, self.folder)
        if missing and "machine" in refused:
            names = listed(missing)
            return f"{goes_on}; or, if somebody removed {names}, put that back"
        return f"put that back; or {goes_on}"

    def _interruption(self, number: int, now_s: float, parts: Parts) -> str:
        """How the campaign was left and what became of its unfinished runs, in words."""
        outline = outlines.of_campaign(self.before)
        last_s = campaign_time.last_written_s(outline, self.folder) or now_s
        finished = f"{len(self.finished)} of {len(self.plan.runs)} runs"
        last = format_moment(last_s)
        now = format_moment(now_s)
        left = (
            f"interruption {number}: {finished} were finished, "
            f"and the last file is of {last}. The campaign went on at {now}"
        )
        return "; ".join([left, *self._read(parts)])

    def _read(self, parts: Parts) -> Iterator[str]:
        """Reads unfinished, measured runs, puts aside what others left; says which, and why."""
        finished = self.finished
        left = {data.record.run.number: data.record for data in self.before.runs}
        for run in self.plan.runs:
            if run.number in finished:
                continue
            folder = run_folders.path_of(self.folder, run)
            try:
                _read_afterwards(folder, left.get(run.number), parts)
            except (TierbenchError, OSError) as error:
                aside = unfinished_runs.put_aside(self.folder, run)
                # The run had left nothing, so there is nothing to tell of it.
                if aside is None:
                    continue
                points = self._points_kept(run, aside, parts)
                has = "is made again"
                if points:
                    has = f"goes on with the {counted(points, 'point')} that it has"
                yield f"{run.slug} {has}: {error}"
            else:
                yield f"{run.slug} was measured before, and read afterwards from its raw files"

    def _points_kept(self, run: Run, aside: Path, parts: Parts) -> int:
        """Gives a run that is made again the files of what its generator need not measure again.

        Returns how many.
        """
        generator = parts.load_generators[self.plan.workload(run.workload).generator]
        measured = generator.abilities.points
        # A link in its folder may lead to any file of the user.
        if measured is None or run_folders.obstacle(aside):
            return 0
        # A person changed limits meanwhile, and no point says whether that was before it.
        if unfinished_runs.limit_changes(aside):
            return 0
        points = sorted((aside / "raw" / measured.folder).glob("[!.]*.json"))
        raw = campaign_writing.run_folder(self.folder, run) / "raw"
        folder = files.make_folder(raw, measured.folder)
        for file in points:
            files.copy(file, folder / file.name)
        return len(points)


def _other_place(
    campaign: str, differences: Mapping[str, str], advice: str
) -> UsageError:
    words = "; ".join(f"{aspect}: {text}" for aspect, text in differences.items())
    return UsageError(
        f"the rest of {campaign} would be measured under other conditions "
        f"than its runs: {words}",
        advice,
    )


def _read_afterwards(folder: Path, record: Record | None, parts: Parts) -> None:
    """Makes the tables and the record of a run whose program was ended after it had measured.
    LoadError if something that its figures and telemetry rest on is missing."""
    obstacle = run_folders.obstacle(folder)
    if obstacle:
        raise LoadError(f"its folder {obstacle}")
    window = None
    if record:
        window = results.measured_window(record)
    # The facts "checked" come last, so a record without them is of a run that was cut short.
    if record is None or window is None or "checked" not in record.facts:
        raise LoadError("it was ended before its data were checked")
    differences = file_checksums.differences(folder / "record.json")
    # Tables are made anew below, so only the raw files must be as they were written.
    wrong = [str(difference) for difference in differences if difference.is_raw]
    if wrong:
        raise LoadError(", ".join(wrong))
    if not store.has_samples(folder):
        raise LoadError("its telemetry is missing or cut")
    generator = parts.load_generators[record.workload.generator]
    result = several_clients.read(generator, record.workload, folder / "raw", *window)
    all_facts = {**record.facts, "generator": result.facts.recorded()}
    read = replace(
        record,
        outcome="done",
        failure=None,
        measurements=result.measurements,
        facts=all_facts,
    )
    # The run's samples were saved when it had been measured.
    campaign_writing.save_run(folder, read, result.intervals, result.latencies, None)
