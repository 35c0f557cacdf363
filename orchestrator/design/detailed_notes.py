"""Notes of a plan that have more than one sentence. Pure."""

from orchestrator.facts import NoteKind
from orchestrator.model import Note


def detailed_note(
    kind: NoteKind, lead: str, details: str, profile: str | None = None
) -> Note:
    """A note of which a plan shows the `lead`, and a run the sentences behind it too."""
    return Note(kind, f"{lead}. {details}", profile, lead)
