"""`--set`: keys of workloads that a command gives instead of their files. Pure.

`threads=32` holds for every workload that has such a key, `tpcc.threads=32` for one. A key is one
of a scale (`threads`, `measure`, …), a parameter of the data set or an option; `dataset.` or
`options.` before it says which, where the load generator does not know it. Values are those of a
file, and are checked as there."""

import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

from orchestrator import facts
from orchestrator.errors import Mistake, UsageError
from orchestrator.keys.schema import ScaleYaml
from orchestrator.keys.strict_yaml import collecting, parse, raise_all, refused, unknown
from orchestrator.model import Note, Workload

GROUPS = ("dataset", "options")
OF_SCALE = tuple(
    field.alias or name
    for name, field in ScaleYaml.model_fields.items()
    if name not in GROUPS
)
STATEMENTS = "statements_per_transaction"  # of a workload at all scales
_SIZES = ("warehouses", "tables", "table_size")
_OPTIONS = ("seed", "slo", "scale", "generator")  # which have an option of their own

# (load generator, script) → the keys of each group that it takes; a group that is not there: any.
# `scale`: those of OF_SCALE.
Known = Callable[[str, str], Mapping[str, Sequence[str]]]
Path = tuple[str, ...]  # of a key in a workload's YAML


@dataclass(frozen=True)
class Override:
    """One `--set`, as it was given (`text`). `workload` None: of every one that has the key."""

    text: str
    workload: str | None
    key: str
    value: Any


@dataclass(frozen=True)
class Overrides:
    """All that were given, for workloads at `scale`. `known`: what their load generators take."""

    given: tuple[Override, ...]
    scale: str
    known: Known

    def check(self, contents: Mapping[str, Mapping[str, Any]]) -> None:
        """UsageError with every override that fits none of the workloads (name → YAML)."""
        at_scale = {
            n: of for n, of in contents.items() if facts.group(of, "scales", self.scale)
        }
        unfit = [
            Mistake(f"--set {each.text}", self._unknown(each, at_scale))
            for each in self.given
            if not any(
                self._path(each, name, content) for name, content in at_scale.items()
            )
        ]
        raise_all(unfit if at_scale else [])  # else the scale is the mistake

    def applied(self, name: str, content: dict[str, Any]) -> dict[str, Any]:
        """The content of the workload `name` with the overrides that fit it."""
        for override in self.given:
            if path := self._path(override, name, content):
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
        """Where the key belongs in this workload; None if it has none such."""
        size, key = ("scales", self.scale), override.key
        if override.workload not in (None, workload) or not facts.group(content, *size):
            return None
        group, _, name = key.partition(".")
        if group in GROUPS and name:
            return (*size, group, name)
        if key == STATEMENTS and (override.workload or STATEMENTS in content):
            return (STATEMENTS,)
        return self._paths(content).get(key)

    def _paths(self, content: Mapping[str, Any]) -> dict[str, Path]:
        """Where each key belongs that the file has or the load generator knows."""
        taken = self.known(str(content.get("generator")), str(content.get("script")))
        size = ("scales", self.scale)
        paths: dict[str, Path] = {
            key: (*size, key) for key in taken.get("scale", OF_SCALE)
        }
        for group in GROUPS:
            in_file = {
                **facts.group(content, group),
                **facts.group(content, *size, group),
            }
            for key in (*in_file, *taken.get(group, ())):
                paths.setdefault(key, (*size, group, key))
        return paths

    def _unknown(
        self, override: Override, contents: Mapping[str, Mapping[str, Any]]
    ) -> str:
        asked = {
            n: content
            for n, content in contents.items()
            if override.workload in (None, n)
        }
        keys = dict.fromkeys(
            key for content in asked.values() for key in self._paths(content)
        )
        kind, known = f"key of {', '.join(asked)}:", f"known: {', '.join(keys)}"
        return unknown(kind, override.key, [*keys, *contents], known)


def read(
    texts: Sequence[str], workloads: Sequence[str], scale: str, known: Known
) -> Overrides:
    """Reads what was given for `workloads`. UsageError with every mistake."""
    mistakes: list[Mistake] = []
    given: dict[tuple[str | None, str], Override] = {}
    for text in texts:
        with collecting(mistakes):
            override = _read(text, workloads)
            if (
                given.setdefault((override.workload, override.key), override)
                is not override
            ):
                raise_all([Mistake(f"--set {text}", "this key is set twice")])
    raise_all(mistakes)
    # What names a workload wins.
    ordered = sorted(given.values(), key=lambda override: override.workload is not None)
    return Overrides(tuple(ordered), scale, known)


def _read(text: str, workloads: Sequence[str]) -> Override:
    path, equals, value = text.partition("=")
    if not (equals and path.strip() and value.strip()):
        raise_all([Mistake(f"--set {text}", "is not key=value, such as `threads=32`")])
    # A value of several lines, such as the cells of a disk matrix, is taken as it is.
    read = (
        value if "\n" in value else parse(f"--set {path}", f"value: {value}")["value"]
    )
    named = [name for name in workloads if path.startswith(f"{name}.")]
    workload = max(named, key=len) if named else None
    key = (
        path.strip() if workload is None else path.strip().removeprefix(f"{workload}.")
    )
    if key in _OPTIONS or key == "options.seed":
        raise_all([Mistake(f"--set {text}", f"use --{key}")])
    return Override(text, workload, key, read)


def _changed(content: dict[str, Any], path: Path, value: Any) -> dict[str, Any]:
    """A copy: scales that are YAML aliases of each other stay apart."""
    key, *rest = path
    if rest:
        inner = content.get(key)
        value = _changed(inner if isinstance(inner, dict) else {}, tuple(rest), value)
    return {**content, key: value}


def notes(given: Sequence[Workload], of_files: Sequence[Workload]) -> tuple[Note, ...]:
    """Workloads whose data are larger than in their files: nodes' disks are sized for those."""
    larger = []
    for load, own in zip(given, of_files, strict=True):
        if (times := _rows(load) / _rows(own)) > 1:
            text = (
                f"the data of {load.name} are {times:.3g} times those of its scale "
                f"{own.scale}, for which the nodes' disks are sized (`disk` in the "
                "cluster's file)"
            )
            larger.append(Note("other", text))
    return tuple(larger)


def _rows(workload: Workload) -> float:
    """What the data grow with; 1 where that is not known."""
    sizes = (workload.dataset.parameters.get(name, 1) for name in _SIZES)
    return math.prod(float(size) for size in sizes if isinstance(size, int)) or 1.0


def _placed(mistake: Mistake, overrides: Overrides) -> Mistake:
    file, _, place = mistake.where.rpartition(": ")
    # `scales.study.options.seed`; some say `scales.warmup` or `options.seed` of the scale in use.
    inside = re.sub(rf"^scales\.({re.escape(overrides.scale)}\.)?", "", place)
    key = re.sub(rf"^({'|'.join(GROUPS)})\.", "", inside).partition(".")[0]
    workload = file.rpartition("/")[2].rpartition(".")[0]
    for override in reversed(overrides.given):
        if override.workload in (None, workload) and override.key.split(".")[-1] == key:
            return replace(mistake, where=f"--set {override.text}")
    return mistake
