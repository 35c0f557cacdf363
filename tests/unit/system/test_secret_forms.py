"""Secrets in the forms in which programs print them are taken out, and what only speaks of them
stays.

Method: each form has a secret in it, of which no part may be left.
"""

from __future__ import annotations

import base64
import http.server
import json
import random
import re
import string
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis.strategies import DataObject, data, from_regex, sampled_from

from orchestrator.keys.secret_names import is_secret_variable
from orchestrator.system import http_client, redaction, secret_forms
from orchestrator.system.redaction import HIDDEN, hidden, hidden_in

S = "Hunter2!Xyz"
ENCODED = base64.b64encode(f"user:{S}".encode()).decode()
FORMS = {
    'libpq quoted': f"host=h user=u password='{S}' dbname=d",
    'libpq plain': f"host=h password={S} dbname=d",
    'url': f"postgresql://u:{S}@h/db",
    'url pw with @ and /': "postgresql://u:Hun@t/er2!Xyz@h/db",
    'url digits-first pw': f"postgresql://u:2024/{S}@h/db",
    'url digit pw': "http://admin:12345678@prom:9090/api",
    'url digit pw followed by /': "http://admin:1234/5678x@prom:9090/api",
    'url token as user': f"https://{S}@h/x",
    'jdbc': f"jdbc:postgresql://h/db?user=x&password={S}",
    'PGPASSWORD env': f"PGPASSWORD={S} psql",
    'yaml': f"password: {S}",
    'json': f'"database_password": "{S}"',
    'sql create role': f"CREATE ROLE x LOGIN PASSWORD '{S}'",
    'sql alter user dollar': f"ALTER USER x PASSWORD $${S}$$",
    'mysql identified': f"IDENTIFIED BY '{S}'",
    'cli --password X': f"tool --password {S}",
    'cli -p X': f"ysqlsh -p {S}",
    'cli -pX': f"mysql -p{S}",
    'cli --pgsql-password=': f"sysbench --pgsql-password={S} run",
    'auth basic': "Authorization: Basic dXNlcjpIdW50ZXIyIVh5eg==",
    'auth bearer': "Authorization: Bearer abcdefghijklmnop123",
    'proxy-auth': "Proxy-Authorization: Basic dXNlcjpIdW50ZXIyIVh5eg==",
    'cookie': f"Cookie: session={S}",
    'x-api-key': f"X-Api-Key: {S}",
    'aws secret env': f"AWS_SECRET_ACCESS_KEY={S}",
    'aws session': f"AWS_SESSION_TOKEN={S}",
    'aws credentials file': f"aws_secret_access_key = {S}",
    's3a': f"fs.s3a.secret.key={S}",
    's3a xml': f"<name>fs.s3a.secret.key</name><value>{S}</value>",
    'abfs key': f"fs.azure.account.key.acct.dfs.core.windows.net={S}",
    'abfs xml': f"<name>fs.azure.account.key.a</name><value>{S}</value>",
    'AccountKey=': f"DefaultEndpointsProtocol=https;AccountName=x;AccountKey={S};",
    'sas': f"https://a.blob.core.windows.net/c?sv=2020&sig={S}",
    'presigned': f"https://b.s3/x?X-Amz-Credential=AKIA&X-Amz-Signature={S}",
    'gcp key': '"private_key": "-----BEGIN PRIVATE KEY-----\\nMIIEvQ\\n-----END PRIVATE KEY-----"',
    'pem': "-----BEGIN RSA PRIVATE KEY-----\nMIIEvQIBADANBg\n-----END RSA PRIVATE KEY-----",
    'pgpass line': f"h:5432:db:user:{S}",
    'kube token': f"token: {S}",
    'client-key-data': f"client-key-data: {S}",
    'docker config auth': '"auth": "dXNlcjpIdW50ZXIyIVh5eg=="',
    'dockerconfigjson': '".dockerconfigjson": "eyJhdXRocyI6eyJyIjp7fX19"',
    'ssh pass phrase': f"passphrase: {S}",
    'pwd=': f"Pwd={S};",
    'DB_PASS': f"DB_PASS={S}",
    'password with space quoted json': '"password": "my secret Hunter2!Xyz"',
    'password unquoted w/ space': "password: correct horse Hunter2!Xyz",
    'german': f"Passwort: {S}",
    'pin words': f"the password is {S}",
    'FATAL': 'password authentication failed for user "u"',
    'multi-line yaml': f"password: >-\n  {S}",
    'base64 secret k8s': "data:\n  PASSWORD: SHVudGVyMiFYeXo=",
    'scram': "SCRAM-SHA-256$4096:c2FsdA==$c3RvcmVk:c2VydmVy",
    'md5': "md5a3556571e93b0d20722ba62be61e8c2d",
    # What stands beside these in other programs.
    "mysql client in a pipe": f"mysql -h db -uann -p{S} | cat",
    "sqlcmd -P": f"sqlcmd -S db -U sa -P {S}",
    "sshpass": f"sshpass -p '{S}' ssh vm1",
    "redis-cli -a": f"redis-cli -h db -a {S} PING",
    "docker login": f"docker login -u ann -p {S} registry.example",
    "curl -u": f"curl -s -u ann:{S} https://h/x",
    "curl --user": f"curl --user 'ann:{S}' https://h/x",
    "identified with": f"CREATE USER a IDENTIFIED WITH mysql_native_password BY '{S}'",
    "sql password dollar tag": f"ALTER ROLE a PASSWORD $x${S}$x$",
    "conninfo": f"primary_conninfo = 'host=h password={S}'",
    "set-cookie": f"Set-Cookie: session={S}; Path=/; HttpOnly",
    "cookie json": f'"Cookie": "session={S}"',
    "aws4": f"Authorization: AWS4-HMAC-SHA256 Credential=AKIA/x, Signature={S}",
    "digest": f'Authorization: Digest username="ann", response="{S}"',
    "subscription key": f"Ocp-Apim-Subscription-Key: {S}",
    "goog signature": f"https://b.example/x?X-Goog-Signature={S}&y=1",
    "old s3 signature": f"https://b.s3/x?AWSAccessKeyId=AKIA&Signature={S}",
    "hadoop xml in lines": f"<name>fs.s3a.access.key</name>\n  <value>{S}</value>",
    "xml element": f"<db.password>{S}</db.password>",
    "kubernetes list": f'{{"name": "DB_PASSWORD", "value": "{S}"}}',
    "yaml literal": f"a:\n  token: |\n    {S}\n    {S}\nb: 1",
    "yaml list": f"- password: correct horse {S}",
    "github": f"https://x.example ghp_{'a1' * 18}{S}",
    "kennwort": f"Kennwort={S}",
    "was": f"the token was '{S}'",
    "pgpass in a message": f'line "db.example:5432:*:ann:{S}" is wrong',
    "yugabytedb url": f"yugabytedb://ann:77/{S}@h:5433/db",
}  # fmt: skip
LEFT = (
    *(S, "2!Xyz", "dXNlcjpI", "abcdefghijklmnop123", "MIIEvQ", "12345678", "5678x"),
    *("eyJhdXRocyI", "c2VydmVy", "SHVudGVy", "a3556571", ENCODED, "a1a1a1"),
)
STAY = (
    'FATAL: password authentication failed for user "u"',
    "password_env: BENCH_PASSWORD, password_file: /etc/pass",
    "the password is required, no token is given",
    "tierbench run -p premium-v2 -w tpcc --set threads=4",
    "docker run -p 5432:5432 --user 1000:1000 image",
    "psql -h db -p 5433 -U ann && mkdir -p data2",
    "mysql -h db -P 3306",
    "PWD=/root/tierbench OLDPWD=/root",
    "--ysql_enable_auth=true --use_client_to_server_encryption=false",
    "00:11:22:33:44:55 and 2001:0db8:0010:0020:0030:0040:0050:0060",
    "2026-11-29T15:22:39.123Z db-1.example:5433 is up",
    "http://user@host:9100 ssh://ubuntu@vm1 http://host:9100/a@b",
    "registry.example:5000/a/b:tag@sha256:0123456789abcdef",
    "unexpected token at line 3; token bucket of 100 IOPS",
    "PRIMARY KEY (secret_id), api_key_id = 5",
    "tokens_per_s=5, tokens: 7",
)
VARIABLES = (
    "PGPASSWORD",
    "AWS_SECRET_ACCESS_KEY",
    "AZURE_STORAGE_KEY",
    "AZURE_STORAGE_CONNECTION_STRING",
    "AZURE_STORAGE_SAS_TOKEN",
    "DB_PASS",
    "MYSQL_PWD",
    "GITHUB_PAT",
    "AZURE_CLIENT_SECRET",
    "GOOGLE_CREDENTIALS",
    "YSQL_PASSWORD",
    "REGISTRY_AUTH",
    "PROM_BASIC_AUTH",
)


