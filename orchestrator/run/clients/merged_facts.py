"""The facts of several clients → those of one."""

from collections.abc import Mapping, Sequence
from typing import Any

from orchestrator.analysis.figures.error_counts import sum_errors
from orchestrator.facts import FactRule, GeneratorFacts, WeightedMean
from orchestrator.texts.prose import named

FactRules = Mapping[str, FactRule | WeightedMean]
# Field of `GeneratorFacts` → how those of several clients become one.
RULES: FactRules = {
    "version": "alike",
    "recorded_transactions": "sum",
    "recorded_failures": "sum",
    "sysbench_transactions": "sum",
    "unstarted": "sum",
    "woke_late_transactions": "sum",
    "woke_late_avg_s": WeightedMean("woke_late_transactions"),
    "woke_late_most_s": "maximum",
    "arrival_rate_per_s": "sum",
    "served_of_asked": WeightedMean("arrival_rate_per_s"),
    "statements_batched": "all true",
    # All clients warm up at once, so a sum would be several times as long.
    "warmup_s": "maximum",
    "warmup_steady": "all true",
    "began_s": "of one client",
    "start_skew_s": "of one client",
    "bytes_per_transaction": "maximum",
    "payload": "alike",
    "ends_with_work": "all true",
    "windows": "alike",
    "clients": "of one client",
}
# What generators keep beside those fields.
_RULES_OF_MORE: FactRules = {"errors": "errors"}


def one_of(
    facts: Mapping[str, GeneratorFacts],
    notes: Mapping[str, Mapping[str, Any]],
    generator_rules: FactRules,
) -> GeneratorFacts:
    """The facts of all clients as those of one.

    `notes` are by client, whose clock is `shifted_s` ahead. `generator_rules` are those of the
    generator's own facts.
    """
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
            **_merged(facts, {**_RULES_OF_MORE, **generator_rules, **RULES}),
            "start_skew_s": max(begins_s) - min(begins_s),
            "clients": clients,
        }
    )


def _begin_s(facts: GeneratorFacts, notes: Mapping[str, Any]) -> float:
    """When a client began, by this computer's clock."""
    if facts.began_s is None:
        return float(notes["began_s"])
    return facts.began_s - float(notes["shifted_s"])


def _merged(facts: Mapping[str, GeneratorFacts], rules: FactRules) -> dict[str, Any]:
    """Key → the value for all clients, where there is one."""
    recorded: list[Mapping[str, Any]] = []
    for client_facts in facts.values():
        recorded.append(client_facts.recorded())
    # A dict and no set, because it keeps the order of the keys.
    keys: dict[str, None] = {}
    for values in recorded:
        keys |= dict.fromkeys(values)
    merged: dict[str, Any] = {}
    for key in keys:
        # No number is summed unless its rule says so: a share or a mean would be wrong unseen.
        rule = rules.get(key, "alike")
        values_of_clients = _by_client(recorded, key)
        if isinstance(rule, WeightedMean):
            weights = _by_client(recorded, rule.weight)
            value = _weighted_mean(values_of_clients, weights)
        else:
            value = _value_of_all(rule, values_of_clients, list(facts))
        if value is not None:
            merged[key] = value
    return merged


def _by_client(recorded: Sequence[Mapping[str, Any]], key: str) -> list[Any]:
    """The fact of this name, one for each client; None where a client does not have it."""
    values: list[Any] = []
    for facts in recorded:
        values.append(facts.get(key))
    return values


def _weighted_mean(values: list[Any], weights: list[Any]) -> float | None:
    """The mean of all clients; None if one lacks the value or its weight."""
    if None in values or None in weights or not sum(weights):
        return None
    total = 0.0
    for value, weight in zip(values, weights, strict=True):
        total += value * weight
    return total / float(sum(weights))


def _value_of_all(rule: FactRule, values: list[Any], clients: Sequence[str]) -> Any:
    """The value by its rule; None if there is none for all, as when a client does not say."""
    if rule == "errors":
        entries: list[Mapping[str, Any]] = []
        for errors in values:
            entries += errors or ()
        return sum_errors(entries)
    # A sum without one client would be too small, and nobody would see it.
    if rule == "of one client" or None in values:
        return None
    if rule == "sum":
        return _sum(values)
    if rule == "maximum":
        return max(values)
    if rule == "all true":
        return all(values)
    return _alike(values, clients)


def _sum(values: list[Any]) -> Any:
    """The sum of numbers, or of lists of numbers column by column, None where one is unknown."""
    if not isinstance(values[0], list):
        return sum(values)
    sums: list[float | None] = []
    for column in zip(*values, strict=True):
        if None in column:
            sums.append(None)
        else:
            sums.append(sum(column))
    return sums


def _alike(values: list[Any], clients: Sequence[str]) -> Any:
    """The value that all say, or what each client says."""
    if values.count(values[0]) == len(values):
        return values[0]
    by_client = dict(zip(clients, values, strict=True))
    # A fact that is a text has to stay one, or it would be dropped when it is read.
    if all(isinstance(value, str) for value in values):
        return named(by_client)
    return by_client
