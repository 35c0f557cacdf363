r"""The forms in which programs print secrets.

They are those of libpq and JDBC (connection strings, `~/.pgpass`, stored verifiers), MySQL, curl,
HTTP's headers, AWS and Azure (settings, signed URLs), Hadoop's XML, Kubernetes' and Docker's
settings, PEM, and what is written as `name: value` or `name=value` in YAML, JSON, SQL and shells.
A sentence that only speaks of a password, such as "password authentication failed", is none.

Each pattern keeps in its groups what is shown of it; the secret stands outside of them. White space
in a pattern is none of the form, which has `\s` or `[ ]` for it. What may stand between two parts
of a form has a limit, or a long line of a log would take minutes.

Most texts have no secret. So a pattern has words beside it, of which all that it matches has one:
without them in a text, the pattern is not tried.
"""

import re
from typing import NamedTuple

from orchestrator.keys.secret_names import HIDDEN, SECRET_WORD, SECRET_WORDS


class Form(NamedTuple):
    """What a secret looks like, and what is shown in its place."""

    pattern: re.Pattern[str]
    words: tuple[str, ...]  # in small letters; what the pattern matches has one of them
    shown: str

    def may_be_in(self, text_in_small_letters: str) -> bool:
        """False where the pattern matches nothing. To look for words takes a tenth of the time."""
        return any(word in text_in_small_letters for word in self.words)


# A pattern that does not tell cases apart takes these for an i and an s. `lower` does not.
_LIKE_ASCII = str.maketrans("İıſ", "iis")


def in_small_letters(text: str) -> str:
    """The text in which the words of a form are looked for."""
    if not text.isascii():
        text = text.translate(_LIKE_ASCII)
    return text.lower()


def _form(pattern: str, words: tuple[str, ...], shown: str = HIDDEN) -> Form:
    return Form(re.compile(pattern, re.VERBOSE), words, shown)


def _form_in_any_case(pattern: str, words: tuple[str, ...], shown: str) -> Form:
    """A form in which capital and small letters are the same."""
    return Form(re.compile(pattern, re.VERBOSE | re.IGNORECASE), words, shown)


def _form_of_lines(pattern: str, words: tuple[str, ...], shown: str) -> Form:
    """A form as of `_form_in_any_case`, in which `^` and `$` are the ends of a line."""
    flags = re.VERBOSE | re.IGNORECASE | re.MULTILINE
    return Form(re.compile(pattern, flags), words, shown)


_HIDDEN_AFTER_1 = rf"\1{HIDDEN}"
_HIDDEN_AFTER_2 = rf"\1\2{HIDDEN}"
_HIDDEN_BEFORE_HOST = rf"\1:{HIDDEN}@"

# ------------------------------------------------------------------ parts of forms

# A text in one quotation, escaped or not; or between SQL's dollars.
_QUOTED = r"""
    \\["'] .*? \\["']
    | ' (?: [^'\\] | \\. )* '
    | " (?: [^"\\] | \\. )* "
    | \$ (?P<tag>\w*) \$ .*? \$ (?P=tag) \$
"""
# A quotation, else one word.
_VALUE = rf"""(?: {_QUOTED} | [^\s&'",;}}<]+ )"""
_REST_OF_LINE = rf"""(?: {_QUOTED} | [^\r\n"']+ )"""
# The words of tierbench about a key that has such a name, in place of a value.
_NO_WORDS_OF_OURS = r"""
    (?! unknown\ (?: key | option )\b
      | this\ key\ is\ missing\b
      | expected\ (?: a | text | true )\b
    )
"""
# A word that is hardly one of a sentence.
_REMARKABLE_WORD = r"""(?= [^\s"']* [\d!@#$%^&*+] ) [^\s"',;]{6,}"""
_CLIENT_OF_A_SERVER = r"""
    \b (?: mysql\w* | mariadb[\w-]* | psql | ysqlsh | sqlcmd | sshpass | redis-cli
         | \w+ \s+ login
       ) \b
"""
_CLIENTS = (
    *("mysql", "mariadb", "psql", "ysqlsh", "sqlcmd", "sshpass", "redis-cli"),
    "login",
)
_BEGINNINGS_OF_TOKENS = (
    *("ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_"),
    *("glpat-", "xox", "hvs.", "dckr_pat_"),
)
_URL_TO_USER = r"\b ( \w+ :// [^\s/@:]* )"
_DATABASE_URL_TO_USER = r"""
    \b ( (?: postgres (?:ql)? | yugabytedb | mysql ) :// [^\s/@:]* )
"""

# ------------------------------------------------------------------ known by themselves

