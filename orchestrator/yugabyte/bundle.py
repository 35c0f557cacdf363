"""A bundle: what the servers of somebody's YugabyteDB answered, as one plain text. Pure.

It has the form of the entries in `tests/standin/evidence/` (YAML, whose values are JSON), so that
what a first user sends can be held against the stand-in as it is. Whatever is not an entry is a
comment: what the bundle holds, and what could not be read and why."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from orchestrator.yugabyte.anonymous import Anonymous
from orchestrator.yugabyte.answers import ServerAnswer

FORM = 1
_LINE = 120
_INDENT = 4


@dataclass(frozen=True)
class CheckedLine:
    """A line of the checklist, as a bundle shows it."""

    name: str
    state: str
    seen: str


@dataclass(frozen=True)
class BundleEntry:
    """One entry, or what stands in its place. `size_bytes`: of `text` as it is written."""

    name: str
    text: str = field(default="", repr=False)
    unread: str = ""
    size_bytes: int = 0


def entries_of(
    answers: Iterable[ServerAnswer],
    checked: Sequence[CheckedLine],
    anonymous: Anonymous,
    source: str,
) -> list[BundleEntry]:
    """The entries of all answers, and one of the checklist. `source`: what the entries give as
    theirs."""
    # All answers before any sentence: a name that an answer holds is then replaced in them too.
    shown: list[ServerAnswer] = []
    for answer in answers:
        shown.append(replace(answer, content=_content(answer, anonymous)))
    release = release_of(shown) or "unknown"
    entries = []
    for answer in shown:
        if answer.unread:
            reason = " ".join(anonymous.text(answer.unread).split())
            entries.append(BundleEntry(answer.name, unread=reason))
        else:
            entries.append(_entry(answer, release, source))
    if checked:
        checklist = _checklist(checked, anonymous)
        entries.append(_entry(checklist, release, source))
    return entries


def _checklist(checked: Sequence[CheckedLine], anonymous: Anonymous) -> ServerAnswer:
    lines = {}
    for line in checked:
        # Lines after the first are the servers' logs, or advice.
        seen = anonymous.text(line.seen.partition("\n")[0])
        lines[line.name] = {"state": line.state, "seen": seen}
    return ServerAnswer("checklist", "checklist", lines)


def _content(answer: ServerAnswer, anonymous: Anonymous) -> Any:
    key = answer.question
    if answer.entity:
        key = "name"
    return anonymous.content(answer.content, key)


def release_of(answers: Iterable[ServerAnswer]) -> str:
    """The release, with its build if that is known, from the first page that has it; "" if none
    does."""
    for answer in answers:
        page = answer.content
        if answer.question != "/api/v1/version" or not isinstance(page, Mapping):
            continue
        number = str(page.get("version_number", ""))
        if number and "build_number" in page:
            return f"{number}-b{page['build_number']}"
        if number:
            return number
    return ""


def _entry(answer: ServerAnswer, release: str, source: str) -> BundleEntry:
    lines = [
        f"- id: {json.dumps(answer.name)}",
        f"  answers: [{json.dumps(answer.question)}]",
        f"  release: {json.dumps(release)}",
    ]
    if answer.server:
        lines.append(f"  server: {answer.server}")
    if answer.entity:
        lines.append(f"  entity: [{answer.entity}]")
    lines += ["  seen: output", f"  source: {json.dumps(source)}", "  fact:"]
    lines += _json_lines(answer.content, _INDENT)
    text = "\n".join(lines) + "\n"
    return BundleEntry(answer.name, text, size_bytes=len(text.encode()))


def _json_lines(
    content: Any, indent: int, before: str = "", after: str = ""
) -> list[str]:
    """JSON that a person can read through: what fits stands on one line."""
    margin = " " * indent
    whole = f"{before}{json.dumps(content, ensure_ascii=False, default=str)}{after}"
    if len(whole) + indent <= _LINE or not isinstance(content, (dict, list)):
        return [margin + whole]
    names = [""] * len(content)
    members = content
    brackets = "[]"
    if isinstance(content, dict):
        names = [f"{json.dumps(key)}: " for key in content]
        members = list(content.values())
        brackets = "{}"
    lines = [f"{margin}{before}{brackets[0]}"]
    for name, value in zip(names, members, strict=True):
        lines += _json_lines(value, indent + 1, name, ",")
    lines[-1] = lines[-1].removesuffix(",")  # JSON takes no comma behind the last one
    return [*lines, f"{margin}{brackets[1]}{after}"]


def listing(entries: Sequence[BundleEntry]) -> list[str]:
    """What goes in, each with its bytes, and what could not be read, with the reason."""
    lines = []
    for entry in entries:
        if entry.unread:
            lines.append(f"{entry.name}: could not be read: {entry.unread}")
        else:
            lines.append(f"{entry.name}: {entry.size_bytes:,} bytes")
    return lines


def text(entries: Sequence[BundleEntry], title: str) -> str:
    """The whole file."""
    heading = [
        f"# {title}",
        f"# Form {FORM}. Hosts, identities, paths and names are replaced, each alike everywhere;",
        "# texts that are not a server's own words are left out, passwords among them.",
        *[f"#   {line}" for line in listing(entries)],
    ]
    body = "".join(entry.text for entry in entries)
    return "\n".join(heading) + "\n" + body
