"""`tierbench list`: what can be named in a command: profiles, workloads and databases."""

from collections.abc import Mapping

from rich.table import Table

from orchestrator.cli import completion, console, forms
from orchestrator.cli.app import App
from orchestrator.cli.options import DATABASES, takes


@takes(shown_as=forms.OF_LISTS)
def show(app: App) -> None:
    """Lists what a command can name: profiles (disk tiers), workloads and databases."""
    from orchestrator.planning import project_files
    from orchestrator.registry.installed import extensions

    profiles = project_files.titles(app.root / "profiles")
    workloads = project_files.titles(app.root / "workloads")
    databases = completion.databases(*DATABASES).split(", ")
    installed = [str(extension) for extension in extensions()]
    listed = {
        "profiles": profiles,
        "workloads": workloads,
        "databases": databases,
        "extensions": installed,
    }
    names = [f"profile/{name}" for name in profiles]
    names += [f"workload/{name}" for name in workloads]
    names += [f"database/{name}" for name in databases]
    app.out.show(
        listed,
        "[bold]Profiles[/bold] (disk tiers), for --profile:",
        _table(profiles),
        "[bold]Workloads[/bold], for --workload:",
        _table(workloads),
        f"[bold]Databases[/bold], for --db: {', '.join(databases)}",
        f"[bold]Extensions[/bold]: {', '.join(installed)}",
        names=names,
    )


def _table(titles: Mapping[str, str]) -> Table:
    rows = [(f"  {name}", title) for name, title in titles.items()]
    return console.table(("", " "), rows=rows, show_header=False)