_PRIVATE_KEY_OR_WEB_TOKEN = _form(
    r"""
    -----BEGIN\ [A-Z ]*PRIVATE\ KEY-----
    (?: (?s: .{0,20000}? ) -----END\ [A-Z ]*PRIVATE\ KEY-----
      | (?: \s+ \S{12,} )*
    )
    | \b eyJ [\w-]{8,} \. [\w-]+ \. [\w-]*
    """,
    ("-----begin", "eyj"),
)
# Tokens of GitHub, GitLab, Slack, Vault and Docker.
_TOKEN_OF_A_SERVICE = _form(
    r"""
    \b (?: gh[pousr]_ \w{20,}
         | github_pat_ \w{20,}
         | glpat- [\w-]{16,}
         | xox[abprs]- [\w-]{10,}
         | hvs\. [\w-]{20,}
         | dckr_pat_ [\w-]{16,}
       )
    """,
    _BEGINNINGS_OF_TOKENS,
)
# The form in PostgreSQL's pg_authid.
_STORED_VERIFIER = _form(
    r"""
    SCRAM-SHA-256 \$ \d+ : [\w+/=]+ \$ [\w+/=]+ : [\w+/=]+
    | \b md5 [0-9a-f]{32} \b
    """,
    ("scram-sha-256$", "md5"),
)
# No address has other than digits and colons.
_LINE_OF_PGPASS = _form(
    r"""
    (?<! [\w.:/*-] )
    (?! [0-9A-Fa-f:]+ (?! [\w:.-] ) )
    ( [\w.*-]+ : (?: \d{2,5} | \* ) : [\w.*-]+ : [\w.*-]+ : )
    [^\s"']+
    """,
    (":",),
    _HIDDEN_AFTER_1,
)

# ------------------------------------------------------------------ in addresses

# A password may have `@` and `/`; what follows the colon is a port where only digits stand before
# the path.
_PASSWORD_IN_URL = _form(
    rf"""
    {_URL_TO_USER} :
    (?! \d+ (?: / | \s | $ ) )
    [^\s"]{{0,1000}} @
    """,
    ("://",),
    _HIDDEN_BEFORE_HOST,
)
# Then it is a password all the same where a host with a port follows, or a database is named.
_DIGITS_BEFORE_HOST_AND_PORT = _form(
    rf"""
    {_URL_TO_USER} :
    \d+ / [^\s"@]{{0,1000}} @
    (?= [\w.\[\]-]+ : \d+ \b )
    """,
    ("://",),
    _HIDDEN_BEFORE_HOST,
)
_DIGITS_IN_DATABASE_URL = _form_in_any_case(
    rf"""
    {_DATABASE_URL_TO_USER} :
    \d+ / [^\s"@]{{0,1000}} @
    """,
    ("://",),
    _HIDDEN_BEFORE_HOST,
)
_TOKEN_AS_USER = _form(
    r"""
    \b ( \w+ :// )
    (?: (?= [^\s/@:]* \d ) (?= [^\s/@:]* [A-Z] ) (?= [^\s/@:]* [a-z] ) [^\s/@:]{8,}
      | (?= [^\s/@:]* \d ) [\w-]{20,}
    )
    @
    """,
    ("://",),
    rf"\1{HIDDEN}@",
)

# ------------------------------------------------------------------ in headers

_AUTHORIZATION_TO_END_OF_LINE = _form_in_any_case(
    r"""
    ( authorization \W{1,4}
      (?: AWS4-HMAC-SHA256 | digest | negotiate | ntlm | apikey | token ) \s+
    )
    [^\r\n]+
    """,
    ("authorization",),
    _HIDDEN_AFTER_1,
)
_AUTHORIZATION = _form_in_any_case(
    r"""
    ( authorization \W{1,4} (?: (?: bearer | basic ) \s+ )?
    | \b bearer \s+
    )
    [\w.~+/=-]{12,}
    """,
    ("authorization", "bearer"),
    _HIDDEN_AFTER_1,
)
_COOKIE = _form_in_any_case(
    rf"""
    ( \b (?: set- )? cookie \\? ["']? \s* : \s* )
    {_REST_OF_LINE}
    """,
    ("cookie",),
    _HIDDEN_AFTER_1,
)
# The form in which its clients and Kubernetes keep them.
_SIGN_IN_TO_A_REGISTRY = _form(
    r"""
    ( ["'] (?: auth | identitytoken | registrytoken | \. \w+ configjson | \. \w+ cfg ) ["']
      \s* : \s*
    )
    ["'] [\w+/=.-]{12,} ["']
    """,
    ("auth", "token", "configjson", "cfg"),
    _HIDDEN_AFTER_1,
)

# ------------------------------------------------------------------ lines of YAML

_BLOCK_OF_YAML = _form_of_lines(
    rf"""
    ^ ( [ \t]* )
    ( (?: -[ ] )? [\w."'-]* {SECRET_WORD} ["']? \s* : [ \t]* [|>] [-+\d]* [ \t]* )
    (?: \n \1 [ \t]+ \S [^\n]* )+
    """,
    SECRET_WORDS,
    rf"\1\2\n\1  {HIDDEN}",
)
# The line is hidden to its end: a value there needs no quotes.
_LINE_OF_YAML = _form_of_lines(
    rf"""
    ^ ( [ \t]* (?: -[ ] )? [\w.-]* {SECRET_WORD} : [ \t]+ )
    {_NO_WORDS_OF_OURS}
    (?! ["'|>*] )
    [^\s] [^\n]* $
    """,
    SECRET_WORDS,
    _HIDDEN_AFTER_1,
)

