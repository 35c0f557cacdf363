"""The owner's commands that keep our loaded database, and bring it back before each run.

Only the owner of a cluster can copy its data: by dump, by its own snapshots, or by the provider's.
Values reach the commands in their environment alone, so that none of them is read as a command.
"""

from __future__ import annotations

from pathlib import Path

from orchestrator.databases.existing.declaration import Existing, address
from orchestrator.errors import RunError
from orchestrator.powers import World

_COMMAND_S = 6 * 3600.0
_TLS_VARIABLES = {"root": "PGSSLROOTCERT", "certificate": "PGSSLCERT", "key": "PGSSLKEY"}


def save(declared: Existing, snapshot: Path, world: World) -> None:
    """Keeps the database that was just loaded; `snapshot` says afterwards that it was kept.
    RunError if the command fails."""
    _run("save", declared.save or "", declared, snapshot, world)
    snapshot.write_text("saved by the profile's own command\n")


def restore(declared: Existing, snapshot: Path, world: World) -> None:
    """Fills our new, empty database with what was kept. RunError if the command fails."""
    _run("restore", declared.restore or "", declared, snapshot, world)


def _run(verb: str, command: str, declared: Existing, snapshot: Path, world: World) -> None:
    world.progress.step(f"`{verb}` of the profile, for the database {declared.database}")
    done = world.shell.run(
        ("bash", "-c", command), timeout_s=_COMMAND_S, env=_environment(declared, snapshot)
    )
    if done.exit_code != 0:
        raise RunError(
            f"the profile's `{verb}` command ended with {done.exit_code}",
            advice="try it by hand with the variables that docs/YUGABYTEDB.md names",
            evidence=done.tail(),
        )


def _environment(declared: Existing, snapshot: Path) -> dict[str, str]:
    """What libpq's programs read, of the first host and our database, and the snapshot's name."""
    at = address(declared, declared.servers[0], declared.database)
    files = {name: getattr(at.tls, field) for field, name in _TLS_VARIABLES.items()}
    return {
        "TIERBENCH_SNAPSHOT": snapshot.parent.name,
        "PGHOST": at.host,
        "PGPORT": str(at.port),
        "PGUSER": at.user,
        "PGDATABASE": at.database,
        "PGSSLMODE": "disable" if at.tls.mode == "off" else at.tls.mode,
        **{name: file for name, file in files.items() if file},
        **({"PGPASSWORD": at.password} if at.password else {}),
    }
