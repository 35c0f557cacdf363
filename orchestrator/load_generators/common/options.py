"""Options and parameters by name, which load generators share: what their values must be, and what
no workload may set."""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from orchestrator.errors import KeyPlace, Mistake
from orchestrator.keys.addresses import Server
from orchestrator.keys.refusals import raise_all
from orchestrator.keys.shipped_yaml import shipped
from orchestrator.model import Endpoint, Workload
from orchestrator.texts.foreign_text import short

PREPARED = "db_ps_mode"
SET_FOR_ALL: Mapping[str, str] = shipped(__package__, "options.yaml")["set_for_all"]
STOP_GRACE_S = 60.0


def seed_of(workload: Workload) -> int:
    return int(workload.options.get("seed", 1))


def read_by_scripts(package: str) -> dict[str, tuple[str, ...]]:
    """Script → the options that it reads, by the options.yaml of a generator on sysbench."""
    table = shipped(package, "options.yaml")
    by_script: dict[str, tuple[str, ...]] = {}
    for script, names in table["scripts"].items():
        options: list[str] = []
        for name in names:  # names of options, or of groups of options
            options += table["groups"].get(name, [name])
        by_script[script] = tuple(options)
    return by_script


def set_elsewhere(workload: Workload, package: str) -> Iterator[tuple[str, str]]:
    """The options of the workload that its file may not set, with what does: of all generators on
    sysbench, or by the options.yaml of this one."""
    set_here = SET_FOR_ALL | shipped(package, "options.yaml")["set_here"]
    for option in workload.options:
        what = set_here.get(option, "")
        if not what and _is_of_a_session(option):
            what = "the cluster and its database set it"
        if what:
            yield f"options.{option}", what


def _is_of_a_session(option: str) -> bool:
    if option == PREPARED:
        return False
    return option.startswith(("pgsql_", "mysql_", "db_"))


def connection(endpoints: Sequence[Endpoint]) -> list[str]:
    """sysbench's options for a session with each of these in turn."""
    first = endpoints[0]
    hosts = [endpoint.host for endpoint in endpoints]
    if len({endpoint.port for endpoint in endpoints}) > 1:
        hosts = [str(Server(endpoint.host, endpoint.port)) for endpoint in endpoints]
    return [
        f"--pgsql-host={','.join(hosts)}",
        f"--pgsql-port={first.port}",
        f"--pgsql-user={first.user}",
        f"--pgsql-db={first.database}",
    ]


def flags(parameters: Mapping[str, Any]) -> list[str]:
    return [f"--{key.replace('_', '-')}={value}" for key, value in parameters.items()]


def refuse(workload: Workload, mistakes: Iterable[tuple[str, str]]) -> None:
    """UsageError listing what is wrong with the workload's file, given as (key, what)."""
    place = KeyPlace(f"workloads/{workload.name}.yaml")
    raise_all([Mistake.at(place.below_path(key), what) for key, what in mistakes])


def mistakes(
    workload: Workload, keys: Mapping[str, Sequence[str]], package: str = ""
) -> Iterator[tuple[str, str]]:
    """What of the workload's file would have no effect, or does not fit, as (key, what). `keys`:
    what its script takes under `options` and `dataset`; what it takes of a group that is not there
    is unknown. `package`: of a generator on sysbench, see `set_elsewhere`."""
    elsewhere: dict[str, str] = {}
    if package:
        elsewhere = dict(set_elsewhere(workload, package))
    yield from elsewhere.items()
    given = {"options": workload.options, "dataset": workload.dataset.parameters}
    for group, taken in keys.items():
        for key, value in given.get(group, {}).items():
            where = f"{group}.{key}"
            # The seed is given to every workload.
            if where in elsewhere or where == "options.seed":
                continue
            if key not in taken:
                takes = ", ".join(taken) or "none"
                yield where, f"{workload.script} does not take this; it takes {takes}"
                continue
            what = misfit(key, value)
            if what:
                yield where, what


TRANSACTION_TYPES = 5


def misfit(key: str, value: Any) -> str:
    """What is wrong with the value of a key that its load generator takes; "" if nothing is."""
    if key == "weights":
        return _misfit_of_weights(value)
    kinds = shipped(__package__, "options.yaml")
    if key in kinds["words"]:
        return _misfit_of_word(key, value, kinds["words"][key])
    if key in kinds["by_generator"]:
        return ""
    least = int(key in kinds["above_0"])
    types: tuple[type, ...] = (int,)
    kind = "whole number"
    if key in kinds["numbers"]:
        types = (int, float)
        kind = "number"
    # True is an int for Python, and infinity and NaN are floats.
    if type(value) in types and least <= value < math.inf:
        return ""
    return f"is a {kind}, {least} or more, not {short(value)}"


def _misfit_of_weights(value: Any) -> str:
    words = str(value).split(",")
    whole = all(word.strip().isdecimal() for word in words)
    if whole and len(words) == TRANSACTION_TYPES and any(int(word) for word in words):
        return ""
    kind = f"{TRANSACTION_TYPES} whole numbers, separated by commas, not all 0"
    return f"is {kind}, not {short(value)}"


def _misfit_of_word(key: str, value: Any, words: Sequence[str]) -> str:
    allowed: list[Any] = [*words]
    named = ", ".join(words)
    if "off" in named:  # YAML reads an unquoted `off` as False
        allowed += [0, 1, "true", "false"]  # True is 1
    given = value
    if key == "isolation":
        given = str(value).lower()
    if given in allowed:
        return ""
    return f"is one of {named}, not {short(value)}"
