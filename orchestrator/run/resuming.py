"""Going on with a campaign that ended before its plan did.

What is finished stays as it is, byte for byte: a run that was done or failed. One that was measured
to its end, but not read, is read now. What any other left is put aside and the run is made again.
The other runs are made as planned, where and with what the first ones were."""

import shutil
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from orchestrator import facts, powers
from orchestrator.analysis import comparability, results
from orchestrator.errors import LoadError, TierbenchError, UsageError
from orchestrator.keys.messages import failure
from orchestrator.load_generators.common import several
from orchestrator.model import Note, Plan, Record, Run
from orchestrator.parts import GoesOnMeasuring, Parts, Shared
from orchestrator.planning.plan import as_used, interruptions
from orchestrator.system import files, store
from orchestrator.units import counted, format_moment

ASPECTS = ("code", "image", "machine", "kernel", "profile", "workload")


def images(plan: Plan, parts: Parts, world: powers.World) -> dict[str, str]:
    """The image of each database that is started here → its id, where the platform knows it."""
    ids: dict[str, str] = {}
    for profile in plan.profiles:
        for spec in (as_used(profile, workload).cluster for workload in plan.workloads):
            database = parts.databases[spec.member]
            if not isinstance(database, Shared):
                tag = database.image(spec, world)
                with suppress(TierbenchError):
                    ids[tag] = ids.get(tag) or world.platform.images.id(tag) or ""
    return ids