# ------------------------------------------------------------------ in commands

# Digits behind `-p` are a port of psql.
_PASSWORD_OF_A_CLIENT = _form(
    rf"""
    ( {_CLIENT_OF_A_SERVER} [^\n;|&]{{0,200}}? \s - [pPa] \s* )
    (?! \d+ \b )
    (?! [-=/] )
    {_VALUE}
    """,
    _CLIENTS,
    _HIDDEN_AFTER_1,
)
_USER_OF_CURL = _form(
    r"""
    ( \b curl \b [^\n]{0,200}? \s (?: -u | --user ) [ =]? ['"]? [^\s:'"]+ : )
    [^\s'"]+
    """,
    ("curl",),
    _HIDDEN_AFTER_1,
)
_SECRET_OPTION = _form_in_any_case(
    rf"""
    ( (?<! [\w-] ) -- [\w-]{{0,80}} {SECRET_WORD} \s+ )
    (?! - )
    {_VALUE}
    """,
    SECRET_WORDS,
    _HIDDEN_AFTER_1,
)
_IDENTIFIED_BY = _form_in_any_case(
    rf"""
    ( \b identified \s+ (?: with \s+ \S+ \s+ )? (?: by | as ) \s+ (?: password \s+ )? )
    {_VALUE}
    """,
    ("identified",),
    _HIDDEN_AFTER_1,
)

# ------------------------------------------------------------------ values behind names

_HADOOP_PROPERTY = _form_in_any_case(
    rf"""
    ( <name> [^<]* {SECRET_WORD} [^<]* </name> \s* <value> )
    [^<]*
    """,
    ("</name>",),
    _HIDDEN_AFTER_1,
)
_ELEMENT_OF_XML = _form_in_any_case(
    rf"( < [\w.:-]* {SECRET_WORD} > ) [^<]+", SECRET_WORDS, _HIDDEN_AFTER_1
)
_LISTED_VARIABLE = _form_in_any_case(
    rf"""
    ( ["'] (?: name | key ) ["'] \s* : \s*
      ["'] [^"']* {SECRET_WORD} ["'] \s* , \s*
      ["'] value ["'] \s* : \s*
    )
    {_VALUE}
    """,
    SECRET_WORDS,
    _HIDDEN_AFTER_1,
)
# Azure's names go on with the account.
_KEY_OF_AN_ACCOUNT = _form_in_any_case(
    rf"( account [-_.]? key \. [\w.-]+ \s* [=:] \s* ) {_VALUE}",
    ("account",),
    _HIDDEN_AFTER_1,
)
_NAMED_VALUE = _form_in_any_case(
    rf"""
    ( (?: {SECRET_WORD} | -key-data | \b sig | -signature | [?&] signature
        | [_-] pass | [_-] pwd
      ) \\? ["']?
    )
    ( \s* [=:] \s* | \s+ (?= ' ) | \s+ (?= \$ \w* \$ ) )
    {_NO_WORDS_OF_OURS}
    {_VALUE}
    """,
    (*SECRET_WORDS, "sig", "_pass", "-pass", "_pwd", "-pwd"),
    _HIDDEN_AFTER_2,
)
# A path behind PWD is a folder.
_SHORT_PASSWORD = _form_in_any_case(
    rf"( \b pwd \s* [=:] \s* ) (?! / ) {_VALUE}", ("pwd",), _HIDDEN_AFTER_1
)
_IN_A_SENTENCE = _form_in_any_case(
    rf"""
    ( \b {SECRET_WORD} \s+ (?: is | was ) \s+ ["']? )
    {_REMARKABLE_WORD}
    """,
    SECRET_WORDS,
    _HIDDEN_AFTER_1,
)

# Forms are in the order in which they are taken out. Lines of YAML go before commands, whose
# options they may look like.
FORMS = (
    _PRIVATE_KEY_OR_WEB_TOKEN,
    _TOKEN_OF_A_SERVICE,
    _STORED_VERIFIER,
    _LINE_OF_PGPASS,
    _PASSWORD_IN_URL,
    _DIGITS_BEFORE_HOST_AND_PORT,
    _DIGITS_IN_DATABASE_URL,
    _TOKEN_AS_USER,
    _AUTHORIZATION_TO_END_OF_LINE,
    _AUTHORIZATION,
    _COOKIE,
    _SIGN_IN_TO_A_REGISTRY,
    _BLOCK_OF_YAML,
    _LINE_OF_YAML,
    _PASSWORD_OF_A_CLIENT,
    _USER_OF_CURL,
    _SECRET_OPTION,
    _IDENTIFIED_BY,
    _HADOOP_PROPERTY,
    _ELEMENT_OF_XML,
    _LISTED_VARIABLE,
    _KEY_OF_AN_ACCOUNT,
    _NAMED_VALUE,
    _SHORT_PASSWORD,
    _IN_A_SENTENCE,
)
