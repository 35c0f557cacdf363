"""The written rules of the code, kept by a test: import levels, owners of outside things, sizes.

Goal: a newcomer may rely on them. Method: the syntax tree of every module; Lua, C and shell are in
test_other_languages.py. Each message says what to do about it.
"""

from __future__ import annotations

import ast
import re
import tomllib
from collections import Counter
from collections.abc import Iterator, Mapping
from functools import cache
from itertools import pairwise
from pathlib import Path

import pytest

from orchestrator.registry.installed import extensions
from tests import ROOT, legibility, room_sizes
from tests.sources import MODULES, PACKAGE, nodes, tracked_files, tree

# Levels follow from folders: a module imports from its own level and from those below it.
DOMAIN, PURE, OUTSIDE, FAMILY, FLOW, TOP, EXTENSION = range(7)
LEVELS = {
    "keys": PURE,
    "metrics": PURE,
    "design": PURE,
    "planning": PURE,
    "tier_catalog": PURE,
    "analysis": PURE,
    "report": PURE,
    "system": OUTSIDE,
    "kernel": OUTSIDE,
    "yugabyte": OUTSIDE,
    "platforms": OUTSIDE,
    "databases": FAMILY,
    "tiers": FAMILY,
    "load_generators": FAMILY,
    "collectors": FAMILY,
    "run": FLOW,
    "cli": TOP,
    "extensions": EXTENSION,
    "__main__": TOP,
    "api": TOP,
    "__init__": TOP,
}
SHARED = ("common", "own_images")  # of a family: what its members may import
# Beside a family's members: its list, and what is decided by looking at all of them.
OVER_MEMBERS = ("__init__", "choice", "binding")
FAMILIES = [name for name, level in LEVELS.items() if level == FAMILY] + ["platforms"]
# Outside things, and the one place that may import each.
OWNERS = {
    "subprocess": {"system/shell"},
    "platform": {"platforms/common", "cli"},
    "orchestrator.system.host": {"platforms", "cli", "extensions/kubernetes"},
    "docker": {"platforms/docker"},
    "kubernetes": {"extensions/kubernetes"},
    "websocket": {"extensions/kubernetes"},
    "psycopg": {"system/sql", "keys/addresses"},
    "urllib": {"system/http_client"},
    "urllib.parse": {"system/http_client"},
    "time": {"system/clock", "system/shell"},
    "socket": {"system/sockets", "system/host"},
    "yaml": {"keys/yaml_text"},
    "jinja2": {"report", "extensions/benchbase", "cli/prepare/init"},
    "typer": {
        *("cli", "extensions/kubernetes/commands", "extensions/observe/commands"),
        *("extensions/predict/commands", "extensions/predict/command_lines"),
        *("extensions/over_time/commands", "extensions/standing_disks/commands"),
    },
}
OPENING = ("open", "Path", "os.open")
OF_THIS_PROGRAM = {
    "system/host",  # marks of processes of this program, and its lock
    "system/marked",  # runs by itself in containers, where there is nothing but it
}
MAX_TOP_FILES = 11
MAX_FUNCTION_STATEMENTS = 40
MAX_MODULE_STATEMENTS = 260
# Of modules and classes by tests, however written. One is of all tests: no disk is waited for.
MAX_PATCHES = 17
PATCHING = re.compile(r"(.*\.)?setattr|(mock\.)?patch(\.(object|dict|multiple))?")
PATCHING_WORD = re.compile("setattr|patch")
BANNED_NAMES = re.compile(r"manager|helper|util|handler", re.IGNORECASE)
# What git keeps beside the folders; what tools write there is litter.
FILES_AT_THE_ROOT = {
    *("README.md", "CHANGELOG.md", "CONTRIBUTING.md", "LICENSE"),
    *("Makefile", "pyproject.toml", "requirements.lock", "mkdocs.yml"),
    *(".gitignore", ".hadolint.yaml", ".luacheckrc"),
}
FOLDERS_AT_THE_ROOT = {
    *("orchestrator", "tests", "docs", "examples", ".ci"),
    *("profiles", "workloads", "docker", "results"),
}
HEADING = re.compile(r" *# -{4,} \w.*")


