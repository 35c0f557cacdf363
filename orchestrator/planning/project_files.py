"""The files a person names: profiles, workloads and clusters of the project folder, as texts.

Reads files and hands their texts to `profiles`, which knows what they mean."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

from orchestrator import model, tier_catalog, units
from orchestrator.errors import Mistake, UsageError
from orchestrator.keys import schema, strict_yaml
from orchestrator.keys.strict_yaml import collecting, raise_all, refused
from orchestrator.planning import profiles as parse
from orchestrator.planning.overrides import Overrides
from orchestrator.tier import Tier

PRICES = "profiles/prices"  # lists that `tierbench prices update` wrote


def names(folder: Path) -> tuple[str, ...]:
    """The names of the YAML files in `folder`, without their ending."""
    return tuple(sorted(file.stem for file in folder.glob("*.yaml")))


def titles(folder: Path) -> tuple[str, ...]:
    """`<name> (<title>)` of the YAML files in `folder`. UsageError if one cannot be read."""
    contents = {
        file.stem: strict_yaml.parse(str(file), _text(file, folder))
        for file in sorted(folder.glob("*.yaml"))
    }
    return tuple(
        f"{name} ({content.get('title', '')})" for name, content in contents.items()
    )


def read(
    root: Path,
    profile_names: Sequence[str],
    workload_names: Sequence[str],
    scale: str,
    mechanisms: schema.Kinds = schema.KINDS,
    price_list: Path | None = None,
    given: Overrides | None = None,
    tier_changes: Mapping[str, object] | None = None,
    texts: dict[Path, str] | None = None,
) -> tuple[tuple[model.Profile, ...], tuple[model.Workload, ...]]:
    """Profiles (by name, or by the path of a YAML file) and workloads, at one scale. `price_list`:
    prices that hold instead of the catalog's. `given`: keys of workloads that hold over their
    files'. `tier_changes`: keys of the tiers that are to be others than in the files. `texts`: of
    the files that were read before, to which those that are read now are added. UsageError with the
    mistakes of all files at once."""
    rows, texts = catalog(root, price_list), {} if texts is None else texts

    def text_of(file: Path) -> str:
        if file not in texts:
            texts[file] = _text(file, root)
        return texts[file]

    folder = root / "profiles/clusters"
    own_clusters = {name: text_of(folder / f"{name}.yaml") for name in names(folder)}

    def profile(file: Path) -> model.Profile:
        return parse.read_profile(
            file.stem,
            text_of(file),
            own_clusters,
            scale,
            rows,
            _where(file, root),
            mechanisms,
            beside=lambda name: text_of(file.parent / name),
            changes=tier_changes,
        )

    mistakes: list[Mistake] = []
    profiles: list[model.Profile] = []
    workloads: list[model.Workload] = []
    contents: dict[str, Mapping[str, Any]] = {}
    for file in _files(root / "profiles", "profile", profile_names, mistakes):
        with collecting(mistakes):
            profiles.append(profile(file))
    for file in _files(root / "workloads", "workload", workload_names, mistakes):
        with collecting(mistakes):
            text, where = text_of(file), _where(file, root)
            contents[file.stem] = strict_yaml.parse(where, text)
            workloads.append(parse.read_workload(file.stem, text, scale, where, given))
    with collecting(mistakes):
        if given:
            given.check(contents)
    by_name = {_where(file, root): text for file, text in texts.items()}
    raise_all(
        list(_once(strict_yaml.with_line(mistake, by_name) for mistake in mistakes))
    )
    return tuple(profiles), tuple(workloads)


def _once(mistakes: Iterable[Mistake]) -> Iterator[Mistake]:
    """A name that several files do not know is one mistake."""
    for what, places in units.gathered(
        (each.what, each.where) for each in mistakes
    ).items():
        if what.startswith("unknown "):
            more = [f"{len(places) - 2} more"] if len(places) > 3 else places[2:]
            places = [units.listed([*places[:2], *more])]
        yield from (Mistake(where, what) for where in places)


def tier(
    root: Path,
    name: str,
    changes: Sequence[str],
    scale: str,
    mechanisms: schema.Kinds = schema.KINDS,
    vm: str | None = None,
) -> tuple[Tier, int | None]:
    """The tier of a profile (by name or file) or of a catalog row, as a node gets it on the `vm`,
    and the bytes that such a disk has (None: unknown). `changes`: `key=value` of the profile's
    `tier`, with values as in a file. UsageError with every mistake."""
    lines = [": ".join(key_and_value(change)) for change in changes]
    changed = strict_yaml.parse("options", "\n".join(lines)) if changes else {}
    if name in names(root / "profiles") or name.endswith((".yaml", ".yml")):
        _find(
            root / "profiles", "profile", name
        )  # says by itself what is wrong with the name
        (profile,), _ = read(root, [name], [], scale, mechanisms, tier_changes=changed)
        return profile.tier, None
    rows = catalog(root)
    chosen = parse.read_row(name, changed, rows, mechanisms)
    return parse.on_vm(chosen, vm, rows), chosen.size_bytes


def bought(root: Path, text: str, vm: str | None = None) -> tuple[Tier, int | None]:
    """Of a row with its keys, `azure/premium-v2:size=1TiB,iops=5000`, and the bytes that its disks
    hold together (None: unknown). UsageError as of `tier`."""
    row, _, given = text.partition(":")
    changes = [key for key in given.split(",") if key]
    chosen, size_bytes = tier(root, row, changes, parse.ANY_SCALE, vm=vm)
    return chosen, size_bytes and size_bytes * chosen.count


def key_and_value(change: str) -> tuple[str, str]:
    """`key=value` of a profile's tier. UsageError if it is none."""
    key, equals, value = change.partition("=")
    if not (equals and key and value):
        raise UsageError(
            f"{change!r} is not key=value",
            advice="for example `burst=full`; several values of an option are joined by "
            "commas",
        )
    return key, value


