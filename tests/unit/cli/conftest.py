"""What several tests of the command line start from."""

from collections.abc import Iterator
from contextlib import closing

import pytest

from tests.forking import Forking
from tests.option_kinds import profile_files

__all__ = ["profile_files"]


@pytest.fixture(scope="session")
def starting() -> Iterator[Forking]:
    """The program as it is when it has imported its own beginning, and no command yet. With what
    typer imports for most commands."""
    modules = ("orchestrator.cli.main", "typer._adapters", "typer.rich_utils")
    with closing(Forking(modules)) as program:
        yield program


# What judging and pages need, for tests that are not about importing.
_IMPORTED = ("orchestrator.cli.measure.campaign", "orchestrator.report.document")


@pytest.fixture(scope="session")
def all_imported() -> Iterator[Forking]:
    with closing(Forking(_IMPORTED)) as program:
        yield program


@pytest.fixture(scope="session")
def all_imported_in_ascii() -> Iterator[Forking]:
    """The same in a locale that knows no other letters."""
    locale = {"LC_ALL": "C", "PYTHONCOERCECLOCALE": "0", "PYTHONUTF8": "0"}
    with closing(Forking(_IMPORTED, **locale)) as program:
        yield program
