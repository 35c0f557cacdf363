"""`tierbench validate`: whether files that a person wrote are as the commands will read them; and
`schema`: their JSON Schema, as docs/schema/ has it.

Keys, types, units and ranges are in a schema, so that an editor can complete and mark them. What
several keys must be to each other, and whether a name is known, only reading the file tells. Tests
make the schemas from the records that read such files, and compare both."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any, NoReturn

import typer
from rich.markup import escape

from orchestrator import PROJECT
from orchestrator.cli import main
from orchestrator.cli.common import completion, defaults, forms, option_values, options
from orchestrator.cli.common.app import App
from orchestrator.cli.common.command_making import takes
from orchestrator.cli.measure.campaign_app import CampaignApp
from orchestrator.errors import EXIT_DONE, EXIT_USAGE, KeyPlace, Mistake, UsageError

# A file is of the kind of which it has most keys: one may be missing, or be a slip.
_KEYS = {
    "profile": "question tier cluster platform machines",
    "workload": "generator script dataset options scales",
    "cluster": "database nodes replication_factor vm node settings existing",
    "campaign": "profiles workloads repeats slo until max-cost",
    "price list": "currency region as_of source prices",
}
SCHEMAS = ("profile", "cluster", "workload", "campaign", "price-list")
_complete = completion.among_words(SCHEMAS)


@takes()
def schema(
    app: App,
    kind: Annotated[
        str, typer.Argument(help=", ".join(SCHEMAS), autocompletion=_complete)
    ],
) -> None:
    """Prints the JSON Schema of a profile, cluster, workload, campaign or price list."""
    if kind not in SCHEMAS:
        there_are = ", ".join(SCHEMAS)
        raise UsageError(f"no schema of {kind!r}", advice=f"there are {there_are}")
    file = PROJECT / "docs" / "schema" / f"{kind}.json"
    # `out.out`, because `print` would break lines and colour what goes into a file.
    app.out.out(file.read_text(encoding="utf-8"), end="")


@takes(shown_as=forms.OR_JSON)
def validate(app: App, files: list[Path]) -> None:
    """Checks files and shows each mistake with its line; exit 64 if there is one."""
    answers = []
    lines = []
    exit_code = EXIT_DONE
    for file in files:
        kind, mistakes = read(app, file)
        answers.append({"file": file, "kind": kind, "mistakes": mistakes})
        for mistake in mistakes:
            exit_code = EXIT_USAGE
            lines.append(escape(f"{mistake.where or file}: {mistake.what}"))
            if mistake.hint:
                lines.append(escape(f"  → {mistake.hint}"))
        if not mistakes:
            lines.append(escape(f"{file}: a {kind} without mistakes"))
    app.out.show(answers, *lines)
    raise typer.Exit(exit_code)


@dataclass(frozen=True)
class _GivenFile:
    """A file that is YAML. `where`: how mistakes name it."""

    path: Path
    kind: str
    where: str
    text: str
    content: Mapping[str, Any]


def read(app: App, file: Path) -> tuple[str, list[Mistake]]:
    """The kind of the file, and its mistakes, each with the line of its key, if it has one."""
    from orchestrator.keys import yaml_text
    from orchestrator.planning import named_files

    try:
        where, text = named_files.read_text(file, app.root)
        content = yaml_text.parse(where, text)
    except UsageError as error:
        return "file", list(error.mistakes)
    given = _GivenFile(
        path=file, kind=_kind(file, content), where=where, text=text, content=content
    )
    # Each once, though several scales may have it.
    mistakes = dict.fromkeys(_mistakes(app, given))
    texts = {where: text}
    return given.kind, [yaml_text.with_line(mistake, texts) for mistake in mistakes]


def _mistakes(app: App, given: _GivenFile) -> Iterator[Mistake]:
    from orchestrator.planning import project_files

    # A command reads one scale alone, and a mistake may be in any.
    for scale in _scales(given.content, project_files.clusters(app.root)):
        yield from _mistakes_at(app, given, scale)
    yield from _mistakes_of_existing(given.where, given.content)


def _mistakes_at(app: App, given: _GivenFile, scale: str) -> Sequence[Mistake]:
    """What a command says of the file at this scale."""
    try:
        _as_commands_do(app, given, scale)
    except UsageError as error:
        return error.mistakes or [_as_mistake(given.path, error)]
    return ()


def _mistakes_of_existing(where: str, content: Mapping[str, Any]) -> list[Mistake]:
    """Mistakes in the keys of an existing cluster.

    `check` finds them only if there are no others.
    """
    from orchestrator.databases.existing import declaration
    from orchestrator.keys import schema

    cluster = content.get("cluster")
    if not isinstance(cluster, dict) or not isinstance(cluster.get("existing"), dict):
        return []
    existing: dict[str, str] = {}
    for key, value in cluster["existing"].items():
        with suppress(ValueError):  # no text: told by the schema
            existing[str(key)] = schema.as_texts(value)
    _, mistakes = declaration.read_keys(existing)
    placed: list[Mistake] = []
    for mistake in mistakes:
        assert mistake.place is not None
        place = replace(mistake.place, file=where)
        placed.append(replace(mistake, where=str(place), place=place))
    return placed


def _kind(file: Path, content: Mapping[str, Any]) -> str:
    """The kind of file of which this one has most keys; the first of two with equally many."""
    # Any option may be a key in it, so only its name tells what it is.
    if file.name == defaults.FILE.name:
        return "file of defaults"
    likeliest = ""
    most = -1
    for kind, keys in _KEYS.items():
        count = len(content.keys() & set(keys.split()))
        if count > most:
            likeliest = kind
            most = count
    return likeliest


def _as_mistake(file: Path, error: UsageError) -> Mistake:
    """The error as a mistake, if it lists none."""
    text = error.what
    if error.advice:
        text = f"{error.what}: {error.advice}"
    return Mistake(str(file), text)


def _as_commands_do(app: App, given: _GivenFile, scale: str) -> None:
    """Reads the file as the command that takes it does. UsageError with the file's mistakes."""
    from orchestrator.keys import schema, strict_records, yaml_text
    from orchestrator.load_generators.binding import bind
    from orchestrator.planning import project_files

    # A name with a `/` is a path: a bare name would be looked for in the catalog.
    path = str(given.path)
    if not given.path.is_absolute():
        path = f"./{given.path}"
    kinds = app.disk_kinds()
    if given.kind == "profile":
        project_files.read(app.root, [path], [], scale, kinds)
    elif given.kind == "workload":
        _, (load,) = project_files.read(app.root, [], [path], scale, kinds)
        # Bound too, because its generator may refuse what the schema allows.
        with project_files.in_workload(given.path, app.root, scale):
            bind(load, None)
    elif given.kind == "cluster":
        content = yaml_text.parse(given.where, given.text)
        strict_records.validate(schema.ClusterYaml, KeyPlace(given.where), content)
    elif given.kind == "price list":
        project_files.catalog(app.root, given.path)
    elif given.kind == "campaign":
        _check_campaign(app, given.path, given.where)
    else:
        defaults.of_file(typer.main.get_command(main.program), given.path)