def place(file: Path) -> str:
    """`folder/module` below the package, without its ending: `tiers/common/emulated/host_load`."""
    return file.relative_to(PACKAGE).with_suffix("").as_posix()


PLACES = {place(module).removesuffix("/__init__") for module in MODULES}


def level_of(place: str) -> int:
    """A file at the top of the package is part of the domain, unless it is named in LEVELS."""
    return LEVELS.get(place.split("/")[0], DOMAIN)


@cache
def imports(file: Path) -> list[tuple[str, int]]:
    """Every imported module (dotted) with its line."""
    found: list[tuple[str, int]] = []
    for node in nodes(file):
        if isinstance(node, ast.Import):
            found += [(alias.name, node.lineno) for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module == "orchestrator":
            found += [
                (f"orchestrator.{alias.name}", node.lineno) for alias in node.names
            ]
        elif isinstance(node, ast.ImportFrom) and node.module:
            found.append((node.module, node.lineno))
    return found


@cache
def imported_places(file: Path) -> list[tuple[str, int]]:
    """Every module of the package that `file` imports, as a place, with its line."""
    found: list[tuple[str, int]] = []
    for node in nodes(file):
        if not isinstance(node, ast.ImportFrom) or not (node.module or "").startswith(
            "orchestrator"
        ):
            continue
        base = (
            str(node.module)
            .replace(".", "/")
            .removeprefix("orchestrator")
            .removeprefix("/")
        )
        for alias in node.names:
            name = f"{base}/{alias.name}".removeprefix("/")
            found.append((name if name in PLACES else base, node.lineno))
    return found


def test_imports_point_down() -> None:
    upward: list[str] = []
    for file in MODULES:
        here = place(file)
        level = level_of(here)
        for name, line in imported_places(file):
            on_the_page = name.startswith("report") and not here.startswith("report")
            if level_of(name) > level or (level == PURE and on_the_page):
                upward.append(f"{here}:{line} imports {name}")
    assert upward == [], "move what it needs down, or pass it in"


def test_nothing_outside_of_an_extension_names_it() -> None:
    """Neither by an import nor by the place of what it brings: it comes by its entry point. Another
    extension may name it if its `Extension` says that it needs it."""
    needs: dict[str, tuple[str, ...]] = {}
    for installed in extensions():
        needs[installed.name] = installed.brings.needs
    named: list[str] = []
    for file in MODULES:
        room = place(file).split("/")[:2]
        for extension in sorted((PACKAGE / "extensions").glob("*/")):
            inside = room == ["extensions", extension.name]
            needed = room[0] == "extensions" and extension.name in needs.get(
                room[-1], ()
            )
            text = file.read_text(encoding="utf-8")
            if (
                not inside
                and not needed
                and f"orchestrator.extensions.{extension.name}" in text
            ):
                named.append(f"{place(file)} names {extension.name}")
    assert named == [], "move what both need below them, or bring it by the `Extension`"


def in_circles(below: Mapping[str, set[str]]) -> dict[str, list[str]]:
    """Each of `below` that imports itself, by way of others too, with all that it imports."""
    circles: dict[str, list[str]] = {}
    for name in below:
        reached, ahead = set[str](), [name]
        while ahead:
            new = below.get(ahead.pop(), set()) - reached
            reached |= new
            ahead += new
        if name in reached:
            circles[name] = sorted(reached)
    return circles


def folders_with_rooms() -> list[str]:
    """The package itself as "", and each folder of it that has folders of modules."""
    parents = {
        Path(name).parent.as_posix() for name in PLACES if (PACKAGE / name).is_dir()
    }
    return sorted(name.removeprefix(".") for name in parents)


@pytest.mark.parametrize("folder", folders_with_rooms())
def test_folders_have_no_circles(folder: str) -> None:
    """A folder that imports one beside it, even by way of a third, is not imported by it."""
    below: dict[str, set[str]] = {}
    for file in MODULES:
        here = room_of(place(file), folder)
        if here is None:
            continue
        rooms = {room_of(name, folder) for name, _ in imported_places(file)}
        below.setdefault(here, set()).update(
            room for room in rooms if room not in (None, here)
        )
    assert in_circles(below) == {}, "move what both need into a folder below them"


def room_of(name: str, folder: str) -> str | None:
    """The folder directly in `folder` in which a module is, or None if it is in none."""
    if folder and not name.startswith(f"{folder}/"):
        return None
    room = name.removeprefix(folder).removeprefix("/").split("/")[0]
    if room and (PACKAGE / folder / room).is_dir():
        return room
    return None


def test_modules_have_no_circles() -> None:
    """Imports within functions count: they are for what is heavy, not for what is above."""
    below = {
        place(file).removesuffix("/__init__"): {
            name for name, _ in imported_places(file)
        }
        for file in MODULES
    }
    assert in_circles(below) == {}, "move what both need into a module below them"


ROOMS = {
    # From counters to the use of a node, and from that to what held it back.
    "analysis/telemetry": ("counters", "use", "causes"),
    # By what a user does.
    "cli": ("common", "measure", "prepare", "look"),
    # By what the flow asks for, from what needs no other room to what needs most of them.
    "run": (
        *("progress", "runs_ahead", "clients", "disks", "data"),
        *("record", "window", "resuming", "beforehand"),
    ),
    # From what every disk needs, by the disks that we serve, to those that are there.
    "tiers/common": ("any_disk", "emulated", "gate", "real"),
}


@pytest.mark.parametrize("folder", ROOMS)
def test_rooms_import_those_before_them(folder: str) -> None:
    rooms = ROOMS[folder]
    here = {path.parent.name for path in (PACKAGE / folder).glob("*/__init__.py")}
    assert here == set(rooms), "give each room its place in ROOMS"
    backward: list[str] = []
    for place_of_room, room in enumerate(rooms):
        later = tuple(f"{folder}/{other}" for other in rooms[place_of_room + 1 :])
        for file in sorted((PACKAGE / folder / room).glob("*.py")):
            for name, line in imported_places(file):
                if later and name.startswith(later):
                    backward.append(f"{place(file)}:{line} imports {name}")
    assert backward == [], "move what both need into the room before"


def test_rooms_of_the_flow_do_not_import_it() -> None:
    """So the flow can be read first, and each room by itself."""
    flow = {f"run/{file.stem}" for file in (PACKAGE / "run").glob("*.py")}
    upward: list[str] = []
    for file in sorted((PACKAGE / "run").glob("*/*.py")):
        for name, line in imported_places(file):
            if name in flow:
                upward.append(f"{place(file)}:{line} imports {name}")
    assert upward == [], "move what the room needs into it, or into a room before it"


def test_statistics_know_no_campaign() -> None:
    """Numbers in, numbers out: so they can be read, checked and simulated by themselves."""
    for file in sorted((PACKAGE / "analysis/statistics").glob("*.py")):
        for name, line in imported_places(file):
            other = name.startswith("analysis/") and not name.startswith(
                "analysis/statistics"
            )
            assert not other, (
                f"{place(file)}:{line} imports {name}: pass in the numbers"
            )


def imports_a_member(here: str, other: str) -> bool:
    """Whether a member of a family, or what its members share, imports a member."""
    family, _, inside = here.partition("/")
    other_family, _, other_inside = other.partition("/")
    member = inside.split("/")[0]
    other_member = other_inside.split("/")[0]
    if family not in FAMILIES or other_family not in FAMILIES:
        return False
    if member in OVER_MEMBERS:
        return False
    if member == "common":
        return other_family not in (family, "platforms")
    if other_member in ("", *SHARED) or (other_family, other_member) == (
        family,
        member,
    ):
        return False
    return other_family != "platforms" or family == "platforms"


def test_members_of_a_family_do_not_import_each_other() -> None:
    """What two of them need is in the family's `common`; its `__init__` lists them all."""
    crossing = [
        f"{place(file)}:{line} imports {name}"
        for file in MODULES
        for name, line in imported_places(file)
        if imports_a_member(place(file), name)
    ]
    assert crossing == [], "move what both need to a `common`, or below both families"


OF_THE_FLOW = {
    *("analysis", "design", "planning", "keys", "system", "kernel", "tier", "run"),
    "texts",  # words around figures
    "registry",  # names of members that take part; it imports none
    *("parts", "powers"),  # protocols
}


def test_the_flow_names_no_member() -> None:
    """What a member or a platform can do is in its record of abilities, which is read."""
    strangers: list[str] = []
    for file in MODULES:
        if not place(file).startswith("run/"):
            continue
        for name, line in imported_places(file):
            folder = name.split("/")[0]
            if (PACKAGE / folder).is_dir() and folder not in OF_THE_FLOW:
                strangers.append(f"{place(file)}:{line} imports {name}")
    assert strangers == [], "add a field to its family's abilities"


def test_who_judges_does_not_plan() -> None:
    """A verdict is made of records: what it shares with a plan are the words of `design`."""
    planners: list[str] = []
    for file in MODULES:
        if place(file).startswith(("analysis/", "report/", "design/", "tier_catalog/")):
            for name, line in imported_places(file):
                if name.startswith("planning"):
                    planners.append(f"{place(file)}:{line} imports {name}")
    assert planners == [], "move the word that both need to design/"


def test_nobody_asks_for_the_protocol_of_a_member() -> None:
    """A protocol that is asked for by `isinstance` is a fact that a record should have."""
    asked = [
        place(file)
        for file in MODULES
        if "@runtime_checkable" in file.read_text()
        and not place(file).startswith("system/")
    ]
    assert asked == [], "add a field to its family's abilities"


STATELESS = [
    file for file in MODULES if place(file).startswith(("tiers/", "databases/"))
]


def attributes_set(method: ast.FunctionDef) -> Iterator[ast.Attribute]:
    """Attributes of its own object that a method sets."""
    for node in ast.walk(method):
        if not isinstance(node, ast.Attribute) or not isinstance(node.ctx, ast.Store):
            continue
        if ast.unparse(node.value) == "self":
            yield node


def test_tiers_and_databases_keep_nothing_between_calls() -> None:
    """Only `__init__` sets an attribute: what a call finds out is in what it returns or yields."""
    kept: list[str] = []
    for file in STATELESS:
        for method in nodes(file):
            if isinstance(method, ast.FunctionDef) and method.name != "__init__":
                lines = [node.lineno for node in attributes_set(method)]
                kept += [f"{place(file)}:{line}, in {method.name}" for line in lines]
    assert kept == [], "return it, or yield it in `Disks` or `Cluster.handle`"


def test_the_top_of_the_package_is_seen_at_a_glance() -> None:
    files = sorted(file.name for file in PACKAGE.glob("*.py"))
    assert len(files) <= MAX_TOP_FILES, (
        f"{files}: put modules in the folder of their level"
    )


def test_outside_things_have_one_owner() -> None:
    strangers: list[str] = []
    for file in MODULES:
        for name, line in imports(file):
            owners = OWNERS.get(name, OWNERS.get(name.split(".")[0]))
            if owners is None or place(file) in owners:
                continue
            if not place(file).startswith(tuple(f"{owner}/" for owner in owners)):
                strangers.append(
                    f"{place(file)}:{line} imports {name}: only {owners} may"
                )
    assert strangers == [], "ask its owner for what you need"


def event_names(file: Path) -> set[str]:
    """Names that a module gives to events of threads, and to parameters that are one."""
    names: set[str] = set()
    for node in nodes(file):
        match node:
            case ast.arg(arg=name, annotation=ast.expr() as event):
                pass
            case (
                ast.Assign(targets=[target], value=event)
                | ast.AnnAssign(target=target, annotation=event)
            ):
                name = named_in(target)
            case _:
                continue
        if "threading.Event" in ast.unparse(event):
            names.add(name)
    return names


def test_events_are_waited_for_by_a_clock() -> None:
    waits: list[str] = []
    for file in MODULES:
        if place(file) == "system/clock":
            continue
        events = event_names(file)
        for node in nodes(file):
            if isinstance(node, ast.Attribute) and node.attr == "wait":
                name = named_in(node.value)
                if name in events:
                    waits.append(f"{place(file)}:{node.lineno} {name}.wait")
    assert waits == [], "write `clock.wait(event, seconds)`"


def beginning(node: ast.AST) -> str:
    """What a text, plain or with fields, begins with; "" for anything else."""
    if isinstance(node, ast.JoinedStr) and node.values:
        return beginning(node.values[0])
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    return ""


def files_opened(node: ast.AST) -> list[ast.AST]:
    """What may name a file: both sides of a path's `/`, and arguments of what opens one."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div):
        return [node.left, node.right]
    if isinstance(node, ast.Call) and ast.unparse(node.func) in OPENING:
        return list(node.args)
    return []


def test_only_platforms_look_at_this_machine() -> None:
    """A node or a disk may be on another: what its kernel says is asked of its `Machine`."""
    looks: list[str] = []
    for file in MODULES:
        if place(file).split("/")[0] in ("platforms", "cli"):
            continue
        if place(file) in OF_THIS_PROGRAM:
            continue
        for node in nodes(file):
            looks += [
                f"{place(file)} opens {ast.unparse(name)}"
                for name in files_opened(node)
                if re.match(r"/?(proc|sys|dev|etc)(/|$)", beginning(name))
            ]
    assert looks == [], "read it with `world.machine.read`"


def named_in(node: ast.AST) -> str:
    """The name that a node uses or gives, or the value that it is; no sentence, which
    has blanks, as what a person is told may say which platform it is about."""
    match node:
        case ast.Name(id=name) | ast.Attribute(attr=name) | ast.alias(name=name):
            return name
        case ast.FunctionDef(name=name) | ast.ClassDef(name=name) | ast.arg(arg=name):
            return name
        case ast.ImportFrom(module=name) | ast.keyword(arg=name):
            return name or ""
        case ast.Constant(value=str() as text) if " " not in text:
            return text
    return ""


def test_only_platforms_and_the_command_line_know_docker() -> None:
    named: list[str] = []
    for file in MODULES:
        # Kubernetes has images with the names that Docker's registry gives them.
        if place(file).startswith(("platforms/", "cli/", "extensions/kubernetes/")):
            continue
        for node in nodes(file):
            name = named_in(node)
            if "docker" in name.lower():
                named.append(f"{place(file)} has {name!r}")
    assert named == [], "ask the platform, or say it of any"


def test_the_root_of_the_repository_holds_what_is_named() -> None:
    files: set[str] = set()
    folders: set[str] = set()
    for file in tracked_files():
        parts = file.relative_to(ROOT).parts
        if len(parts) == 1:
            files.add(parts[0])
        else:
            folders.add(parts[0])
    assert sorted(files ^ FILES_AT_THE_ROOT) == [], "remove it, or name it here"
    assert sorted(folders ^ FOLDERS_AT_THE_ROOT) == [], "remove it, or name it here"


def indentation(line: str) -> int:
    """How many blanks a line begins with."""
    return len(line) - len(line.lstrip(" "))


def empty_headings(text: str) -> list[str]:
    """The headings of a module that have no statement below them before the next, or the end."""
    lines = [line for line in text.splitlines() if line.strip()]
    empty: list[str] = []
    for line, below in pairwise([*lines, ""]):
        if not HEADING.fullmatch(line):
            continue
        is_at_an_end = not below or indentation(below) < indentation(line)
        if is_at_an_end or HEADING.fullmatch(below):
            empty.append(line.strip(" #-"))
    return empty


def test_an_empty_heading_is_found() -> None:
    first = "# ---------- the first"
    second = "# ---------- the second"
    in_a_class = "class A:\n    a = 1\n\n    # ---------- inside\n\n\nb = 1\n"
    assert empty_headings(f"{first}\n\n\na = 1\n") == []
    assert empty_headings(f"{first}\n\n\n{second}\n") == ["the first", "the second"]
    assert empty_headings(in_a_class) == ["inside"]


def test_a_heading_has_something_beneath_it() -> None:
    empty: list[str] = []
    for file in sorted([*MODULES, *(ROOT / "tests").rglob("*.py")]):
        text = file.read_text()
        if "# ----" in text:
            name = file.relative_to(ROOT)
            empty += [f"{name}: {heading}" for heading in empty_headings(text)]
    assert empty == [], "remove the heading"


def test_modules_say_what_they_are_for() -> None:
    silent = [place(file) for file in MODULES if not ast.get_docstring(tree(file))]
    assert silent == [], "say in a docstring what the module is for"


def test_modules_are_one_idea() -> None:
    sizes = {place(file): legibility.statements(tree(file)) for file in MODULES}
    large = {name: size for name, size in sizes.items() if size > MAX_MODULE_STATEMENTS}
    assert large == {}, "these have many statements: are they still one idea?"


def test_functions_are_one_thought() -> None:
    large: dict[str, int] = {}
    for file in MODULES:
        for node in nodes(file):
            if not isinstance(node, ast.FunctionDef):
                continue
            name = f"{place(file)}.{node.name}"
            size = legibility.statements(node)
            if size > MAX_FUNCTION_STATEMENTS:
                large[name] = size
    assert large == {}, "these have many statements: split them"


def test_functions_and_classes_say_what_they_do() -> None:
    vague = [
        f"{place(file)}: {node.name}"
        for file in MODULES
        for node in nodes(file)
        if isinstance(node, (ast.FunctionDef, ast.ClassDef))
        and BANNED_NAMES.search(node.name)
    ]
    assert vague == [], "name what it does"


# Words with which a phrase begins whose subject is only in the name of the function.
FRAGMENT = re.compile(r"(Of|That|Those|None|As|With|Without|Until)\b")


def test_docstrings_begin_with_what_they_are_about() -> None:
    """A stranger reads "Of the runs that have it." twice: what of the runs?"""
    fragments: list[str] = []
    for file in MODULES:
        for node in nodes(file):
            if isinstance(node, (ast.FunctionDef, ast.ClassDef, ast.Module)):
                text = ast.get_docstring(node) or ""
                if FRAGMENT.match(text):
                    fragments.append(f"{place(file)}: {text.splitlines()[0]}")
    assert fragments == [], (
        "name the thing first: `The values of the runs that have it.`"
    )


def test_code_reads_no_worse_than_it_did() -> None:
    """No folder is much harder than the others, and the whole gets no harder."""
    package = legibility.of_package()
    worse = list(legibility.too_much("the package", package, legibility.PACKAGE))
    for folder, now in legibility.by_folder().items():
        worse += legibility.too_much(folder, now, legibility.FOLDER)
    assert worse == [], "one thought a statement; names say what they hold"


def test_a_figure_above_its_limit_is_named_with_both_numbers() -> None:
    most = legibility.Legibility(folded=66, packed=3, names=9, pronouns=1)
    now = legibility.Legibility(folded=66, packed=3, names=10, pronouns=1)
    (message,) = legibility.too_much("run", now, most)
    assert message == "run: names 10, at most 9"


def test_a_room_grows_by_a_decision() -> None:
    """When one has become smaller, `python -m tests.room_sizes` lowers its figure."""
    assert room_sizes.too_large(room_sizes.measured(), room_sizes.recorded()) == []


def test_a_room_that_has_grown_is_named_with_both_numbers() -> None:
    most = {"core": 30, "run": 20, "cli": 10}
    (message,) = room_sizes.too_large({"core": 30, "run": 21, "cli": 9}, most)
    assert message.startswith("run has 21 statements, more than 20: move it behind")


def test_a_room_without_a_line_may_have_no_statement() -> None:
    (message,) = room_sizes.too_large({"extensions/new": 3}, {"core": 30})
    assert message.startswith("extensions/new has 3 statements, more than 0")


def test_a_class_has_its_name_alone() -> None:
    """Who reads or searches for a name finds one thing."""
    places: dict[str, list[str]] = {}
    for file in MODULES:
        for node in tree(file).body:
            if isinstance(node, ast.ClassDef):
                places.setdefault(node.name, []).append(place(file))
    twice = {name: files for name, files in places.items() if len(files) > 1}
    assert twice == {}, "say in the name what kind it is of, in the field's words"


def test_tests_are_handed_what_they_need_and_patch_little() -> None:
    """A seam is a parameter, a field of `App` or of what is passed, or a real thing."""
    patches = Counter[str]()
    for file in sorted((ROOT / "tests").rglob("*.py")):
        text = file.read_text()
        # Most files have no such word, and need not be parsed.
        if not PATCHING_WORD.search(text):
            continue
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.Call) and PATCHING.fullmatch(
                ast.unparse(node.func)
            ):
                patches[str(file.relative_to(ROOT))] += 1
    assert patches.total() <= MAX_PATCHES, (
        f"{dict(patches)}: give the code what it lacks"
    )


def test_no_test_imports_a_test() -> None:
    """What two of them need is beside them: tests/fakes.py, plans.py, campaigns.py …"""
    for file in sorted((ROOT / "tests").rglob("*.py")):
        found = re.findall(
            r"^\s*(?:from|import) tests\b.*\btest_\w+", file.read_text(), re.M
        )
        assert not found, (
            f"{file.relative_to(ROOT)}: {found[0]}: move what both need out of it"
        )


def test_docker_folder_holds_no_python() -> None:
    found = list((ROOT / "docker").rglob("*.py"))
    assert not found, f"{found}: a Python file in docker/ shadows docker-py"


def test_protected_names_are_not_used() -> None:
    """The benchmark's mark is for audited results; "tpmC" may only be named to say that."""
    for file in tracked_files():
        inside = file.relative_to(ROOT).parts[0]
        if (
            inside in {"orchestrator", "workloads", "profiles", "docker"}
            and file.is_file()
        ):
            text = file.read_text(errors="replace")
            assert "tpmC" not in text, f"{file}: the metric is NOPM"
            assert "TPC-C result" not in text, f"{file}: say TPC-C-derived"


def test_makefile_targets_are_documented() -> None:
    makefile = (ROOT / "Makefile").read_text()
    phony = " ".join(re.findall(r"^\.PHONY: (.*)$", makefile, re.MULTILINE)).split()
    assert sorted(phony) == sorted(
        re.findall(r"^([a-z-]+):.*## ", makefile, re.MULTILINE)
    )


def test_the_main_flow_is_in_the_order_that_it_says() -> None:
    flow = (PACKAGE / "run/experiment.py").read_text()
    docstring, body = flow.split("def execute(")
    body = body.split("\ndef ")[0]
    numbers = [int(n) for n in re.findall(r"^ ?(\d)\. ", docstring, re.MULTILINE)]
    told = [int(n) for n in re.findall(r"(?:# |to )(\d)\.", body)]
    assert numbers == list(range(1, 8))
    assert told == [1, 2, 3, 4, 6, 7]


def test_nothing_is_there_that_only_tests_use() -> None:
    """Goal: no dead code. Method: each function and class at the top of a module is named once more
    in the package; commands, which typer calls, are decorated."""
    words: Counter[str] = Counter()
    named: dict[str, str] = {}
    for file in MODULES:
        words.update(re.findall(r"\w+", file.read_text()))
        for node in tree(file).body:
            if (
                isinstance(node, (ast.FunctionDef, ast.ClassDef))
                and not node.decorator_list
            ):
                named[node.name] = file.name
    dead = sorted(f"{file}: {name}" for name, file in named.items() if words[name] < 2)
    assert dead == [], (
        "nothing in the package uses these: remove them, with their tests"
    )


def test_the_lock_file_pins_everything_with_checksums_and_names_no_host() -> None:
    text = (ROOT / "requirements.lock").read_text()
    entries = re.findall(
        r"^([a-z0-9][\w.-]*)==[^ ]+(?: ;[^\\\n]*)?((?: \\\n +--hash=\S+)+)$", text, re.M
    )
    pinned = {name for name, _ in entries}
    assert len(entries) == len(re.findall(r"^\S+==", text, re.M)), (
        "an entry has no checksum"
    )
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"]
    wanted = [*project["dependencies"], *extras["test"], *extras["build"]]
    assert {*extras["charts"], *extras["kubernetes"]} <= set(wanted), (
        "make installs every extra"
    )
    names = {re.split(r"[\[<>=; ]", one)[0].lower() for one in wanted}
    assert names <= pinned, "run `make lock`"
    assert "://" not in text


def test_the_image_of_the_program_is_made_of_what_is_locked_for_all() -> None:
    def pinned(file: str) -> set[str]:
        return set(re.findall(r"^(\S+==\S+)", (ROOT / file).read_text(), re.M))

    own = pinned("docker/tierbench/requirements.lock")
    assert own <= pinned("requirements.lock"), "run `make lock`"
    assert {"kubernetes", "vl-convert-python"} <= {
        entry.partition("==")[0] for entry in own
    }
    text = (ROOT / "docker/tierbench/requirements.lock").read_text()
    entries = re.findall(r"^\S+==\S+(?: \\\n +--hash=\S+)+$", text, re.M)
    assert len(entries) == len(own) and "://" not in text
