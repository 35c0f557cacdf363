r"""The forms in which programs print secrets, and what names say that a value is one.

Forms: libpq and JDBC (connection strings, `~/.pgpass`, stored verifiers), MySQL, curl, HTTP's
headers, AWS and Azure (settings, signed URLs), Hadoop's XML, Kubernetes' and Docker's settings,
PEM, and what is written as `name: value` or `name=value` in YAML, JSON, SQL and shells. A sentence
that only speaks of a password, such as "password authentication failed", is none. What may stand
between two parts of a form has a limit, or a long line of a log would take minutes."""

import re
from typing import NamedTuple

HIDDEN = "***"
_NAMED = (
    r"(?:password|passwd|passphrase|passwort|kennwort|secret|token"
    r"|(?:api|access|account|private|secret|storage|shared|subscription|signing|encryption|session)"
    r"[-_.]?key)"
)
# In one quotation, escaped or not; between SQL's dollars; else one word.
_QUOTED = r"""\\["'].*?\\["']|'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"|\$(?P<tag>\w*)\$.*?\$(?P=tag)\$"""
# What tierbench says itself of a key that has such a name, in place of a value.
_NO_VALUE = r"(?!unknown key\b|this key is missing\b)"
_VALUE = rf"""(?:{_QUOTED}|[^\s&'",;}}<]+)"""
_REST_OF_LINE = rf"""(?:{_QUOTED}|[^\r\n"']+)"""
_REMARKABLE = r"""(?=[^\s"']*[\d!@#$%^&*+])[^\s"',;]{6,}"""
_CLIENTS = (
    r"\b(?:mysql\w*|mariadb[\w-]*|psql|ysqlsh|sqlcmd|sshpass|redis-cli"
    r"|\w+\s+login)\b"
)

# Of an entry of JSON or YAML.
SECRET_NAME = re.compile(rf"(?:{_NAMED}|[_-](?:pass|pwd))$", re.IGNORECASE)
# Of a variable of an environment. PWD is a folder.
SECRET_VARIABLE = re.compile(
    rf"(?:{_NAMED}|_(?:PASS|PWD|PAT|AUTH|KEY|SAS|CREDENTIALS?|CONNECTION_STRING))$",
    re.IGNORECASE,
)


class _Form(NamedTuple):
    """What a secret looks like, and what is shown in its place."""

    pattern: re.Pattern[str]
    shown: str


def _form(pattern: str, shown: str) -> _Form:
    return _Form(re.compile(pattern), shown)