@dataclass(frozen=True)
class Resumption:
    """A stored campaign that is gone on with. `despite`: of `ASPECTS`, those that may differ."""

    folder: Path
    despite: tuple[str, ...] = ()

    @cached_property
    def before(self) -> results.Results:
        """The campaign as it was left."""
        return store.load(self.folder, tables=False)

    @property
    def plan(self) -> Plan:
        return self.before.plan

    @property
    def ended_s(self) -> dict[str, float]:
        """Profile → when its last run ended, as the folder has them now."""
        return {r.run.profile: r.phases[-1].end_s for r in self._records() if r.phases}

    @property
    def finished(self) -> frozenset[int]:
        """Numbers of the runs that are not made again, as the folder has them now."""
        return frozenset(
            r.run.number for r in self._records() if r.outcome != "interrupted"
        )

    def _records(self) -> Iterator[Record]:
        return (data.record for data in store.load(self.folder, tables=False).runs)

    def begin(self, now: Mapping[str, Any], now_s: float, parts: Parts) -> Plan:
        """Makes the folder ready to go on; returns the plan, which says so. `now`: the fingerprint
        of this program and place. UsageError if they differ from those of the runs before."""
        differences = dict(self._differences(replace(self.before, fingerprint=now)))
        if unknown := [name for name in self.despite if name not in ASPECTS]:
            raise failure(
                UsageError, "unknown aspect", name=unknown[0], known=", ".join(ASPECTS)
            )
        if refused := {
            k: text for k, text in differences.items() if k not in self.despite
        }:
            words = "; ".join(f"{aspect}: {text}" for aspect, text in refused.items())
            options = " ".join(f"--despite {aspect}" for aspect in refused)
            name = self.folder.name
            raise failure(
                UsageError, "other place", name=name, words=words, options=options
            )
        number = 1 + interruptions(self.plan)
        last_s = max(file.stat().st_mtime for file in self.folder.rglob("*"))
        count = f"{len(self.finished)} of {len(self.plan.runs)} runs were finished"
        when = f"the last file is of {format_moment(last_s)}; it went on at {format_moment(now_s)}"
        said = "; ".join(
            (f"interruption {number}: {count}, {when}", *self._read(parts))
        )
        notes = [Note("interrupted", said)]
        for aspect, text in differences.items():
            notes.append(
                Note(
                    "gone on despite", f"from interruption {number} on {aspect}: {text}"
                )
            )
        plan = replace(self.plan, notes=(*self.plan.notes, *notes))
        store.save_plan(self.folder, plan)
        return plan

    def _read(self, parts: Parts) -> Iterator[str]:
        """Reads unfinished, measured runs, puts aside what others left; says which, and why."""
        finished = self.finished
        left = {data.record.run.number: data.record for data in self.before.runs}
        for run in (run for run in self.plan.runs if run.number not in finished):
            folder = self.folder / "runs" / run.slug
            try:
                _read_afterwards(folder, left.get(run.number), parts)
                yield f"{run.slug} was measured before, and read afterwards from its raw files"
            except (TierbenchError, OSError) as error:
                if (aside := store.put_aside(self.folder, run)) is not None:
                    kept = self._kept(run, aside, parts)
                    then = f"goes on with {kept}" if kept else "is made again"
                    yield f"{run.slug} {then}: {error}"

    def _kept(self, run: Run, aside: Path, parts: Parts) -> str:
        """Gives a run that is made again the files of what its generator need not measure again;
        says how many. None if a person changed limits meanwhile: nothing says of which it was."""
        generator = parts.load_generators[self.plan.workload(run.workload).generator]
        if not isinstance(generator, GoesOnMeasuring) or store.limit_changes(aside):
            return ""
        kept = sorted((aside / "raw" / generator.goes_on_from).glob("[!.]*.json"))
        folder = store.run_folder(self.folder, run) / "raw" / generator.goes_on_from
        folder.mkdir()
        for file in kept:
            shutil.copy2(file, folder)
        return f"the {counted(len(kept), 'point')} that it has" if kept else ""

    def _differences(self, now: results.Results) -> Iterator[tuple[str, str]]:
        """Aspect → what it was against what it is; of what both sides know."""
        codes = comparability.revision(self.before), comparability.revision(now)
        if all(codes) and codes[0] != codes[1]:
            yield "code", f"tierbench {' against '.join(codes)}"
        known, new = (
            facts.group(c.fingerprint.get("images")) for c in (self.before, now)
        )
        others = ", ".join(new.keys() - known.keys())
        unlike = [
            f"{tag} against {others or 'none'}" for tag in known if tag not in new
        ]
        both = [
            (tag, was, new[tag]) for tag, was in known.items() if was and new.get(tag)
        ]
        unlike += [
            f"{tag} {was} against {here}" for tag, was, here in both if was != here
        ]
        if unlike:
            yield "image", ", ".join(unlike)
        of_machines = list(comparability.unlike_machines(self.before, now))
        for aspect, of_kernel in (("machine", False), ("kernel", True)):
            if texts := [
                text for text in of_machines if text.startswith("kernel ") == of_kernel
            ]:
                yield aspect, ", ".join(texts)
        yield from self._of_plan()

    def _of_plan(self) -> Iterator[tuple[str, str]]:
        """Of the profiles and workloads as run, against those of the plan that stands now."""
        profiles = {profile.name: profile for profile in self.plan.profiles}
        loads = {load.name: load for load in self.plan.measured}
        unlike: dict[str, set[str]] = {"profile": set(), "workload": set()}
        for record in (data.record for data in self.before.runs):
            profile, load = (
                profiles.get(record.run.profile),
                loads.get(record.run.workload),
            )
            if load != record.workload:
                unlike["workload"].add(record.run.workload)
            elif profile is None or as_used(profile, load) != record.profile:
                unlike["profile"].add(record.run.profile)
        for aspect, names in unlike.items():
            if names:
                yield (
                    aspect,
                    f"{', '.join(sorted(names))} as measured against plan.json",
                )


def _read_afterwards(folder: Path, record: Record | None, parts: Parts) -> None:
    """Makes the tables and the record of a run whose program was ended after it had measured.
    LoadError if something that its figures and telemetry rest on is missing."""
    window = results.measured_window(record) if record else None
    if record is None or window is None or "checked" not in record.facts:
        raise LoadError("it was ended before its data were checked")
    differences = files.differences(folder / "record.json")
    if wrong := [text for text in differences if text.startswith("raw/")]:
        raise LoadError(", ".join(wrong))
    if not store.has_samples(folder):
        raise LoadError("its telemetry is missing or cut")
    generator = parts.load_generators[record.workload.generator]
    result = several.read(generator, record.workload, folder / "raw", *window)
    read = replace(
        record,
        outcome="done",
        failure=None,
        measurements=result.measurements,
        facts={**record.facts, "generator": result.facts.recorded()},
    )
    store.save_run(folder, read, result.intervals, result.latencies, None)
