"""The facts of several clients → those of one."""

from collections.abc import Mapping, Sequence
from typing import Any

from orchestrator.analysis.figures.error_counts import sum_errors
from orchestrator.facts import GeneratorFacts
from orchestrator.texts.prose import named


def one_of(
    facts: Mapping[str, GeneratorFacts], notes: Mapping[str, Mapping[str, Any]]
) -> GeneratorFacts:
    """The facts of all clients as those of one. `notes`: of each; its clock is `shifted_s`
    ahead."""
    clients: dict[str, dict[str, Any]] = {}
    for name, client_facts in facts.items():
        clients[name] = {
            **notes[name],
            "began_s": _begin_s(client_facts, notes[name]),
            "recorded_transactions": client_facts.recorded_transactions,
        }
    begins_s: list[float] = []
    for client in clients.values():
        begins_s.append(client["began_s"])
    return GeneratorFacts.read(
        {
            **_merged(facts),
            "start_skew_s": max(begins_s) - min(begins_s),
            "clients": clients,
        }
    )


def _begin_s(facts: GeneratorFacts, notes: Mapping[str, Any]) -> float:
    """When a client began, by this computer's clock."""
    if facts.began_s is None:
        return float(notes["began_s"])
    return facts.began_s - float(notes["shifted_s"])


def _merged(facts: Mapping[str, GeneratorFacts]) -> dict[str, Any]:
    """Key → the value for all clients, where there is one."""
    recorded: list[dict[str, Any]] = []
    for client_facts in facts.values():
        errors = client_facts.more.get("errors")
        # A begin is of one client, and is told with it.
        recorded.append({**client_facts.recorded(), "began_s": None, "errors": errors})
    # A dict and no set, because it keeps the order of the keys.
    keys: dict[str, None] = {}
    for values in recorded:
        keys |= dict.fromkeys(values)
    merged: dict[str, Any] = {}
    for key in keys:
        values_of_clients: list[Any] = []
        for values in recorded:
            values_of_clients.append(values.get(key))
        value = _value_of_all(key, values_of_clients, list(facts))
        if value is not None:
            merged[key] = value
    return merged


def _value_of_all(key: str, values: list[Any], clients: Sequence[str]) -> Any:
    """Counts and rates are summed; the warm-up, which all had at once, the size of a transaction,
    and what all say alike are kept; the rest is said by client. None if a client does not say."""
    if key == "errors":
        entries: list[Mapping[str, Any]] = []
        for errors in values:
            entries += errors or ()
        return sum_errors(entries)
    # A sum without one client would be too small, and nobody would see it.
    if None in values:
        return None
    # All clients warm up at once, so a sum would be several times as long.
    if key in ("warmup_s", "bytes_per_transaction"):
        return max(values)
    # Booleans come before numbers, because Python's True is a number too.
    if all(isinstance(value, bool) for value in values):
        return all(values)
    if all(_is_number(value) for value in values):
        return sum(values)
    if all(_is_list_of_numbers(value) for value in values):
        return [sum(column) for column in zip(*values, strict=True)]
    if values.count(values[0]) == len(values):
        return values[0]
    by_client = dict(zip(clients, values, strict=True))
    # A fact that is a text has to stay one, or it would be dropped when it is read.
    if _are_texts(values):
        return named(by_client)
    return by_client


def _are_texts(values: list[Any]) -> bool:
    for value in values:
        is_text = isinstance(value, str)
        if not is_text:
            return False
    return True


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _is_list_of_numbers(value: object) -> bool:
    return isinstance(value, list) and all(_is_number(element) for element in value)
