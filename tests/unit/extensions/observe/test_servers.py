"""Servers of Prometheus' kind: docs/research/SOURCES.md row by row, and how they are asked.

Method: answers in the documented form (https://prometheus.io/docs/prometheus/latest/querying/api),
of one exporter that is read every 15 s; an HTTP server on loopback refuses as servers do.
"""

from __future__ import annotations

import http.server
import json
import re
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from orchestrator.errors import UnavailableError, UsageError
from orchestrator.extensions.observe.commands import managed_prometheus
from orchestrator.extensions.observe.histories import prometheus
from orchestrator.extensions.observe.judging.disk_demands import demands
from orchestrator.system import http_client
from tests.documented import table_below
from tests.written_histories import (
    BEGIN_S,
    READ_BYTES_PER_S,
    READS_PER_S,
    WRITES_PER_S,
    WRITTEN_BYTES_PER_S,
)

URL = "https://prometheus.example"
TABLE = table_below("research/SOURCES.md", "Servers", "tool")
MATCH = 'job="node"'
STEP_S = 15
SCRAPES = 41
RATES = {
    "node_time_seconds": 1.0,
    "node_disk_reads_completed_total": READS_PER_S,
    "node_disk_writes_completed_total": WRITES_PER_S,
    "node_disk_read_bytes_total": READ_BYTES_PER_S,
    "node_disk_written_bytes_total": WRITTEN_BYTES_PER_S,
}


def exporter(
    scrapes: range = range(SCRAPES),
    times: float = 1.0,
    shift_s: float = 0.0,
    **labels: str,
) -> list[dict[str, Any]]:
    """All series of one exporter: these of its scrapes, at so many times the rates."""
    found: list[dict[str, Any]] = []
    for metric, rate in RATES.items():
        of_disk: dict[str, str] = {}
        if metric != "node_time_seconds":
            of_disk = {"device": "sdc"}
        values: list[list[Any]] = []
        for scrape in scrapes:
            scraped_s = BEGIN_S + STEP_S * scrape + shift_s
            value = scraped_s if not of_disk else 1e6 + times * rate * STEP_S * scrape
            values.append([scraped_s, str(value)])
        given = {"__name__": metric, "instance": "db-1:9100", "job": "node"}
        named = given | of_disk | labels
        found.append({"metric": named, "values": values})
    return found


def answering(
    *exporters: Sequence[Mapping[str, Any]], **more: Any
) -> Callable[..., Any]:
    """`get` of a server that has these series."""

    def get(url: str, timeout_s: float, question: Mapping[str, Any]) -> Any:
        metric, _, rest = question["query"].partition("{")
        length_s = float(rest.rpartition("[")[2].removesuffix("s]"))
        end_s = question["time"]
        found = []
        for series in [one for each in exporters for one in each]:
            inside = [v for v in series["values"] if end_s - length_s < v[0] <= end_s]
            if series["metric"]["__name__"] == metric and inside:
                found.append({"metric": series["metric"], "values": inside})
        return {"status": "success", "data": {"result": found}, **more}

    return get


def of_pods() -> Callable[..., Any]:
    """A DaemonSet's pod began anew between two scrapes, and is called otherwise since."""
    return answering(
        exporter(range(20), pod="exporter-a"),
        exporter(range(20, SCRAPES), pod="exporter-b"),
    )


def of_versions() -> Callable[..., Any]:
    """A version was rolled out, and back: two series, of which one lies in a gap of the other."""
    first = exporter(range(10), version="1.5")
    again = exporter(range(30, SCRAPES), version="1.5")
    for metric, later in zip(first, again, strict=True):
        metric["values"] += later["values"]
    return answering(first, exporter(range(10, 30), version="1.6"))


