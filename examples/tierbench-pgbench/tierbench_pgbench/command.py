"""`tierbench pgbench-files`: a profile and a workload to begin with."""

from importlib import resources
from pathlib import Path

from orchestrator.cli.common.app import App
from orchestrator.cli.common.command_making import takes
from orchestrator.system import files

_FILES = ("profiles/pgbench-disk.yaml", "workloads/pgbench.yaml")


@takes()
def write(app: App) -> None:
    """Writes a profile and a workload of pgbench into this folder."""
    shipped = resources.files(__package__) / "files"
    for name in _FILES:
        target = Path(name)
        target.parent.mkdir(parents=True, exist_ok=True)
        files.require_absent(target)
        text = (shipped / target.name).read_text(encoding="utf-8")
        files.write_text(target, text)
        app.out.print(f"written: {name}")