_OF_THEMSELVES = (
    _form(  # private keys, and JSON web tokens
        r"-----BEGIN [A-Z ]*PRIVATE KEY-----(?:(?s:.{0,20000}?)-----END [A-Z ]*PRIVATE KEY-----|"
        r"(?:\s+\S{12,})*)|\beyJ[\w-]{8,}\.[\w-]+\.[\w-]*",
        HIDDEN,
    ),
    _form(  # tokens of GitHub, GitLab, Slack, Vault, Docker
        r"\b(?:gh[pousr]_\w{20,}|github_pat_\w{20,}|glpat-[\w-]{16,}|xox[abprs]-[\w-]{10,}"
        r"|hvs\.[\w-]{20,}|dckr_pat_[\w-]{16,})",
        HIDDEN,
    ),
    _form(  # PostgreSQL's stored verifiers, pg_authid
        r"SCRAM-SHA-256\$\d+:[\w+/=]+\$[\w+/=]+:[\w+/=]+|\bmd5[0-9a-f]{32}\b", HIDDEN
    ),
    _form(  # ~/.pgpass, which has no address of digits and colons alone
        r"(?<![\w.:/*-])(?![0-9A-Fa-f:]+(?![\w:.-]))"
        r"([\w.*-]+:(?:\d{2,5}|\*):[\w.*-]+:[\w.*-]+:)[^\s\"']+",
        rf"\1{HIDDEN}",
    ),
)
_IN_URLS = (
    # A password may have `@` and `/`; what follows the colon is a port where only digits stand
    # before the path.
    _form(r"\b(\w+://[^\s/@:]*):(?!\d+(?:/|\s|$))[^\s\"]{0,1000}@", rf"\1:{HIDDEN}@"),
    # Then it is one all the same where a host with a port follows, or a database is named.
    _form(
        r"\b(\w+://[^\s/@:]*):\d+/[^\s\"@]{0,1000}@(?=[\w.\[\]-]+:\d+\b)",
        rf"\1:{HIDDEN}@",
    ),
    _form(
        r"(?i)\b((?:postgres(?:ql)?|yugabytedb|mysql)://[^\s/@:]*):\d+/[^\s\"@]{0,1000}@",
        rf"\1:{HIDDEN}@",
    ),
    # A token in the place of a user.
    _form(
        r"\b(\w+://)(?:(?=[^\s/@:]*\d)(?=[^\s/@:]*[A-Z])(?=[^\s/@:]*[a-z])[^\s/@:]{8,}"
        r"|(?=[^\s/@:]*\d)[\w-]{20,})@",
        rf"\1{HIDDEN}@",
    ),
)
_IN_HEADERS = (
    _form(
        r"(?i)(authorization\W{1,4}(?:AWS4-HMAC-SHA256|digest|negotiate|ntlm|apikey|token)\s+)"
        r"[^\r\n]+",
        rf"\1{HIDDEN}",
    ),
    _form(
        r"(?i)(authorization\W{1,4}(?:(?:bearer|basic)\s+)?|\bbearer\s+)[\w.~+/=-]{12,}",
        rf"\1{HIDDEN}",
    ),
    _form(
        rf"""(?i)(\b(?:set-)?cookie\\?["']?\s*:\s*){_REST_OF_LINE}""", rf"\1{HIDDEN}"
    ),
    _form(  # of a registry, as its clients and Kubernetes keep them
        r"""(["'](?:auth|identitytoken|registrytoken|\.\w+configjson|\.\w+cfg)["']\s*:\s*)"""
        r"""["'][\w+/=.-]{12,}["']""",
        rf"\1{HIDDEN}",
    ),
)
_OF_COMMANDS = (
    # `-p` of psql is a port.
    _form(
        rf"({_CLIENTS}[^\n;|&]{{0,200}}?\s-[pPa]\s*)(?!\d+\b)(?![-=/]){_VALUE}",
        rf"\1{HIDDEN}",
    ),
    _form(
        r"(\bcurl\b[^\n]{0,200}?\s(?:-u|--user)[ =]?['\"]?[^\s:'\"]+:)[^\s'\"]+",
        rf"\1{HIDDEN}",
    ),
    _form(rf"(?i)((?<![\w-])--[\w-]{{0,80}}{_NAMED}\s+)(?!-){_VALUE}", rf"\1{HIDDEN}"),
    _form(
        rf"(?i)(\bidentified\s+(?:with\s+\S+\s+)?(?:by|as)\s+(?:password\s+)?){_VALUE}",
        rf"\1{HIDDEN}",
    ),
)
# Lines of YAML go before commands, whose options they may look like.
_NAMED_LINES = (
    _form(  # a block of YAML
        rf"(?im)^([ \t]*)((?:- )?[\w.\"'-]*{_NAMED}[\"']?\s*:[ \t]*[|>][-+\d]*[ \t]*)"
        r"(?:\n\1[ \t]+\S[^\n]*)+",
        rf"\1\2\n\1  {HIDDEN}",
    ),
    _form(  # a line of YAML, to its end: it needs no quotes
        rf"(?im)^([ \t]*(?:- )?[\w.-]*{_NAMED}:[ \t]+){_NO_VALUE}(?![\"'|>*])[^\s][^\n]*$",
        rf"\1{HIDDEN}",
    ),
)
_NAMED_VALUES = (
    _form(  # Hadoop's settings
        rf"(?i)(<name>[^<]*{_NAMED}[^<]*</name>\s*<value>)[^<]*", rf"\1{HIDDEN}"
    ),
    _form(rf"(?i)(<[\w.:-]*{_NAMED}>)[^<]+", rf"\1{HIDDEN}"),
    _form(
        rf"""(?i)(["'](?:name|key)["']\s*:\s*["'][^"']*{_NAMED}["']\s*,\s*["']value["']\s*:\s*)"""
        rf"{_VALUE}",
        rf"\1{HIDDEN}",
    ),
    _form(  # Azure's names go on with the account
        rf"(?i)(account[-_.]?key\.[\w.-]+\s*[=:]\s*){_VALUE}", rf"\1{HIDDEN}"
    ),
    _form(
        rf"""(?i)((?:{_NAMED}|-key-data|\bsig|-signature|[?&]signature|[_-]pass|[_-]pwd)\\?["']?)"""
        rf"""(\s*[=:]\s*|\s+(?=')|\s+(?=\$\w*\$)){_NO_VALUE}{_VALUE}""",
        rf"\1\2{HIDDEN}",
    ),
    # PWD is a folder.
    _form(rf"(?i)(\bpwd\s*[=:]\s*)(?!/){_VALUE}", rf"\1{HIDDEN}"),
    _form(rf"""(?i)(\b{_NAMED}\s+(?:is|was)\s+["']?){_REMARKABLE}""", rf"\1{HIDDEN}"),
)
FORMS = (
    *_OF_THEMSELVES,
    *_IN_URLS,
    *_IN_HEADERS,
    *_NAMED_LINES,
    *_OF_COMMANDS,
    *_NAMED_VALUES,
)
