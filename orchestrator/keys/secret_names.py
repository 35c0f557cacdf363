"""What names say that their value is a secret: of keys in YAML and JSON, of variables of an
environment, and within texts.
"""

import re

HIDDEN = "***"

# Words at the end of a name. The pattern that they are part of does not tell letters' cases apart.
KINDS_OF_KEY = (
    "api|access|account|private|secret|storage|shared|subscription|signing|encryption"
    "|session"
)
SECRET_WORD = (
    "(?:password|passwd|passphrase|passwort|kennwort|secret|token"
    rf"|(?:{KINDS_OF_KEY})[-_.]?key)"
)
# What SECRET_WORD matches has one of these in it, in small letters.
SECRET_WORDS = ("passw", "passphrase", "kennwort", "secret", "token", "key")

# These words need a sign before them: `bypass` ends so too, and is no secret.
_SHORT_WORD = "[_-](?:pass|pwd)"
_KEY = re.compile(f"(?:{SECRET_WORD}|{_SHORT_WORD})$", re.IGNORECASE)
# PWD is a folder.
_SHORT_VARIABLE = "_(?:PASS|PWD|PAT|AUTH|KEY|SAS|CREDENTIALS?|CONNECTION_STRING)"
_VARIABLE = re.compile(f"(?:{SECRET_WORD}|{_SHORT_VARIABLE})$", re.IGNORECASE)


_GIVES_A_SECRET = re.compile(rf"(?:{SECRET_WORD}|{_SHORT_WORD})[\"']?\s*[=:]", re.I)


def gives_a_secret(text: str) -> bool:
    """Whether a text has such a key with a value: `password=…`, `{token: …}`."""
    return _GIVES_A_SECRET.search(text) is not None


def is_secret_key(name: str) -> bool:
    """Whether a key of YAML or JSON has a secret: `database_password`, `db-pass`."""
    return _KEY.search(name) is not None


def is_secret_variable(name: str) -> bool:
    """Whether a variable of an environment has a secret: `PGPASSWORD`, `AZURE_CLIENT_SECRET`."""
    return _VARIABLE.search(name) is not None
