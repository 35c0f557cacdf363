"""`tierbench list`: what can be named in a command: profiles, workloads and databases."""

from collections.abc import Iterable, Iterator, Mapping

from rich.console import RenderableType
from rich.table import Table

from orchestrator.cli.common import completion, console, forms
from orchestrator.cli.common.app import App
from orchestrator.cli.common.command_making import takes


@takes(shown_as=forms.OF_LISTS)
def show(app: App) -> None:
    """Lists what a command can name: profiles (disk tiers), workloads and databases."""
    from orchestrator.planning import project_files
    from orchestrator.registry.installed import extensions

    profiles = project_files.titles(app.root / "profiles")
    workloads = project_files.titles(app.root / "workloads")
    databases = completion.databases()
    installed = [str(extension) for extension in extensions()]
    listed = {
        "profiles": profiles,
        "workloads": workloads,
        "databases": databases,
        "extensions": installed,
    }
    names = [
        *_with_kind("profile", profiles),
        *_with_kind("workload", workloads),
        *_with_kind("database", databases),
    ]
    shown: list[RenderableType] = [
        "[bold]Profiles[/bold] (disk tiers), for --profile:",
        _table(profiles),
        "[bold]Workloads[/bold], for --workload:",
        _table(workloads),
        f"[bold]Databases[/bold], for --db: {', '.join(databases)}",
        f"[bold]Extensions[/bold]: {', '.join(installed)}",
    ]
    app.out.show(listed, *shown, names=names)


def _with_kind(kind: str, names: Iterable[str]) -> Iterator[str]:
    """`profile/ultra`, as kubectl names things of several kinds."""
    for name in names:
        yield f"{kind}/{name}"


def _table(titles: Mapping[str, str]) -> Table:
    rows: list[tuple[str, str]] = []
    for name, title in titles.items():
        rows.append((f"  {name}", title))
    return console.table(("", " "), rows=rows, show_header=False)