def clusters(root: Path) -> dict[str, str]:
    """Name → text of each file in `profiles/clusters`."""
    folder = root / "profiles/clusters"
    return {name: _text(folder / f"{name}.yaml", root) for name in names(folder)}


def catalog(root: Path, price_list: Path | None = None) -> tier_catalog.Catalog:
    """The disk tiers and VM sizes of `profiles/catalog`, with the prices of `profiles/prices` and
    then of `price_list`. UsageError with every mistake."""
    files = sorted((root / "profiles/catalog").glob("*.yaml"))
    rows = _catalog(tuple(read_text(file, root) for file in files))
    lists = [
        *sorted((root / PRICES).glob("*.yaml")),
        *([price_list] if price_list else []),
    ]
    return tier_catalog.with_prices(rows, dict(read_text(file, root) for file in lists))


@lru_cache(maxsize=1)
def _catalog(texts: tuple[tuple[str, str], ...]) -> tier_catalog.Catalog:
    """Read once while the texts stay the same: it is by far the longest YAML here."""
    return tier_catalog.read(dict(texts))


def _files(
    folder: Path, kind: str, names: Sequence[str], mistakes: list[Mistake]
) -> list[Path]:
    """The file of each name; a missing one becomes a mistake. UsageError where two are called the
    same: runs are told apart by name, so one file would be measured in the place of both."""
    files: dict[str, Path] = {}
    for name in names:
        file: Path | None = None
        with collecting(mistakes):
            file = _find(folder, kind, name)
        if file is None:
            continue
        if names.count(name) > 1:
            raise _named_twice(kind, name)
        other = files.setdefault(file.stem, file)
        if other is not file:
            raise _same_name(kind, other, file)
    return list(files.values())


def _named_twice(kind: str, name: str) -> UsageError:
    advice = "name it once; --repeats says how often each is measured"
    if kind == "profile":
        advice += ", --aa measures the baseline under a second name"
    return UsageError(
        f"the {kind} {name!r} is named twice; nothing was started", advice
    )


def _same_name(kind: str, first: Path, second: Path) -> UsageError:
    files = f"{first} and {second}"
    return UsageError(
        f"{second.stem!r} is the name of two {kind}s, {files}; nothing was started",
        advice="give one of the files another name",
    )


def _find(folder: Path, kind: str, name: str) -> Path:
    by_path = name.endswith((".yaml", ".yml")) or "/" in name
    file = Path(name) if by_path else folder / f"{name}.yaml"
    if not file.is_file():
        if by_path:
            raise UsageError(
                f"no {kind} file {name}",
                advice="check the path, or give the name of one that `tierbench list` "
                "shows",
            )
        what = strict_yaml.unknown(kind, name, names(folder))
        raise UsageError(what, advice="`tierbench list` shows what there is")
    return file


def read_text(file: Path, root: Path) -> tuple[str, str]:
    """A file's name for messages, and its text. UsageError if it cannot be read."""
    return _where(file, root), _text(file, root)


def _text(file: Path, root: Path) -> str:
    """UsageError if it cannot be read or is not UTF-8."""
    try:
        content = file.read_bytes()
    except OSError as error:
        what = f"this file cannot be read: {error.strerror or error}"
        raise refused([Mistake(_where(file, root), what)]) from error
    try:
        return content.decode()
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        what = f"this file is not UTF-8: byte {error.start + 1} is {content[error.start]:#04x}"
        raise refused([Mistake(f"{_where(file, root)}:{line}", what)]) from error


def _where(file: Path, root: Path) -> str:
    """Names the file for messages: as it was given, or relative to the project folder."""
    return str(file.relative_to(root)) if file.is_relative_to(root) else str(file)