@pytest.mark.parametrize("form", FORMS)
def test_of_a_secret_in_a_form_nothing_is_left(form: str) -> None:
    shown = hidden(FORMS[form])
    assert [part for part in LEFT if part in shown] == []
    if form != "FATAL":
        assert HIDDEN in shown


@pytest.mark.parametrize("text", STAY)
def test_what_only_speaks_of_secrets_stays(text: str) -> None:
    assert hidden(text) == text


def test_a_list_of_variables_loses_the_values_that_are_secret() -> None:
    listed = [{"name": "DB_PASS", "value": S}, {"name": "PGHOST", "value": "db"}]
    shown = [{"name": "DB_PASS", "value": HIDDEN}, {"name": "PGHOST", "value": "db"}]
    assert hidden_in(listed) == shown
    assert hidden_in({"ysql_enable_auth": "true"}) == {"ysql_enable_auth": "true"}


@pytest.mark.parametrize("name", VARIABLES)
def test_a_variable_that_is_a_secret_is_known_by_its_name(name: str) -> None:
    redaction.remember_environment({name: f"{S}-of-{name}"})
    assert hidden(f"it said {S}-of-{name}.") == f"it said {HIDDEN}."


def test_other_variables_are_no_secrets(tmp_path: Path) -> None:
    for name in ("PGPASSFILE", "PWD", "OLDPWD", "SSH_AUTH_SOCK", "TIERBENCH_CACHE"):
        assert not is_secret_variable(name)
    redaction.remember_environment({"GOOGLE_APPLICATION_CREDENTIALS": str(tmp_path)})
    assert hidden(f"in {tmp_path}") == f"in {tmp_path}"


