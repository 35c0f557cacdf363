"""YSQL's port: passes the PostgreSQL protocol on, after taking YugabyteDB's own words out of SQL.

Every node listens; all pass on to the one PostgreSQL behind the first node.
"""

from __future__ import annotations

import asyncio
import re
import ssl
import struct

from standin.metrics import Activity
from standin.texts import line, series

PG_PORT = 6432
_TLS_REQUEST, _GSS_REQUEST = 80877103, 80877104
_REWRITTEN = re.compile(rb"\s*(CREATE|COPY|ALTER)\b", re.IGNORECASE)
_RULES = (
    (
        re.compile(
            rb"\s+SPLIT\s+(INTO\s+\d+\s+TABLETS|AT\s+VALUES\s*\(.*\))", re.I | re.S
        ),
        lambda clause: _mark(_tablets(clause[1])),
    ),
    # Ordered by its first column: a single tablet, unless it is split.
    (
        re.compile(
            rb"(?:PRIMARY\s+KEY|\bINDEX\b[^;]*?\bON\s+[\w.\"]+)\s*"
            rb"\(\s*\w+\s+(?:ASC|DESC)\b",
            re.I,
        ),
        lambda key: _mark(1) + b" " + key[0],
    ),
    (re.compile(rb"\(\s*\(([^()]*)\)\s*HASH\b", re.I), rb"(\1"),
    (re.compile(rb"\bHASH\b", re.I), b""),
    (re.compile(rb"\s+WITH\s*\(\s*ROWS_PER_TRANSACTION\s+\d+\s*\)", re.I), b""),
    (re.compile(rb"\s+WITH\s+COLOCATION\s*=\s*\w+", re.I), b""),
)
_KEY = re.compile(rb"PRIMARY\s+KEY\s*\([^()]*\)", re.I)
_ORDER = re.compile(rb"\s+(ASC|DESC)\b", re.I)


_BOUND = re.compile(rb"(\byb_hash_code\s*\([^()]*\)\s*(?:<|>)=?\s*)(\d+)", re.I)


def narrowed(sql: bytes, version: str) -> bytes:
    """2.18 narrows a bound of hash codes to 16 bits: 65536 is 0 there, and nothing lies below."""
    if series(version) >= (2, 19):
        return sql
    return _BOUND.sub(lambda found: found[1] + b"%d" % (int(found[2]) & 0xFFFF), sql)


def _tablets(split: bytes) -> int:
    """Of a clause behind SPLIT: INTO says how many, AT VALUES has a row for each bound."""
    if split[:2].upper() == b"AT":
        return split.count(b"(")
    return int(re.findall(rb"\d+", split)[0])


def _mark(tablets: int) -> bytes:
    """What functions.sql reads, of the last in a statement."""
    return b" /* tablets %d */" % tablets


def rewritten(sql: bytes) -> bytes:
    """YSQL's grammar → PostgreSQL's: sharding words and COPY's own options fall away; how many
    tablets a table or index gets stays, in a comment."""
    if not _REWRITTEN.match(sql):
        return sql
    for pattern, replacement in _RULES:
        sql = pattern.sub(replacement, sql)
    return _KEY.sub(lambda found: _ORDER.sub(b"", found[0]), sql)


class Front:
    def __init__(
        self,
        listen: str,
        behind: str,
        activity: Activity,
        tls: ssl.SSLContext | None,
        version: str,
    ) -> None:
        self._listen, self._behind, self._activity, self._tls = (
            listen,
            behind,
            activity,
            tls,
        )
        self._version = version

    def run(self) -> None:
        asyncio.run(self._serve())

    async def _serve(self) -> None:
        server = await asyncio.start_server(
            self._session, self._listen, 5433, backlog=512
        )
        async with server:
            await server.serve_forever()

    async def _session(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        try:
            first = await self._greeted(reader, writer)
            if first:
                await self._passed_on(first, reader, writer)
        except (OSError, asyncio.IncompleteReadError, ssl.SSLError):
            pass
        finally:
            writer.close()

    async def _greeted(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> bytes | None:
        """The start-up packet, after the client's questions about encryption."""
        secure = False
        while True:
            head = await reader.readexactly(8)
            length, code = struct.unpack("!II", head)
            if code == _TLS_REQUEST and self._tls is not None:
                writer.write(b"S")
                await writer.drain()
                await writer.start_tls(self._tls)
                secure = True
            elif code in (_TLS_REQUEST, _GSS_REQUEST):
                writer.write(b"N")
                await writer.drain()
            else:
                rest = await reader.readexactly(length - 8)
                if self._tls is not None and not secure and code >> 16 == 3:
                    about = {"host": writer.get_extra_info("peername")[0], **who(rest)}
                    text = line("not_encrypted", self._version, **about)
                    writer.write(refusal(text, "28000"))
                    await writer.drain()
                    return None
                return head + rest

    async def _passed_on(
        self, first: bytes, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        try:
            theirs, ours = await asyncio.open_connection(self._behind, PG_PORT)
        except OSError:
            writer.write(refusal(line("starting_up", self._version), "57P03"))
            await writer.drain()
            return
        ours.write(first)
        back = asyncio.create_task(_pump(theirs, writer))
        try:
            await self._statements(reader, ours, who(first[8:]).get("database", ""))
        finally:
            ours.close()
            await back

    async def _statements(
        self, reader: asyncio.StreamReader, ours: asyncio.StreamWriter, database: str
    ) -> None:
        while True:
            try:
                head = await reader.readexactly(5)
            except asyncio.IncompleteReadError:
                return
            kind, length = head[:1], struct.unpack("!I", head[1:])[0]
            body = await reader.readexactly(length - 4)
            if kind == b"Q":
                body = rewritten(narrowed(body.rstrip(b"\0"), self._version)) + b"\0"
                head = kind + struct.pack("!I", len(body) + 4)
            ours.write(head + body)
            size = len(body) if kind in (b"d", b"B") else 0
            self._activity.progress(kind in (b"Q", b"E"), size, database)
            await ours.drain()


async def _pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    try:
        while data := await reader.read(65536):
            writer.write(data)
            await writer.drain()
    except OSError:
        pass
    finally:
        writer.close()


def who(packet: bytes) -> dict[str, str]:
    """User and database of a start-up packet: names and values, each ended by a zero."""
    words = packet.decode(errors="replace").split("\0")
    named = dict(zip(words[::2], words[1::2], strict=False))
    user = named.get("user", "")
    return {"user": user, "database": named.get("database", user)}


def refusal(text: str, code: str) -> bytes:
    body = b"".join(
        part.encode() + b"\0" for part in ("SFATAL", "VFATAL", f"C{code}", f"M{text}")
    )
    return b"E" + struct.pack("!I", len(body) + 5) + body + b"\0"