class _AppThatEndsBeforePlanning(CampaignApp):
    """What `validate` gives to the command `compare` in place of the App.

    `compare` first turns its options into a request, and then asks its App for a plan. This one
    reads the profiles and workloads of the request, and ends the command there.
    """

    def plan(self, request: options.Request) -> NoReturn:
        """UsageError with the mistakes of these files; without any, the command ends well."""
        from orchestrator.cli.measure import reading

        reading.read(self, request)
        raise typer.Exit(EXIT_DONE)


def _check_campaign(app: App, file: Path, where: str) -> None:
    """UsageError with the mistakes of a campaign's file, and of the files that it names.

    `compare` itself reads them, so that no key is read in another way here.
    """
    program: Any = typer.main.get_command(main.program)
    compare = program.loaded("compare")
    arguments = [str(file), "--quiet"]
    ends_early = _AppThatEndsBeforePlanning(**vars(app))
    try:
        compare.main(arguments, obj=ends_early, standalone_mode=False)
    except typer.BadParameter as error:
        _raise_as_mistake(error, where)


def _raise_as_mistake(error: typer.BadParameter, where: str) -> NoReturn:
    """UsageError that names the key of the file, where typer names a parameter of Python."""
    from orchestrator.keys import refusals

    parameter = str(getattr(error.param, "name", ""))
    key = parameter.replace("_", "-")
    why = option_values.why_refused(error)
    raise refusals.refused([Mistake.at(KeyPlace(where, (key,)), why)]) from error


def _scales(content: Mapping[str, Any], clusters: Mapping[str, str]) -> list[str]:
    """The scales of a workload, or of a profile's cluster; every scale if it has none."""
    from orchestrator.keys import yaml_text

    # A profile may name a file of profiles/clusters, or describe its cluster itself.
    cluster = content.get("cluster")
    if isinstance(cluster, str) and cluster in clusters:
        cluster = yaml_text.parse(cluster, clusters[cluster])
    if isinstance(cluster, Mapping):
        sizes = cluster.get("node")
    else:
        sizes = content.get("scales")
    if isinstance(sizes, Mapping) and sizes:
        return [str(scale) for scale in sizes]
    # Nothing depends on a scale if there are none: the file is read once.
    return [""]
