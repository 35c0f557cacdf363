"""Passwords of a PostgreSQL node: where they must not be read, and what is said if they cannot be
set.

Method: the image's own `passwords.sql` on a server of this machine, and its script `node` with
programs of a test in the path.
"""

from __future__ import annotations

import os
import subprocess
import tempfile
from pathlib import Path

from tests import ROOT
from tests.integration import local_servers

FOLDER = ROOT / "docker/postgres"
SECRET = "a-secret-of-this-start"
AS_OTHER = """#!/bin/sh
while [ "${1#--}" != "$1" ]; do shift; done
exec "$@"
"""
REFUSED = """#!/bin/sh
echo 'psql: error: no pg_hba.conf entry' >&2
exit 2
"""


def test_passwords_are_not_among_the_statements_that_are_counted() -> None:
    """Whoever may see statistics, as the load's user may, read them there."""
    preloaded = ("shared_preload_libraries=pg_stat_statements",)
    with (
        tempfile.TemporaryDirectory(prefix="tierbench-test-") as folder,
        local_servers.postgresql(Path(folder), *preloaded) as port,
    ):
        psql = ["psql", "-X", "-q", "-A", "-t", "-h", "127.0.0.1", "-p", str(port)]
        psql += ["-U", "postgres", "-v", "ON_ERROR_STOP=1"]

        def query(*words: str) -> str:
            secrets = {"BENCH_PASSWORD": SECRET, "STANDBY_PASSWORD": SECRET}
            env = {**os.environ, **secrets}
            argv = [*psql, *words]
            done = subprocess.run(
                argv, env=env, check=True, capture_output=True, text=True
            )
            return done.stdout

        query("-c", "CREATE EXTENSION pg_stat_statements")
        query("-c", "CREATE ROLE standby LOGIN")
        query("-f", str(FOLDER / "passwords.sql"))
        counted = query("-c", "SELECT query FROM pg_stat_statements")
        log = (Path(folder) / "postgres.log").read_text()
    assert "CREATE ROLE standby" in counted, "others are counted"
    assert SECRET not in counted
    assert SECRET not in log


def test_a_lasting_reason_is_said(tmp_path: Path) -> None:
    for name, script in (("setpriv", AS_OTHER), ("psql", REFUSED)):
        (tmp_path / name).write_text(script)
        (tmp_path / name).chmod(0o755)
    env = {**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}"}
    argv = ["bash", str(FOLDER / "node"), "passwords", "1"]
    done = subprocess.run(
        argv, env=env, capture_output=True, text=True, check=False, timeout=30
    )
    assert done.returncode == 1
    assert "could not be set within 1 s: psql: error: no pg_hba.conf" in done.stderr
