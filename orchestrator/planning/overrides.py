"""`--set`: keys of workloads that a command gives instead of their files. Pure.

`threads=32` holds for every workload that has such a key, `tpcc.threads=32` for one. A key is
one of a scale (`threads`, `measure`, …), a parameter of the data set or an option; `dataset.`
or `options.` before it says which, where the load generator does not know it. Values are those
of a file, and are checked as there.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import PurePath
from typing import Any

from orchestrator import facts
from orchestrator.design.detailed_notes import detailed_note
from orchestrator.errors import Mistake, UsageError
from orchestrator.facts import Varied
from orchestrator.keys.refusals import collecting, raise_all, refused, unknown_name
from orchestrator.keys.schema import ScaleYaml
from orchestrator.keys.secret_names import HIDDEN, gives_a_secret, is_secret_key
from orchestrator.keys.yaml_text import parse
from orchestrator.model import Note, Workload

GROUPS = ("dataset", "options")


def _keys_of_scale() -> Iterator[str]:
    for name, field in ScaleYaml.model_fields.items():
        if name not in GROUPS:
            yield field.alias or name


OF_SCALE = tuple(_keys_of_scale())
STATEMENTS = "statements_per_transaction"  # a workload's key at all scales
_SIZES = ("warehouses", "tables", "table_size")
_OPTIONS = ("seed", "slo", "scale", "generator")  # keys with an option of their own

# (load generator, script) → the keys of each group that it takes; a group that is not there: any.
# `scale`: those of OF_SCALE.
KeysTaken = Callable[[str, str], Mapping[str, Sequence[str]]]
Path = tuple[str, ...]  # the path of a key in a workload's YAML


@dataclass(frozen=True)
class Override:
    """One key, as it was given: `text` of the option `--set` or `--vary`."""

    option: str
    text: str
    # The workload that is named; None: every one that has the key.
    workload: str | None
    key: str
    value: Any
    # The next step where no workload has the key.
    hint: str = ""

    @property
    def place(self) -> str:
        """The place that a mistake in it names."""
        return _place(self.option, self.text)

    def is_of(self, workload: str) -> bool:
        return self.workload is None or self.workload == workload


@dataclass(frozen=True)
class Overrides:
    """All that were given, for workloads at `scale`. `keys_taken`: what their load
    generators take."""

    given: tuple[Override, ...]
    scale: str
    keys_taken: KeysTaken

    def check(self, contents: Mapping[str, Mapping[str, Any]]) -> None:
        """UsageError with every override that fits none of the workloads (name → YAML)."""
        at_scale: dict[str, Mapping[str, Any]] = {}
        for name, content in contents.items():
            if facts.group(content, "scales", self.scale):
                at_scale[name] = content
        # No workload has the scale: that is the mistake, and is told where it is read.
        if not at_scale:
            return
        mistakes: list[Mistake] = []
        for override in self.given:
            if not self._fits(override, at_scale):
                mistakes.append(self._unknown(override, at_scale))
        raise_all(mistakes)

    def _fits(
        self, override: Override, contents: Mapping[str, Mapping[str, Any]]
    ) -> bool:
        return any(
            self._path(override, name, content) for name, content in contents.items()
        )

    def applied(self, name: str, content: dict[str, Any]) -> dict[str, Any]:
        """The content of the workload `name` with the overrides that fit it."""
        for override in self.given:
            path = self._path(override, name, content)
            if path:
                content = _changed(content, path, override.value)
        return content

    @contextmanager
    def blamed(self) -> Iterator[None]:
        """Gives a mistake that lies in what was set the place `--set …` instead of the file's."""
        try:
            yield
        except UsageError as error:
            if not error.mistakes:
                raise
            placed = dict.fromkeys(_placed(mistake, self) for mistake in error.mistakes)
            raise refused(placed, error.advice) from error

    def _path(
        self, override: Override, workload: str, content: Mapping[str, Any]
    ) -> Path | None:
        """Where the key belongs in this workload; None if the workload has no such key."""
        size = ("scales", self.scale)
        if not override.is_of(workload) or not facts.group(content, *size):
            return None
        group, _, name = override.key.partition(".")
        if group in GROUPS and name:
            return (*size, group, name)
        if override.key == STATEMENTS and (override.workload or STATEMENTS in content):
            return (STATEMENTS,)
        return self._paths(content).get(override.key)

    def _paths(self, content: Mapping[str, Any]) -> dict[str, Path]:
        """For each key that the file has or the load generator knows, where it belongs."""
        size = ("scales", self.scale)
        taken = self.keys_taken(
            str(content.get("generator")), str(content.get("script"))
        )
        paths: dict[str, Path] = {}
        for key in taken.get("scale", OF_SCALE):
            paths[key] = (*size, key)
        for group in GROUPS:
            of_workload = facts.group(content, group)
            of_scale = facts.group(content, *size, group)
            for key in (*of_workload, *of_scale, *taken.get(group, ())):
                # A key of two groups belongs to the first: `dataset.` or `options.` says otherwise.
                paths.setdefault(key, (*size, group, key))
        return paths

    def _unknown(
        self, override: Override, contents: Mapping[str, Mapping[str, Any]]
    ) -> Mistake:
        asked = [name for name in contents if override.is_of(name)]
        keys: dict[str, None] = {}
        for name in asked:
            keys |= dict.fromkeys(self._paths(contents[name]))
        mistake = unknown_name(
            override.place,
            f"key of {', '.join(asked)}:",
            override.key,
            [*keys, *contents],
            f"known: {', '.join(keys)}",
        )
        return replace(mistake, hint=override.hint)


