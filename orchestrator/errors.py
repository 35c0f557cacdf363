"""Everything that can go wrong, as a tree; the edge (`cli`) prints it and picks the exit code.

TierbenchError                  70  catch this to catch all of ours
├── UsageError                  64  the profile or the arguments are wrong: nothing was started
│   └── CutError                64  a stored file does not have its form
├── UnavailableError            69  something needed is not there: engine, image, port, kernel
│   ├── NotWrittenError         69  a file or a folder cannot be written; an OSError too
│   ├── NotReadableError        69  another user's file or folder; an OSError too
│   ├── NotInstalledError       69  an extension's member; a KeyError too
│   ├── GuardLostError          69  another campaign may be running beside this one
│   └── LeftBehindError         69  what was rented may still be there, and cost money
├── RunError                     2  a run could not be finished or its figures are not to be trusted
│   ├── NodeError                2  a database node died, or never became ready
│   ├── GateError                2  the disk is not what its tier declares
│   ├── StatementError           2  a database refused a statement, or ended it
│   │   └── NotPermittedError    2  its user may not do what the statement asks
│   ├── NotCountedError          2  servers do not count the statements of a database
│   ├── VoidError                2  what was measured is void, though all seemed well meanwhile
│   └── LoadError                2  the load generator failed, or loaded something else than asked
│       └── UnfinishedError      2  its loader failed, and can go on in the same database
└── InterruptedByUser          130  Ctrl-C or a polite kill

Exceptions carry facts and never act. `advice` says what to do next."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal, Protocol, TypeVar

# 64, 69 and 70 are EX_USAGE, EX_UNAVAILABLE and EX_SOFTWARE of sysexits(3); 130 is a shell's for
# SIGINT. 1 is worse than before, or other than was kept; 2 is no answer, or no figures.
EXIT_DONE = 0
EXIT_WORSE = 1
EXIT_DIFFERS = 1  # an answer of `verify`
EXIT_INCONCLUSIVE = 2
EXIT_USAGE = 64
EXIT_UNAVAILABLE = 69
EXIT_INTERNAL = 70
EXIT_INTERRUPTED = 130
# Errors of reading where a text or a file has an unknown form. The last is of JSON nested without
# end.
UNREADABLE = (
    ValueError,
    LookupError,
    TypeError,
    AttributeError,
    ArithmeticError,
    RecursionError,
)


MistakeKind = Literal["", "unknown name"]


@dataclass(frozen=True)
class KeyPlace:
    """A key in a file that a person wrote: `profiles/x.yaml:3: tier.path`.

    file: as messages name it; empty: it is not known. keys: from the top of the file down to the
    key; none: the whole file. line: counted from 1; None: it is not known.
    """

    file: str
    keys: tuple[str, ...] = ()
    line: int | None = None

    def below(self, *keys: str) -> KeyPlace:
        """The place of a key below this one."""
        return replace(self, keys=(*self.keys, *keys))

    def below_path(self, path: str) -> KeyPlace:
        """The place of `dataset.size` below this one; `path`: of keys that have no dot."""
        return self.below(*path.split("."))

    def __str__(self) -> str:
        file = self.file
        if self.line is not None:
            file = f"{file}:{self.line}"
        path = ".".join(self.keys)
        if file and path:
            return f"{file}: {path}"
        return file or path


@dataclass(frozen=True)
class Mistake:
    """One thing wrong in something a person wrote: where (file and YAML path) and what.

    `kind`: what follows from it beside its words. `hint`: what to do, where that is more
    than to correct it. `place`: what `where` says, if it is a key of a file.
    """

    where: str
    what: str
    kind: MistakeKind = field(default="", compare=False, repr=False)
    hint: str = field(default="", compare=False, repr=False)
    place: KeyPlace | None = field(default=None, compare=False, repr=False)

    @classmethod
    def at(cls, where: KeyPlace | str, what: str, kind: MistakeKind = "") -> Mistake:
        """A mistake at a key of a file, or at what the text names."""
        if isinstance(where, str):
            return cls(where, what, kind)
        return cls(str(where), what, kind, place=where)


class TierbenchError(Exception):
    """What was wrong (`what`), what to do about it (`advice`), and what was seen (`evidence`).

    `mistakes`: of a UsageError; none of any other.
    """

    exit_code = EXIT_INTERNAL
    mistakes: tuple[Mistake, ...] = ()

    def __init__(self, what: str, advice: str = "", evidence: str = "") -> None:
        super().__init__(what)
        self.what = what
        self.advice = advice
        self.evidence = evidence
        # The machine or engine that `what` begins with; empty until somebody names it.
        self.place = ""


class UsageError(TierbenchError):
    exit_code = EXIT_USAGE

    def __init__(
        self,
        what: str,
        advice: str = "",
        mistakes: tuple[Mistake, ...] = (),
        evidence: str = "",
    ) -> None:
        super().__init__(what, advice, evidence)
        self.mistakes = mistakes


class CutError(UsageError):
    """A file that does not have its form: a disk or a person has cut or changed it."""


def require_none(mistakes: Sequence[Mistake], what: str, advice: str) -> None:
    """UsageError that lists the mistakes, if there are any."""
    if mistakes:
        raise UsageError(what, advice, tuple(mistakes))


class _Named(Protocol):
    @property
    def name(self) -> str: ...


_Planned = TypeVar("_Planned", bound=_Named)


def planned(kind: str, name: str, things: Iterable[_Planned]) -> _Planned:
    """What a plan has under that name. UsageError with those that it has. `kind`: what they are."""
    names: list[str] = []
    for thing in things:
        if thing.name == name:
            return thing
        names.append(thing.name)
    raise UsageError(f"the plan has no {kind} {name}", f"it has {', '.join(names)}")


class NotAsked(TierbenchError):
    """What could only be found out by starting or asking something."""


class UnavailableError(TierbenchError):
    exit_code = EXIT_UNAVAILABLE


class NotWrittenError(UnavailableError, OSError):
    """A disk is full, or may not be written, or has a link in the place of a folder. Also an
    OSError, because some go on without the file. `why`: as the system says it."""

    def __init__(self, what: str, why: str, advice: str = "") -> None:
        advice = advice or "make room, or name a place that you may write"
        super().__init__(what, advice)
        self.why = why
        self.strerror = why


class NotReadableError(UnavailableError, OSError):
    """A file or folder that its owner keeps from others. Also an OSError, because some go on
    without the file."""

    def __init__(self, what: str) -> None:
        super().__init__(
            what, "ask its owner for the right to read it, or name another"
        )
        self.strerror = "you may not read it"


class NotInstalledError(UnavailableError, KeyError):
    """No member of a family has this name here. Also a KeyError, because families are mappings."""

    def __init__(self, noun: str, name: str) -> None:
        super().__init__(
            f"the {noun} {name!r} is not installed here",
            "install the extension that brings it: `tierbench list` has those that are here",
        )


class GuardLostError(UnavailableError):
    pass


class LeftBehindError(UnavailableError):
    """`look`: the commands that show what is left; `first`: what has to be done before they can."""

    def __init__(self, what: str, look: tuple[str, ...], first: str = "") -> None:
        commands = "`; `".join(look)
        advice = f"look with: `{commands}`"
        if first:
            advice = f"{first}; then {advice}"
        super().__init__(what, advice)
        self.look = look


class RunError(TierbenchError):
    exit_code = EXIT_INCONCLUSIVE


class NodeError(RunError):
    pass


class GateError(RunError):
    pass


class StatementError(RunError):
    """`sqlstate`: the code of the reason, which is the same in each language of a server; empty
    where none answered. `message`: its first sentence, as the server says it."""

    def __init__(
        self, what: str, advice: str = "", sqlstate: str = "", message: str = ""
    ) -> None:
        super().__init__(what, advice)
        self.sqlstate = sqlstate
        self.message = message or what


class NotPermittedError(StatementError):
    pass


class NotCountedError(RunError):
    def __init__(self, what: str, database: str) -> None:
        super().__init__(what)
        self.database = database


class VoidError(RunError):
    pass


class LoadError(RunError):
    pass


class UnfinishedError(LoadError):
    """A loader failed that goes on where it was, if it is started again in the same database."""


class InterruptedByUser(TierbenchError):
    exit_code = EXIT_INTERRUPTED
