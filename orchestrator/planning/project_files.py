"""The files a person names → profiles, workloads, tiers and the catalog of the project folder.

Each file is read once (`named_files`), and its text is handed to `profiles`, which knows what it
means."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

from orchestrator import model, tier_catalog, units
from orchestrator.errors import KeyPlace, Mistake, UsageError
from orchestrator.facts import group
from orchestrator.keys import schema, yaml_text
from orchestrator.keys.refusals import collecting, raise_all
from orchestrator.planning import profiles as profile_files, workloads as workload_files
from orchestrator.planning.named_files import (
    files_named,
    names,
    read_text,
    text_of,
    where,
)
from orchestrator.planning.overrides import Overrides
from orchestrator.texts import prose

PRICES = "profiles/prices"  # lists that `tierbench prices update` wrote


def titles(folder: Path) -> dict[str, str]:
    """Name → title of the YAML files in `folder`; of a profile without one its tier's row.
    UsageError if one cannot be read."""
    titles_by_name: dict[str, str] = {}
    for name in names(folder):
        file = folder / f"{name}.yaml"
        content = yaml_text.parse(str(file), text_of(file, folder))
        title = content.get("title") or content.get("tier")
        if isinstance(title, Mapping):
            title = title.get("type")
        titles_by_name[name] = str(title or "")
    return titles_by_name


class _ProfileForm(NamedTuple):
    """A profile with the list of prices, and the changes of its tier, as text."""

    file: Path
    price_list: Path | None
    changes: str


class _WorkloadForm(NamedTuple):
    """A workload with the keys that hold over its file."""

    file: Path
    keys: tuple[str, ...]


@dataclass
class FilesRead:
    """What was read before, so that each file is read once in each form that is asked for."""

    texts: dict[Path, str] = field(default_factory=dict)
    catalogs: dict[Path | None, tier_catalog.Catalog] = field(default_factory=dict)
    profiles: dict[_ProfileForm, model.Profile] = field(default_factory=dict)
    workloads: dict[_WorkloadForm, model.Workload] = field(default_factory=dict)


def read(
    root: Path,
    profile_names: Sequence[str],
    workload_names: Sequence[str],
    scale: str,
    mechanisms: schema.Kinds = schema.KINDS,
    price_list: Path | None = None,
    given: Overrides | None = None,
    tier_changes: Mapping[str, object] | None = None,
    before: FilesRead | None = None,
) -> tuple[tuple[model.Profile, ...], tuple[model.Workload, ...]]:
    """Profiles (by name, or by the path of a YAML file) and workloads, at one scale.

    `price_list`: prices that hold instead of the catalog's. `given`: keys of workloads
    that hold over their files'. `tier_changes`: keys of the tiers that are to be others
    than in the files. `before`: what was read before at the same scale, to which is added
    what is read now. UsageError with the mistakes of all files at once.
    """
    if before is None:
        before = FilesRead()
    changes = tier_changes or {}
    reader = _Reader(root, scale, mechanisms, price_list, changes, given, before)
    # Profiles name their clusters, so these are read first.
    reader.read_clusters()
    mistakes: list[Mistake] = []
    profiles: list[model.Profile] = []
    workloads: list[model.Workload] = []
    contents: dict[str, Mapping[str, Any]] = {}
    for file in files_named(root / "profiles", "profile", profile_names, mistakes):
        with collecting(mistakes):
            profiles.append(reader.profile(file))
    for file in files_named(root / "workloads", "workload", workload_names, mistakes):
        with collecting(mistakes):
            # The file's keys count for `--set` even if a value in it is wrong.
            contents[file.stem] = reader.content(file)
            workloads.append(reader.workload(file))
    # The check comes last: a key has to fit one of all workloads, and not each.
    if given is not None:
        with collecting(mistakes):
            given.check(contents)
    raise_all(reader.placed(mistakes))
    return tuple(profiles), tuple(workloads)


class _Reader:
    """Reads files of one project in one form."""

    def __init__(
        self,
        root: Path,
        scale: str,
        mechanisms: schema.Kinds,
        price_list: Path | None,
        tier_changes: Mapping[str, object],
        given: Overrides | None,
        files: FilesRead,
    ) -> None:
        self._root = root
        self._scale = scale
        self._mechanisms = mechanisms
        self._price_list = price_list
        self._tier_changes = tier_changes
        self._given = given
        self._files = files
        self._clusters: dict[str, str] = {}
        # The catalog takes longest to read, so it is read once for each list of prices.
        if price_list not in files.catalogs:
            files.catalogs[price_list] = catalog(root, price_list)

    def read_clusters(self) -> None:
        folder = self._root / "profiles/clusters"
        for name in names(folder):
            self._clusters[name] = self._text_of(folder / f"{name}.yaml")

    def _text_of(self, file: Path) -> str:
        texts = self._files.texts
        if file not in texts:
            texts[file] = text_of(file, self._root)
        return texts[file]

    def profile(self, file: Path) -> model.Profile:
        # The changes are a text, because a mapping cannot be part of a key.
        changes = repr(sorted(self._tier_changes.items()))
        form = _ProfileForm(file, self._price_list, changes)
        if form not in self._files.profiles:
            self._files.profiles[form] = self._profile(file)
        return self._files.profiles[form]

    def _profile(self, file: Path) -> model.Profile:
        def beside(name: str) -> str:
            # The file lies beside the profile, wherever that is.
            return self._text_of(file.parent / name)

        nameable = profile_files.Nameable(
            self._clusters,
            self._files.catalogs[self._price_list],
            beside,
            self._mechanisms,
        )
        return profile_files.read_profile(
            file.stem,
            self._text_of(file),
            nameable,
            self._scale,
            where(file, self._root),
            self._tier_changes,
        )

    def content(self, file: Path) -> dict[str, Any]:
        return yaml_text.parse(where(file, self._root), self._text_of(file))

    def workload(self, file: Path) -> model.Workload:
        keys: tuple[str, ...] = ()
        if self._given is not None:
            keys = tuple(override.place for override in self._given.given)
        form = _WorkloadForm(file, keys)
        if form not in self._files.workloads:
            self._files.workloads[form] = workload_files.read_workload(
                file.stem,
                self._text_of(file),
                self._scale,
                where(file, self._root),
                self._given,
            )
        return self._files.workloads[form]

    def placed(self, mistakes: Sequence[Mistake]) -> list[Mistake]:
        """Each with its line, and once."""
        texts: dict[str, str] = {}
        for file, text in self._files.texts.items():
            texts[where(file, self._root)] = text
        with_lines = [yaml_text.with_line(mistake, texts) for mistake in mistakes]
        return list(_once(with_lines))


@contextmanager
def in_workload(file: Path, root: Path, scale: str) -> Iterator[None]:
    """Gives mistakes that know their keys alone the file in which they lie, and their line."""
    try:
        yield
    except UsageError as error:
        if not error.mistakes:
            raise
        name, text = read_text(file, root)
        content = yaml_text.parse(name, text)
        placed: list[Mistake] = []
        for mistake in error.mistakes:
            if mistake.place is not None:
                keys = _keys_in_force(mistake.place.keys, scale, content)
                place = KeyPlace(name, keys)
                mistake = replace(mistake, where=str(place), place=place)
            placed.append(yaml_text.with_line(mistake, {name: text}))
        raise UsageError(
            error.what, error.advice, tuple(placed), error.evidence
        ) from error


def _keys_in_force(
    keys: tuple[str, ...], scale: str, content: Mapping[str, Any]
) -> tuple[str, ...]:
    """Where a key of a workload stands: what its scale has replaces what stands for all scales."""
    of_scale = ("scales", scale, *keys)
    *above, key = of_scale
    if key in group(content, *above):
        return of_scale
    return keys


def _once(mistakes: Iterable[Mistake]) -> Iterator[Mistake]:
    """A name that several files do not know is one mistake."""
    alike = units.gathered((mistake.what, mistake) for mistake in mistakes)
    for same in alike.values():
        # Other mistakes stand at their lines, even where they read the same.
        if same[0].kind != "unknown name":
            yield from same
            continue
        places = [mistake.where for mistake in same]
        if len(places) > 3:
            places = [*places[:2], f"{len(places) - 2} more"]
        yield replace(same[0], where=prose.listed(places), place=None)


def clusters(root: Path) -> dict[str, str]:
    """Name → text of each file in `profiles/clusters`."""
    folder = root / "profiles/clusters"
    return {name: text_of(folder / f"{name}.yaml", root) for name in names(folder)}


def catalog(root: Path, price_list: Path | None = None) -> tier_catalog.Catalog:
    """The disk tiers and VM sizes of `profiles/catalog`, with the prices of `profiles/prices` and
    then of `price_list`. UsageError with every mistake."""
    files = sorted((root / "profiles/catalog").glob("*.yaml"))
    rows = _catalog(tuple(read_text(file, root) for file in files))
    # A later list replaces prices of an earlier one, so that of the command comes last.
    lists = sorted((root / PRICES).glob("*.yaml"))
    if price_list is not None:
        lists.append(price_list)
    return tier_catalog.with_prices(rows, dict(read_text(file, root) for file in lists))


@lru_cache(maxsize=1)
def _catalog(texts: tuple[tuple[str, str], ...]) -> tier_catalog.Catalog:
    """Read once while the texts stay the same: it is by far the longest YAML here."""
    return tier_catalog.read(dict(texts))
