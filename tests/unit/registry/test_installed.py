"""The door for extensions: which are found, what is refused, and in whose name.

Method: entry points as a distribution would declare them, of modules that stand in this file's
folder or nowhere.
"""

from __future__ import annotations

from dataclasses import replace
from importlib.metadata import EntryPoint
from typing import Any

import pytest

from orchestrator.databases import databases, entries
from orchestrator.errors import NotInstalledError, UnavailableError
from orchestrator.load_generators import load_generators
from orchestrator.registry import installed
from orchestrator.registry.extension import (
    DatabaseEntry,
    DoubtEntry,
    Extension,
    GeneratorEntry,
)
from orchestrator.registry.installed import GROUP, Installed, family, read
from orchestrator.registry.references import ExtensionOrigin, ObjectPlace
from orchestrator.tiers import tier_mechanisms
from tests.sources import PACKAGE

MARIADB = Extension(databases={"mariadb": DatabaseEntry("nowhere.mariadb:MariaDB")})
# An effect that no release knows: the doubt would stand in no decision's way.
UNLIKE: Any = "exclude"
UNLIKE_EFFECT = Extension(doubts={"hot row": DoubtEntry("nowhere:hot_row", UNLIKE)})
NO_DATABASES: dict[str, DatabaseEntry] = {}
NO_EXTENSION = "nothing of that kind"


def point(name: str, place: str = f"{__name__}:MARIADB") -> EntryPoint:
    return EntryPoint(name, place, GROUP)


def brought_by(name: str, brings: Extension) -> Installed:
    return Installed(ExtensionOrigin(name, f"tierbench-{name}", "1.0"), brings)


def test_what_comes_with_the_program_comes_through_the_same_door() -> None:
    names = [extension.name for extension in installed.extensions()]
    rooms = [room.parent.name for room in PACKAGE.glob("extensions/*/__init__.py")]
    assert names == sorted(rooms)


def test_an_extension_is_read_without_its_members() -> None:
    (extension,) = read([point("mariadb")])
    assert extension.name == "mariadb"
    assert [*extension.brings.databases] == ["mariadb"]


@pytest.mark.parametrize(
    ("place", "why"),
    [
        ("nowhere.at_all:EXTENSION", "cannot be imported: ModuleNotFoundError"),
        (f"{__name__}:EXTENSION", "cannot be imported: AttributeError"),
        (f"{__name__}:NO_EXTENSION", "is a str, and no Extension"),
        (f"{__name__}:UNLIKE_EFFECT", "with the unknown effect 'exclude'"),
    ],
)
def test_one_that_cannot_be_read_is_refused_with_what_to_do(
    place: str, why: str
) -> None:
    with pytest.raises(UnavailableError) as refused:
        read([point("mariadb", place)])
    assert place in refused.value.what
    assert "the extension mariadb" in refused.value.what
    assert why in refused.value.what
    assert "pip" in refused.value.advice


NEEDS_ANOTHER = Extension(needs=("galera",))


def test_one_that_needs_another_is_refused_without_it() -> None:
    with pytest.raises(UnavailableError, match="needs the extension galera") as refused:
        read([point("mariadb", f"{__name__}:NEEDS_ANOTHER")])
    assert refused.value.advice.startswith("install galera")


def test_one_that_needs_another_is_read_beside_it() -> None:
    both = read([point("mariadb", f"{__name__}:NEEDS_ANOTHER"), point("galera")])
    assert [extension.name for extension in both] == ["galera", "mariadb"]


def test_an_option_that_nobody_carries_out_is_named() -> None:
    with pytest.raises(NotInstalledError, match="the option '--nothing'"):
        installed.carries_out("--nothing")


def test_two_of_one_name_are_refused() -> None:
    with pytest.raises(UnavailableError, match="both bring the extension 'mariadb'"):
        read([point("mariadb"), point("mariadb")])


def test_two_that_bring_one_name_are_refused_naming_both() -> None:
    one = brought_by("mariadb", MARIADB)
    another = brought_by("mysql", MARIADB)
    with pytest.raises(UnavailableError) as refused:
        family("databases", NO_DATABASES, [one, another])
    assert refused.value.what == (
        "the extension mariadb (tierbench-mariadb) and the extension mysql (tierbench-mysql) "
        "both bring the database 'mariadb'"
    )
    assert refused.value.advice == "remove one of them: pip uninstall tierbench-mysql"


def test_one_that_brings_a_name_of_the_core_is_refused() -> None:
    built_in = {"sysbench": GeneratorEntry("nowhere:Sysbench")}
    theirs = brought_by("mine", Extension(load_generators=built_in))
    with pytest.raises(UnavailableError, match="tierbench itself and the extension"):
        family("load_generators", built_in, [theirs])


def test_the_members_of_the_core_stand_first() -> None:
    built_in = {"postgresql": DatabaseEntry("nowhere:PostgreSQL")}
    owned = family("databases", built_in, [brought_by("mariadb", MARIADB)])
    assert [*owned] == ["postgresql", "mariadb"]
    assert owned["mariadb"].origin.distribution == "tierbench-mariadb"


def test_a_member_that_cannot_be_imported_names_its_extension_when_it_is_used() -> None:
    owned = family("databases", NO_DATABASES, [brought_by("mariadb", MARIADB)])
    reference = ObjectPlace(owned["mariadb"].entry.member, owned["mariadb"].origin)
    with pytest.raises(UnavailableError, match="of the extension mariadb") as refused:
        reference.imported()
    assert "No module named 'nowhere'" in refused.value.what


def test_a_member_that_nobody_brings_is_named_and_not_a_fault_of_ours() -> None:
    for members in (databases(), load_generators(), tier_mechanisms()):
        assert members.get("mariadb") is None
        with pytest.raises(NotInstalledError, match="'mariadb' is not installed here"):
            members["mariadb"]


def test_a_fault_of_the_core_stays_one() -> None:
    with pytest.raises(ModuleNotFoundError):
        ObjectPlace("nowhere:PostgreSQL").imported()


def test_a_database_is_written_rows_on_any_number_of_engines_unless_it_says_otherwise() -> (
    None
):
    files: list[str] = []
    one_engine: list[str] = []
    for name, brought in entries().items():
        if brought.entry.takes_files:
            files.append(name)
        if not brought.entry.on_several_engines:
            one_engine.append(name)
    assert files == ["hdfs", "store"]
    assert one_engine == ["hdfs"]


@pytest.mark.parametrize(
    ("module", "place"), [("this:s", "this.py"), ("email.mime.base:MIMEBase", "email")]
)
def test_the_code_of_an_extension_is_its_package_or_the_file_of_its_module(
    module: str, place: str
) -> None:
    found = replace(brought_by("mariadb", MARIADB), module=module)
    assert [folder.name for folder in found.code] == [place]
    assert all(folder.exists() for folder in found.code)
