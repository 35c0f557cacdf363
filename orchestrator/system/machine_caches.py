"""Which machine a cache folder belongs to, by /etc/machine-id, or by name where there is none.

A home on NFS may be shared by several machines. The first that uses the cache owns it, as the link
`.owner` says; each other has a folder of its own in it. A machine that is renamed is the same one,
and two of one name are two. Earlier releases kept the name alone: such a folder is taken over by
the first machine of that name that works with it.

The id itself is not to be shown (machine-id(5)), so that a hash of it is kept."""

import hmac
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from orchestrator.errors import UnavailableError
from orchestrator.system import files, host

PARTS = "machines"
_OWNER = ".owner"  # a link: it has its content as soon as it is there, on NFS too
_NEXT_OWNER = ".owner.next"  # whoever makes it may replace the one above
_FILES = ("etc/machine-id", "var/lib/dbus/machine-id")
_ID_DIGITS = 32


@dataclass(frozen=True)
class MachineIdentity:
    """`id`: hashed; "" where the machine has none, or an earlier release did not keep it."""

    name: str
    id: str = ""

    def __str__(self) -> str:
        return f"{self.name} {self.id}".strip()

    def is_that_of(self, kept: "MachineIdentity") -> bool:
        """Whether this machine is the one that left `kept` behind."""
        if kept.id:
            return kept.id == self.id
        return kept.name == self.name


def parsed(text: str) -> MachineIdentity:
    """What `str` of an identity gives, or the name alone."""
    name, _, identity = text.partition(" ")
    return MachineIdentity(name, identity)


def here(root: Path = Path("/")) -> MachineIdentity:
    """The identity of this computer. `root` is "/" except in tests."""
    for file in _FILES:
        with suppress(OSError, ValueError):
            text = (root / file).read_text(encoding="ascii").strip()
            bytes.fromhex(text)  # not a word such as `uninitialized`
            if len(text) == _ID_DIGITS:
                # The hash is that of sd_id128_get_machine_app_specific(3): the id is the key, and
                # is not shown.
                hashed = hmac.digest(bytes.fromhex(text), b"tierbench", "sha256")
                return MachineIdentity(host.name(), hashed.hex()[:16])
    return MachineIdentity(host.name())


def owner_of(cache: Path) -> MachineIdentity | None:
    """The machine that has signed a cache folder; None if none has."""
    with suppress(OSError):
        return parsed(str((cache / _OWNER).readlink()))
    if cache.parent.name == PARTS and cache.is_dir():
        return MachineIdentity(cache.name)  # a folder of an earlier release
    return None


def parts(cache: Path) -> Iterator[Path]:
    """The cache folder, and those that machines have in it."""
    yield cache
    yield from sorted((cache / PARTS).glob("*/"))


def part_of(cache: Path, machine: MachineIdentity) -> Path:
    """What a machine has of a cache folder: all of it, unless another has signed it first; then a
    folder of its own in it. Nothing is made."""
    unsigned: list[Path] = []
    same_name: list[Path] = []
    for folder in parts(cache):
        owner = owner_of(folder)
        if owner is None:
            unsigned.append(folder)
        elif owner.id and machine.is_that_of(owner):
            return folder
        elif machine.is_that_of(owner):
            same_name.append(folder)
    # A cache that an earlier release signed with this name is likelier ours than an unsigned one.
    for folder in (*same_name, *unsigned):
        return folder
    part = cache / PARTS / machine.name
    if part.exists():  # it belongs to another machine of this name
        part = part.with_name(f"{machine.name}-{machine.id or 'unnamed'}")
    return part


def sign(cache: Path, machine: MachineIdentity) -> None:
    """Makes a cache folder the machine's, also if an earlier release signed it with the name alone.
    UnavailableError if another was faster."""
    files.make_folder(cache)
    with suppress(OSError):  # nobody owns it where there are no links
        (cache / _OWNER).symlink_to(str(machine))
    owner = owner_of(cache)
    if owner and machine.id and not owner.id and machine.is_that_of(owner):
        _take_over(cache, owner, machine)
        owner = owner_of(cache)
    if owner and not machine.is_that_of(owner):
        raise UnavailableError(
            f"the cache {cache} was taken by {owner.name} a moment ago",
            advice="start again: this machine then uses its own part of it",
        )


def _take_over(cache: Path, owner: MachineIdentity, machine: MachineIdentity) -> None:
    """Puts the machine in the place of `owner`. Of several that try, one does: it makes a link of
    its own first, which is there for one at a time, and then looks again."""
    link = cache / _NEXT_OWNER
    with suppress(OSError):
        link.symlink_to(str(machine))
        if owner_of(cache) == owner:
            link.replace(cache / _OWNER)
        else:
            link.unlink()