SERVERS: dict[tuple[str, str, str], Callable[[], Callable[..., Any]]] = {
    ("Prometheus", "2 and 3", "one series of each device"): lambda: answering(
        exporter()
    ),
    ("Prometheus", "2 and 3", "labels that changed, as a pod's"): of_pods,
    ("Prometheus", "2 and 3", "labels that changed and changed back"): of_versions,
    ("Prometheus", "2 and 3", "the same instance in two clusters"): lambda: answering(
        exporter(cluster="prod-eu"), exporter(times=0.01, cluster="prod-us")
    ),
    ("Prometheus", "2 and 3", "two replicas at once"): lambda: answering(
        exporter(prometheus_replica="p-0"),
        exporter(shift_s=7.0, prometheus_replica="p-1"),
    ),
    ("Prometheus", "2 and 3", "without `node_time_seconds`"): lambda: answering(
        exporter()[1:]
    ),
    ("Thanos, Mimir", "all", "`warnings` beside `success`"): lambda: answering(
        exporter(), warnings=["store 10.0.0.9:10901 cannot be reached"]
    ),
    ("VictoriaMetrics", "cluster", "`isPartial`"): lambda: answering(
        exporter(), isPartial=True
    ),
}


# Of the EBS CSI driver, as its source and docs/metrics.md name them.
EBS_RATES = {
    "aws_ebs_csi_read_ops_total": READS_PER_S,
    "aws_ebs_csi_write_ops_total": WRITES_PER_S,
    "aws_ebs_csi_read_bytes_total": READ_BYTES_PER_S,
    "aws_ebs_csi_write_bytes_total": WRITTEN_BYTES_PER_S,
    "aws_ebs_csi_exceeded_iops_seconds_total": 0.04,
    "aws_ebs_csi_exceeded_tp_seconds_total": 0.0,
    "aws_ebs_csi_ec2_exceeded_iops_seconds_total": 0.3,
    "aws_ebs_csi_ec2_exceeded_tp_seconds_total": 0.02,
}


def ebs_driver(without: str = "") -> list[dict[str, Any]]:
    """All series of the driver on one node, of one volume."""
    found: list[dict[str, Any]] = []
    for metric, rate in EBS_RATES.items():
        if metric == without:
            continue
        values: list[list[Any]] = []
        for scrape in range(SCRAPES):
            counter = 1e6 + rate * STEP_S * scrape
            values.append([BEGIN_S + STEP_S * scrape, str(counter)])
        labels = {
            "__name__": metric,
            "instance": "10.0.0.7:3302",
            "job": "ebs-csi-node",
            "instance_id": "i-0123456789abcdef0",
            "volume_id": "vol-0123456789abcdef0",
        }
        found.append({"metric": labels, "values": values})
    return found


def of_volume(get: Callable[..., Any]) -> Any:
    end_s = BEGIN_S + STEP_S * SCRAPES
    volume = "vol-0123456789abcdef0"
    return prometheus.read("http://prom:9090", "", volume, BEGIN_S - 1, end_s, get)


def test_the_driver_of_ebs_volumes_tells_of_their_limits_and_their_machines() -> None:
    (demand,) = demands(of_volume(answering(ebs_driver())))
    assert (demand.node, demand.device) == (
        "i-0123456789abcdef0",
        "vol-0123456789abcdef0",
    )
    rates = np.array(list(EBS_RATES.values())[:4])
    seconds = STEP_S * (SCRAPES - 1)
    assert demand.amounts.sum(axis=1) == pytest.approx(rates * seconds)
    shares: dict[tuple[str, str], float] = {}
    for throttle in demand.reported:
        assert throttle.is_counted and throttle.is_of_all
        shares[throttle.owner, throttle.limited] = float(throttle.share.mean())
    assert shares == {
        ("disk", "ios"): pytest.approx(0.04),
        ("disk", "bytes"): 0.0,
        ("machine", "ios"): pytest.approx(0.3),
        ("machine", "bytes"): pytest.approx(0.02),
    }