def test_a_password_within_a_variable_is_known() -> None:
    redaction.remember_environment(
        {
            "HTTPS_PROXY": f"http://ann:{S}-proxy@proxy.example:3128",
            "STORAGE": f"DefaultEndpointsProtocol=https;AccountKey={S}-key;x=1",
        }
    )
    assert hidden(f"{S}-proxy and {S}-key") == f"{HIDDEN} and {HIDDEN}"


def test_what_is_remembered_is_known_encoded_too() -> None:
    secret = 'sl/ash "and" ümlaut+'
    redaction.remember(secret)
    for form in (
        secret,
        quote(secret, safe=""),
        json.dumps(secret),
        json.dumps(secret, ensure_ascii=False),
        base64.b64encode(secret.encode()).decode(),
    ):
        assert hidden(f"said: {form}").strip('"') in (
            f"said: {HIDDEN}",
            f'said: "{HIDDEN}',
        )


def test_a_long_passphrase_of_letters_is_remembered() -> None:
    redaction.remember("correcthorsebatterystaple")
    assert hidden("it is correcthorsebatterystaple") == f"it is {HIDDEN}"


def test_a_page_whose_password_was_sent_may_echo_it() -> None:
    """An error page of a proxy may quote the request."""

    class Page(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.end_headers()
            self.wfile.write(f"{S}-sent {self.headers['Authorization']}".encode())

        def log_message(self, *_words: object) -> None: ...

    with http.server.HTTPServer(("127.0.0.1", 0), Page) as server:
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        address = f"http://watcher:{S}-sent@127.0.0.1:{server.server_port}/metrics"
        page = http_client.get(address)
        server.shutdown()
    assert S in page
    assert hidden(page) == f"{HIDDEN} Basic {HIDDEN}"


def _with_all_patterns(text: str) -> str:
    """As `hidden`, where no pattern is passed over for want of its words."""
    for form in secret_forms.FORMS:
        text = form.pattern.sub(form.shown, text)
    return text


LONG = "a1b2" * 10
# Besides those of FORMS.
MORE = (
    *(f"gho_{LONG}", f"ghu_{LONG}", f"ghs_{LONG}", f"ghr_{LONG}"),
    *(f"github_pat_{LONG}", f"glpat-{LONG}", f"xoxb-{LONG}", f"hvs.{LONG}"),
    *(f"dckr_pat_{LONG}", f"eyJ{LONG}.{LONG}.{LONG}", f'"identitytoken": "{ENCODED}"'),
    *(f'".dockercfg": "{ENCODED}"', f"sent bearer {LONG}"),
)
WORDS = (
    *("password", "passwd", "passphrase", "passwort", "kennwort", "secret", "token"),
    *("api_key", "x_pass", "x-pass", "x_pwd", "x-pwd", "pwd", "sig"),
)
CLIENTS = (
    *("mysql", "mariadb", "psql", "ysqlsh", "sqlcmd", "sshpass", "redis-cli"),
    "docker login",
)
SECRET_WORD = re.compile("(?<!identity)(?:password|token)|_key", re.IGNORECASE)
LETTERS = {"i": "iIİı", "s": "sSſ", "k": "kK\N{KELVIN SIGN}"}


def _texts_like_secrets() -> Iterator[str]:
    """Each form with each word that a secret has, and for each client of a server. Each of them
    with another too, cut, in letters that differ in case or are taken for those of ASCII."""
    texts = {*FORMS.values(), *MORE, *STAY}
    for text in sorted(texts):
        texts.update(text.replace("mysql", client) for client in CLIENTS)
        texts.update(SECRET_WORD.sub(word, text) for word in WORDS)
    dice = random.Random(7)
    ordered = sorted(texts)
    for text in ordered:
        yield text
        other = dice.choice(ordered)[dice.randrange(4) :] + dice.choice(" \n;") + text
        likes = [LETTERS.get(letter, letter + letter.upper()) for letter in other]
        yield "".join(dice.choice(like) for like in likes)


def test_no_pattern_is_passed_over_that_matches() -> None:
    texts = list(_texts_like_secrets())
    for form in secret_forms.FORMS:
        assert any(form.pattern.search(text) for text in texts)
    for text in texts:
        assert hidden(text) == _with_all_patterns(text)


@settings(
    max_examples=50,
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=(HealthCheck.too_slow, HealthCheck.filter_too_much),
)
@given(sampled_from(secret_forms.FORMS), data())
def test_what_a_pattern_matches_has_one_of_its_words(
    form: secret_forms.Form, drawn: DataObject
) -> None:
    text = drawn.draw(from_regex(form.pattern))
    assert form.may_be_in(secret_forms.in_small_letters(text))
    assert hidden(text) == _with_all_patterns(text)


def test_letters_that_a_pattern_takes_for_those_of_ascii_are_small_ones_of_ascii() -> (
    None
):
    others = "".join(map(chr, range(128, sys.maxunicode + 1)))
    for letter in string.ascii_lowercase:
        for like in re.findall(letter, others, re.IGNORECASE):
            assert secret_forms.in_small_letters(like) == letter


# Each begins a form again and again, and never ends it.
LONG_LINES = (
    "mysql - ",
    "curl ",
    "a://b:c",
    "password ",
    "-",
    "<name>",
    "-----BEGIN PRIVATE KEY-----",
    "a.b-*",
    "h:5432:",
)


@pytest.mark.parametrize("text", LONG_LINES)
def test_a_long_line_takes_no_longer_a_byte_than_a_short_one(text: str) -> None:
    """A megabyte of the first took minutes. CPU time alone counts."""

    def cpu_s(length: int) -> float:
        line = text * (length // len(text))
        began_s = time.process_time()
        hidden(line)
        return time.process_time() - began_s

    # In step with the length it is 8 times as long, with its square 64 times.
    short_s = cpu_s(2**15)
    assert cpu_s(2**18) < 24 * max(short_s, 0.005)


@pytest.mark.parametrize(
    ("secret", "is_hidden"),
    [
        ("a1b2c3d", False),
        ("a1b2c3d4", True),
        ("abcdefghijklmno", False),  # 15 letters, which may be a word of a text
        ("abcdefghijklmnop", True),
        ("12345678901", False),  # 11 digits, which may be a count
        ("123456789012", True),
    ],
)
def test_what_is_too_short_to_be_a_secret_alone_stays_in_texts(
    secret: str, is_hidden: bool
) -> None:
    redaction.remember(secret)
    assert (secret not in redaction.hidden(f"it says {secret} here")) is is_hidden
