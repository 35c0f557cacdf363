"""What a shell completes: names of files, of rows and of campaigns. Nothing heavy is imported for
it, because a person waits for the word."""

import json
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from typer import Context, Option

from orchestrator.cli import RESULTS, root
from orchestrator.databases import for_users
from orchestrator.errors import CutError, NotReadableError, TierbenchError
from orchestrator.keys import plain_files
from orchestrator.registry.installed import Installed, extensions
from orchestrator.system import campaign_folders


def completing(names: Callable[[Context], Iterable[str]]) -> Callable[..., list[str]]:
    """A callback of typer: what is typed so far → what it may become, also the last of several."""

    def complete(ctx: Context, incomplete: str) -> list[str]:
        # `--profiles premium,ul`: the shell replaces the whole word, so each answer begins with
        # what stands before the last name.
        *given_names, begun = re.split(r"[\s,]", incomplete)
        before = incomplete.removesuffix(begun)
        words = []
        for name in names(ctx):
            if name.startswith(begun) and name not in given_names:
                words.append(before + name)
        return words

    return complete


def among_words(words: Sequence[str]) -> Callable[..., list[str]]:
    """A callback of typer that completes these words."""

    def names(_: Context) -> Sequence[str]:
        return words

    return completing(names)


def among(names: Sequence[str], what: str, *declared: str, **more: Any) -> Any:
    """An option of typer whose help says the names that it may have; these are completed."""
    return Option(
        *declared,
        help=f"{', '.join(names)}: {what}",
        autocompletion=among_words(names),
        **more,
    )


def _extensions() -> Sequence[Installed]:
    """The extensions; none if one cannot be read."""
    # If one cannot be read, the command itself says so.
    with suppress(TierbenchError):
        return extensions()
    return ()


def databases() -> list[str]:
    """The databases that may be named: ours, and those of extensions."""
    return for_users(_extensions())


def platforms(*ours: str) -> list[str]:
    """The platforms that may be named: ours, and those of extensions."""
    names = [*ours]
    for extension in _extensions():
        names += extension.brings.platforms
    return names


def generators() -> Any:
    """An option of typer: a load generator that takes over the workloads of another."""
    names = []
    sentences = []
    for extension in _extensions():
        for name, generator in extension.brings.load_generators.items():
            if generator.takes_over:
                names.append(name)
                sentences.append(f"{name}: {generator.takes_over}")
    return Option(help=" ".join(sentences), autocompletion=among_words(names))


def _files(folder: str) -> Callable[..., list[str]]:
    def names(_: Context) -> list[str]:
        files = (root() / folder).glob("*.yaml")
        return sorted([file.stem for file in files])

    return completing(names)


# A type of disk with all its keys, and a size in one of these. By how the files are indented,
# because reading them as YAML takes a second.
_TYPE = re.compile(r"^  (\w[\w.-]*):\n((?:    .*\n|\n)*)", re.M)
_SIZE = re.compile(r"^      (\w[\w.-]*):", re.M)


def _rows(_context: Context) -> Iterator[str]:
    """Types and sizes of the catalog."""
    for file in sorted((root() / "profiles/catalog").glob("*.yaml")):
        types = _after("\ntypes:\n", file.read_text(encoding="utf-8"))
        for kind, keys in _TYPE.findall(types):
            yield f"{file.stem}/{kind}"
            for size in _SIZE.findall(_after("    sizes:\n", keys)):
                yield f"{file.stem}/{size}"


def _after(mark: str, text: str) -> str:
    """What follows the first mark; nothing if it has none."""
    _, _, rest = text.partition(mark)
    return rest


def _campaigns(ctx: Context) -> Iterable[str]:
    """Folders, the newest first, and names of baselines."""
    folders = [folder.name for folder in _folders(ctx)]
    return dict.fromkeys(["latest", *folders, *_baselines(ctx)])


def _unfinished(ctx: Context) -> Iterator[str]:
    """`latest`, and the runs of the newest campaign that have no record."""
    yield "latest"
    newest_first = _folders(ctx)
    if not newest_first:
        return
    for run in sorted((newest_first[0] / "runs").glob("*/")):
        if not (run / "record.json").exists():
            yield run.name


def _folders(ctx: Context) -> list[Path]:
    """The folders of campaigns, the newest first; none if they cannot be read."""
    results = Path(ctx.params.get("results") or RESULTS)
    with suppress(NotReadableError):
        return sorted(campaign_folders.present(results), reverse=True)
    return []


def _baselines(ctx: Context) -> Iterable[str]:
    saved = Path(ctx.params.get("results") or RESULTS) / "baselines.json"
    # Whatever is wrong with the file, an error would be printed into the line that is typed.
    with suppress(OSError, ValueError, LookupError, TypeError, CutError):
        return [*json.loads(plain_files.read(saved))["baselines"]]
    return []


profiles = _files("profiles")
workloads = _files("workloads")
rows = completing(_rows)
campaigns = completing(_campaigns)
baselines = completing(_baselines)
runs = completing(_unfinished)
