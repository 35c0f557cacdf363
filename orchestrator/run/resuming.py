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

from orchestrator import facts, powers
from orchestrator.analysis import comparability, results
from orchestrator.design.used_profiles import as_used
from orchestrator.errors import LoadError, TierbenchError, UsageError
from orchestrator.keys import plain_files
from orchestrator.keys.secret_names import HIDDEN
from orchestrator.model import Note, Plan, Record, Run
from orchestrator.parts import Parts
from orchestrator.planning.plan import interruptions
from orchestrator.run import campaign_time, outlines, several_clients
from orchestrator.system import files, run_folders, store
from orchestrator.units import counted, format_moment, listed

ASPECTS = ("code", "image", "machine", "kernel", "profile", "workload")


def images(plan: Plan, parts: Parts, world: powers.World) -> dict[str, str]:
    """The image of each database that is started here → its id, where the platform knows it."""
    ids: dict[str, str] = {}
    for profile in plan.profiles:
        for workload in plan.workloads:
            spec = as_used(profile, workload).cluster
            database = parts.databases[spec.member]
            if database.abilities.reserved is not None:  # others started it
                continue
            tag = database.image(spec, world)
            with suppress(TierbenchError):
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
        return store.load(self.folder, tables=False)

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
            if record.outcome != "interrupted":
                numbers.add(record.run.number)
        return frozenset(numbers)

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
        return (data.record for data in store.load(self.folder, tables=False).runs)

    def begin(self, now: Mapping[str, Any], now_s: float, parts: Parts) -> Plan:
        """Makes the folder ready to go on; returns the plan, which says so. `now`: the fingerprint
        of this program and place, which is kept as that of this part. UsageError if they differ
        from those of the runs before, or nothing says what these were."""
        differences = dict(self._differences(now))
        self._require_alike(differences)
        outline = outlines.of_campaign(self.before)
        left_s = campaign_time.last_written_s(outline, self.folder)
        number = 1 + interruptions(self.plan)
        notes = [Note("interrupted", self._interruption(number, now_s, parts))]
        for aspect, text in differences.items():
            despite = f"from interruption {number} on {aspect}: {text}"
            notes.append(Note("gone on despite", despite))
        plan = replace(self.plan, notes=(*self.plan.notes, *notes))
        if self.max_cost is not None:
            plan = replace(plan, max_cost=self.max_cost)
        if self.on_end is not None:
            plan = replace(plan, on_end=self.on_end)
        plan = campaign_time.with_pause(plan, left_s, now_s)
        # First, because a plan that counts a part without a fingerprint is not gone on with.
        store.save_fingerprint(self.folder, number + 1, now)
        store.save_plan(self.folder, plan)
        return plan

    def _require_alike(self, differences: Mapping[str, str]) -> None:
        """UsageError if something differs that may not, or may that is no aspect."""
        for name in self.despite:
            if name not in ASPECTS:
                raise _unknown_aspect(name)
        refused = {
            aspect: text
            for aspect, text in differences.items()
            if aspect not in self.despite
        }
        if refused:
            raise _other_place(self.folder.name, refused, self._advice(refused))

    def _advice(self, refused: Mapping[str, str]) -> str:
        """What to do if these aspects differ. A file that no version wrote cannot be put back."""
        options = " ".join(f"--despite {aspect}" for aspect in refused)
        goes_on = f"go on with `{options}`, which the report then notes"
        never_kept = self._never_kept()
        if never_kept and "machine" in refused:
            names = listed(never_kept)
            return f"{goes_on}; or, if somebody removed {names}, put that back"
        return f"put that back; or {goes_on}"

    def _never_kept(self) -> list[str]:
        """The fingerprints of later parts that are not there. Earlier versions kept none."""
        names: list[str] = []
        for part in range(2, 2 + len(self.before.later_fingerprints)):
            name = store.fingerprint_name(part)
            if plain_files.kind_of(self.folder / name) == "nothing":
                names.append(name)
        return names

    def _interruption(self, number: int, now_s: float, parts: Parts) -> str:
        """How the campaign was left and what became of its unfinished runs, in words."""
        outline = outlines.of_campaign(self.before)
        last_s = campaign_time.last_written_s(outline, self.folder) or now_s
        finished = len(self.finished)
        left = (
            f"interruption {number}: {finished} of {len(self.plan.runs)} runs "
            f"were finished, and the last file is of {format_moment(last_s)}. "
            f"The campaign went on at {format_moment(now_s)}"
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
                aside = store.put_aside(self.folder, run)
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
        """Gives a run that is made again the files of what its generator need not measure again;
        says how many. None if a person changed limits meanwhile: nothing says of which it was."""
        generator = parts.load_generators[self.plan.workload(run.workload).generator]
        measured = generator.abilities.points
        if measured is None or run_folders.obstacle(aside):
            return 0
        if store.limit_changes(aside):
            return 0
        points = sorted((aside / "raw" / measured.folder).glob("[!.]*.json"))
        raw = store.run_folder(self.folder, run) / "raw"
        folder = files.make_folder(raw, measured.folder)
        for file in points:
            files.copy(file, folder / file.name)
        return len(points)

    def _differences(self, facts_now: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
        """Aspect → what it was in the first part against what it is; of what both sides know."""
        before = replace(self.before, later_fingerprints=())
        now = replace(before, fingerprint=facts_now)
        before_code = comparability.revision(before)
        code = comparability.revision(now)
        if before_code and code and before_code != code:
            yield "code", f"tierbench {before_code} against {code}"
        unlike_images = _unlike_images(
            facts.group(self.before.fingerprint.get("images")),
            facts.group(now.fingerprint.get("images")),
        )
        unlike_images += _unlike_packages(
            facts.group(self.before.fingerprint.get("packages")),
            facts.group(now.fingerprint.get("packages")),
        )
        if unlike_images:
            yield "image", ", ".join(unlike_images)
        yield from self._machine_differences(before, now)
        yield from self._plan_differences()

    def _machine_differences(
        self, before: results.Results, now: results.Results
    ) -> Iterator[tuple[str, str]]:
        machines = list(self._without_fingerprint())
        kernels: list[str] = []
        for text in comparability.unlike_machines(before, now):
            if text.startswith("kernel "):
                kernels.append(text)
            else:
                machines.append(text)
        if machines:
            yield "machine", ", ".join(machines)
        if kernels:
            yield "kernel", ", ".join(kernels)

    def _without_fingerprint(self) -> Iterator[str]:
        """Parts of which nothing says what measured them: a file that is missing, was cut, or is
        not as it was written."""
        remarks = results.left_out(self.before)
        never_kept = self._never_kept()
        fingerprints = (self.before.fingerprint, *self.before.later_fingerprints)
        for part, fingerprint in enumerate(fingerprints, start=1):
            name = store.fingerprint_name(part)
            if f"{results.CHANGED}{name}" in remarks:
                yield f"{name} was changed after it was written"
            elif name in never_kept:
                yield (
                    f"{name} is not there; earlier versions of tierbench kept no "
                    f"fingerprint of part {part}"
                )
            elif not facts.group(fingerprint, "host").get("hostname"):
                yield f"{name} does not say what measured part {part}"

    def _plan_differences(self) -> Iterator[tuple[str, str]]:
        """What differs between the profiles and workloads as run, and those of the plan that stands
        now."""
        unlike_profiles: set[str] = set()
        unlike_workloads: set[str] = set()
        for data in self.before.runs:
            record = data.record
            if self._workload_differs(record):
                unlike_workloads.add(record.run.workload)
            elif self._profile_differs(record):
                unlike_profiles.add(record.run.profile)
        if unlike_profiles:
            yield "profile", _against_plan(unlike_profiles)
        if unlike_workloads:
            yield "workload", _against_plan(unlike_workloads)

    def _workload_differs(self, record: Record) -> bool:
        """Whether the plan has another workload of that name, or none."""
        for load in self.plan.measured:
            if load.name == record.run.workload:
                return load != record.workload
        return True

    def _profile_differs(self, record: Record) -> bool:
        """Whether the profile differs from that of the record, as this workload uses it."""
        for profile in self.plan.profiles:
            if profile.name == record.run.profile:
                return as_used(profile, record.workload) != record.profile
        return True


def _against_plan(names: set[str]) -> str:
    return f"{', '.join(sorted(names))} as measured against plan.json"


def _unlike_images(before: Mapping[str, Any], now: Mapping[str, Any]) -> list[str]:
    """Images of the runs before that are others now, or gone."""
    new = ", ".join(now.keys() - before.keys())
    unlike: list[str] = []
    for tag in before:
        if tag not in now:
            unlike.append(f"{tag} against {new or 'none'}")
    for tag, identity in before.items():
        if identity and now.get(tag) and identity != now[tag]:
            unlike.append(f"{tag} {identity} against {now[tag]}")
    return unlike


def _unlike_packages(before: Mapping[str, Any], now: Mapping[str, Any]) -> list[str]:
    """Images of ours that were built anew with other packages: their tags are the same."""
    unlike: list[str] = []
    for tag in sorted(before.keys() & now.keys()):
        earlier = _versions(before[tag])
        later = _versions(now[tag])
        for package in sorted(earlier.keys() | later.keys()):
            version = earlier.get(package, "none")
            version_now = later.get(package, "none")
            # Earlier releases hid the version of a package such as `passwd`, like a password.
            is_known = HIDDEN not in f"{version} {version_now}"
            if is_known and version != version_now:
                unlike.append(f"{package} {version} against {version_now} in {tag}")
    return unlike


def _versions(recorded: object) -> Mapping[str, str]:
    """Package → version. Earlier releases recorded it so; now a package is one text."""
    if not isinstance(recorded, (list, tuple)):
        return facts.group(recorded)
    versions: dict[str, str] = {}
    for package in recorded:
        name, _, version = str(package).partition(" ")
        versions[name] = version
    return versions


def _unknown_aspect(name: str) -> UsageError:
    return UsageError(
        f"--despite {name}: no condition has that name",
        advice=f"name one of {', '.join(ASPECTS)}",
    )


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
    if record is None or window is None or "checked" not in record.facts:
        raise LoadError("it was ended before its data were checked")
    differences = files.differences(folder / "record.json")
    wrong = [text for text in differences if text.startswith("raw/")]
    if wrong:
        raise LoadError(", ".join(wrong))
    if not store.has_samples(folder):
        raise LoadError("its telemetry is missing or cut")
    generator = parts.load_generators[record.workload.generator]
    result = several_clients.read(generator, record.workload, folder / "raw", *window)
    read = replace(
        record,
        outcome="done",
        failure=None,
        measurements=result.measurements,
        facts={**record.facts, "generator": result.facts.recorded()},
    )
    store.save_run(folder, read, result.intervals, result.latencies, None)
