"""Converts version 1 of the result format, with its notes and titles in words, to typed parts.

In version 1, notes of a plan were sentences, and checks of a truth gate had only a title.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from orchestrator.facts import GateQuantity, NoteKind

# The first phrase that a sentence or title contains decides.
_NOTES: tuple[tuple[str, NoteKind], ...] = (
    ("the database is PostgreSQL", "fallback database"),
    ("the database is", "preferred database"),
    ("(as asked): replication", "nodes as asked"),
    (": replication is not", "fewer nodes"),
    (" runs at scale ", "other scale"),
    ("limits by control group", "approximate limits"),
    ("burst times are divided", "burst scaled"),
    ("", "other"),
)
_CHECKS: tuple[tuple[str, GateQuantity], ...] = (
    ("integrity", "integrity"),
    ("fdatasync", "fdatasync"),
    ("queue depth at which", "depth_at_cap"),
    ("latency at queue depth 1, read", "latency_read"),
    ("latency at queue depth 1, write", "latency_write"),
    ("random read at queue depth", "iops_at_depth"),
    ("IOPS at queue depth", "iops_at_depth"),
    ("KiB random read", "iops_read"),
    ("KiB random write", "iops_write"),
    ("KiB random mixed", "iops_mixed"),
    ("sequential read", "bandwidth_read"),
    ("sequential write", "bandwidth_write"),
)


def plan(content: dict[str, Any]) -> dict[str, Any]:
    """Converts the content of plan.json to today's version."""
    if "schema_version" in content:
        return content
    names = [profile["name"] for profile in content.get("profiles", ())]
    notes = [_note(text, names) for text in content.get("notes", ())]
    return {**content, "notes": notes, "schema_version": 2}


def _note(sentence: str, profiles: Sequence[str]) -> dict[str, Any]:
    kind = next(kind for words, kind in _NOTES if words in sentence)
    name, colon, text = sentence.partition(": ")
    if colon and name in profiles:
        return {"kind": kind, "text": text, "profile": name}
    return {"kind": kind, "text": sentence}


def record(content: dict[str, Any]) -> dict[str, Any]:
    """Adds the quantity to each check of the truth gate in the content of record.json."""
    gate = content.get("gate")
    if not gate or all("quantity" in check for check in gate["checks"]):
        return content
    checks = [{**check, "quantity": _quantity(check["limit"])} for check in gate["checks"]]
    return {**content, "gate": {**gate, "checks": checks}}


def _quantity(title: str) -> GateQuantity | None:
    if title.startswith("bandwidth") and "random" in title:
        return "bandwidth_at_size"
    return next((quantity for words, quantity in _CHECKS if words in title), None)
