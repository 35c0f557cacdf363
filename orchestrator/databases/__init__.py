"""Databases: one file each, and one line here."""

from orchestrator.databases.postgresql import PostgreSQL
from orchestrator.protocols import Database


def databases() -> dict[str, Database]:
    return {"postgresql": PostgreSQL()}