def test_a_driver_that_lacks_a_count_is_refused_with_its_release() -> None:
    lacking = "aws_ebs_csi_ec2_exceeded_tp_seconds_total"
    with pytest.raises(UsageError, match=f"has no {lacking}") as refused:
        of_volume(answering(ebs_driver(without=lacking)))
    assert "1.38.1" in refused.value.advice


def asked(get: Callable[..., Any], url: str = "http://prom:9090") -> Any:
    end_s = BEGIN_S + STEP_S * SCRAPES
    return prometheus.read(url, MATCH, "sdc", BEGIN_S - 1, end_s, get)


def test_each_row_has_its_server_and_each_server_its_row() -> None:
    assert sorted(row[:3] for row in TABLE) == sorted(SERVERS)


@pytest.mark.parametrize("row", TABLE, ids=lambda row: "-".join(row[:3]))
def test_what_the_table_says_of_a_server_is_so(row: tuple[str, ...]) -> None:
    tool, version, options, fate, instead = row
    get = SERVERS[tool, version, options]()
    if fate == "refused":
        with pytest.raises((UsageError, UnavailableError)) as refused:
            asked(get)
        words = f"{refused.value.what} {refused.value.advice}"
        for word in re.findall(r"`([^`]+)`", instead):
            assert word in words, words
        return
    (demand,) = demands(asked(get))
    seconds = float(demand.step_s.sum())
    # Between two series is a gap of one scrape.
    stretches = 1
    if "labels" in options:
        stretches = 3 if "back" in options else 2
    assert seconds == pytest.approx(STEP_S * (SCRAPES - stretches))
    rates = np.array(list(RATES.values())[1:])
    assert demand.amounts.sum(axis=1) == pytest.approx(rates * seconds)


def test_the_same_is_said_in_whatever_order_series_come() -> None:
    told = set()
    clusters = exporter(cluster="prod-eu"), exporter(times=0.01, cluster="prod-us")
    for order in (clusters, clusters[::-1]):
        with pytest.raises(UsageError) as refused:
            asked(answering(*order))
        told.add(f"{refused.value.what} {refused.value.advice}")
    (words,) = told
    assert "cluster is prod-eu and prod-us" in words


def test_a_jump_of_a_counter_is_a_gap_that_is_counted() -> None:
    """By 2 TB in 15 s: it was believed, 667 MB a write."""
    series = exporter()
    for value in series[-1]["values"][20:]:
        value[1] = str(float(value[1]) + 2e12)
    (demand,) = demands(asked(answering(series)))
    assert demand.impossible == 1
    assert float(demand.step_s.sum()) == STEP_S * (SCRAPES - 2)
    assert demand.bytes.sum() == pytest.approx(
        (READ_BYTES_PER_S + WRITTEN_BYTES_PER_S) * STEP_S * (SCRAPES - 2)
    )


@pytest.mark.parametrize(
    "answer", [[], {}, None, {"data": []}, {"data": {"result": 1}}]
)
def test_an_answer_that_is_none_of_prometheus_is_refused_in_plain_words(
    answer: Any,
) -> None:
    with pytest.raises(UnavailableError) as refused:
        asked(lambda *_words, **_question: answer)
    assert refused.value.what == (
        "the answer of http://prom:9090 has no list of series, as Prometheus' API has"
    )


def test_an_empty_answer_is_called_so() -> None:
    with (
        serving(200, b"") as (url, _),
        pytest.raises(OSError, match="the answer is empty"),
    ):
        asked(http_client.get_history, url)


# ------------------------------------------------------------------ how a server is asked


class _Heard:
    """The headers of the last request."""

    headers: Mapping[str, str]


@contextmanager
def serving(
    status: int, body: bytes, more: Mapping[str, str] | None = None
) -> Iterator[tuple[str, _Heard]]:
    heard = _Heard()

    class Page(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            heard.headers = {
                name.lower(): value for name, value in self.headers.items()
            }
            self.send_response(status)
            for name, value in (more or {}).items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_words: object) -> None: ...

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Page) as server:
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}", heard
        server.shutdown()