def read(
    texts: Sequence[str],
    workloads: Sequence[str],
    scale: str,
    keys_taken: KeysTaken,
    varied: Varied | None = None,
    hint: str = "",
) -> Overrides:
    """Reads what was given for `workloads`. UsageError with every mistake.

    `varied`: the value of a factor that is a key of workloads; it holds as what is given
    by `--set`. `hint`: what to do where it is none.
    """
    mistakes: list[Mistake] = []
    given: dict[tuple[str | None, str], Override] = {}

    def add(override: Override) -> None:
        # The same key of one workload and of all is no mistake: the former wins.
        first = given.setdefault((override.workload, override.key), override)
        if first is not override:
            raise_all([Mistake(override.place, "this key is set twice")])

    for text in texts:
        with collecting(mistakes):
            add(_read(text, workloads))
    if varied is not None:
        key = varied.factor
        text = f"{key}={varied.value}"
        with collecting(mistakes):
            override = _override("--vary", text, key, varied.value, workloads)
            add(replace(override, hint=hint))
    raise_all(mistakes)
    # Overrides that name a workload are applied last, and so win.
    ordered = sorted(given.values(), key=_names_a_workload)
    return Overrides(tuple(ordered), scale, keys_taken)


def _names_a_workload(override: Override) -> bool:
    return override.workload is not None


def _read(text: str, workloads: Sequence[str]) -> Override:
    path, _, value = text.partition("=")
    if not path.strip() or not value.strip():
        what = "is not key=value, such as `threads=32`"
        raise_all([Mistake(_place("--set", text), what)])
    return _override("--set", text, path, value, workloads)


def _override(
    option: str, text: str, path: str, value: str, workloads: Sequence[str]
) -> Override:
    """`path`: a key, behind the name of a workload where it is of one alone."""
    read: object = value
    # A value of several lines, such as the cells of a disk matrix, is taken as it is, and so is a
    # secret.
    if "\n" not in value and not is_secret_key(path.strip()):
        read = parse(f"{option} {path}", f"value: {value}")["value"]
    named = [name for name in workloads if path.startswith(f"{name}.")]
    workload = None
    if named:
        # A name may begin with another and a dot, so the longest is meant.
        workload = max(named, key=len)
    key = path.strip()
    if workload is not None:
        key = key.removeprefix(f"{workload}.")
    if key in _OPTIONS or key == "options.seed":
        raise_all([Mistake(_place(option, text), f"use --{key}")])
    return Override(option, text, workload, key, read)


def _place(option: str, text: str) -> str:
    """The override as it was given, without a secret."""
    if gives_a_secret(text):
        path, _, _ = text.partition("=")
        text = f"{path}={HIDDEN}"
    return f"{option} {text}"


def _changed(content: dict[str, Any], path: Path, value: Any) -> dict[str, Any]:
    """A copy: scales that are YAML aliases of each other stay apart."""
    key, *rest = path
    if not rest:
        return {**content, key: value}
    inner = content.get(key)
    if not isinstance(inner, dict):
        inner = {}
    return {**content, key: _changed(inner, tuple(rest), value)}


def notes(given: Sequence[Workload], of_files: Sequence[Workload]) -> tuple[Note, ...]:
    """Workloads whose data are larger than in their files: nodes' disks are sized for those."""
    larger = []
    for load, before in zip(given, of_files, strict=True):
        times = _rows(load) / _rows(before)
        if times > 1:
            note = detailed_note(
                "other",
                f"the data of {load.name} are {times:.3g} times those of its scale {before.scale}",
                "The nodes' disks are sized for that scale (`disk` in the cluster's file)",
            )
            larger.append(note)
    return tuple(larger)


def _rows(workload: Workload) -> float:
    """What the data grow with; 1 where that is not known."""
    rows = 1.0
    for name in _SIZES:
        size = workload.dataset.parameters.get(name)
        if isinstance(size, int):
            rows *= float(size)
    # A load may begin with empty tables, and no ratio can be taken to none.
    return rows or 1.0


def _placed(mistake: Mistake, overrides: Overrides) -> Mistake:
    """The mistake at the override in which it lies. A mistake in the file stays as it is."""
    place = mistake.place
    if place is None or not place.keys:
        return mistake
    key = _key_at(place.keys, overrides.scale)
    workload = PurePath(place.file).stem
    # The last that was applied is the one whose value was read.
    for override in reversed(overrides.given):
        if override.is_of(workload) and override.key.split(".")[-1] == key:
            return replace(mistake, where=override.place, place=None)
    return mistake


def _key_at(keys: tuple[str, ...], scale: str) -> str:
    """`seed` of the keys `scales`, `study`, `options` and `seed`.

    Some mistakes say `scales.warmup` or `options.seed` of the scale in use.
    """
    above: list[str] = []
    if keys[0] == "scales":
        above += ["scales", scale]
    for key in above:
        if len(keys) > 1 and keys[0] == key:
            keys = keys[1:]
    if len(keys) > 1 and keys[0] in GROUPS:
        keys = keys[1:]
    return keys[0]