@pytest.mark.parametrize(
    ("status", "body", "words"),
    [
        (
            422,
            b'{"status":"error","errorType":"execution","error":"query processing would load '
            b'too many samples into memory"}',
            "too many samples into memory",
        ),
        (401, b"no org id\n", "no org id"),
        (
            403,
            b'{"error": {"code": 403, "message": "Permission denied on resource"}}',
            "Permission denied on resource",
        ),
        (502, b"<html><body>Bad Gateway</body></html>", "502"),
        (400, b"bad \x1b[31mmatcher\x07", "bad [31mmatcher"),
    ],
)
def test_a_servers_own_words_are_in_the_message(
    status: int, body: bytes, words: str
) -> None:
    with (
        serving(status, body) as (url, _),
        pytest.raises(OSError, match=str(status)) as refused,
    ):
        asked(http_client.get_history, url)
    assert words in str(refused.value) and "<" not in str(refused.value)


def test_a_token_of_the_environment_or_a_file_is_sent_and_not_shown(
    tmp_path: Path,
) -> None:
    file = tmp_path / "token"
    file.write_text("ey.of-a-file-12345\n")
    by_variable = {managed_prometheus.TOKEN: "of-the-environment-1"}
    by_file = {
        managed_prometheus.TOKEN_FILE: str(file),
        managed_prometheus.TENANT: "db",
    }
    for environment, token in (
        (by_variable, "of-the-environment-1"),
        (by_file, "ey.of-a-file-12345"),
    ):
        headers = managed_prometheus.headers(environment, URL)
        get = partial(http_client.get_history, headers=headers)
        with (
            serving(401, f"no such token {token}".encode()) as (url, heard),
            pytest.raises(OSError) as refused,
        ):
            asked(get, url)
        assert heard.headers["authorization"] == f"Bearer {token}"
        assert token not in str(refused.value)
    assert heard.headers["x-scope-orgid"] == "db"
    assert managed_prometheus.headers({}, URL) == {}


def test_a_server_that_takes_a_user_is_asked_through_the_proxy() -> None:
    """Grafana Cloud is one: its user stands in the address. A node's own server is no such."""
    with_token = {"Authorization": "Bearer secret-token-1"}
    by_proxy = http_client.history_opener("https://p.example", with_token)
    direct = http_client.history_opener("http://10.0.0.1:9090", None)
    assert by_proxy is not direct
    of_user = http_client.history_opener("https://12345:key-1@p.example", {})
    assert of_user is by_proxy


def test_a_token_and_a_user_are_refused_together() -> None:
    """One header has either: the token was not sent, and nobody was told."""
    environment = {managed_prometheus.TOKEN: "secret-token-1"}
    with pytest.raises(UsageError, match="a token and a user") as refused:
        managed_prometheus.headers(environment, "https://12345:key-1@p.example")
    assert "key-1" not in str(refused.value) and "token-1" not in str(refused.value)
    assert managed_prometheus.headers(environment, "https://p.example/a@b")


def test_a_redirect_does_not_get_the_token() -> None:
    environment = {managed_prometheus.TOKEN: "secret-token-1"}
    headers = managed_prometheus.headers(environment, URL)
    get = partial(http_client.get_history, headers=headers)
    answer = json.dumps({"data": {"result": []}}).encode()
    with (
        serving(200, answer) as (other, heard),
        serving(302, b"", {"Location": other}) as (url, _),
        pytest.raises(OSError, match="302"),
    ):
        asked(get, url)
    assert not hasattr(heard, "headers")


def test_a_token_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    environment = {managed_prometheus.TOKEN_FILE: str(tmp_path / "absent")}
    with pytest.raises(UsageError, match="absent, which cannot be read"):
        managed_prometheus.headers(environment, URL)
