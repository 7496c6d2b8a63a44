"""A real Prometheus scrapes the page, and answers every query of the dashboard for Grafana."""

from __future__ import annotations

import json
import os
import re
import subprocess
import urllib.error
import urllib.request
from collections.abc import Iterator
from http import HTTPStatus
from itertools import product
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest

from tests.support.jobs import STILL, Jobs, wait_until
from tests.support.places import ROOT
from tests.support.programs import unavailable
from tests.support.web.server import WebServer

PROMETHEUS = ROOT / ".cache" / "promtool" / "prometheus"
CONFIG = """\
global: {scrape_interval: 1s}
scrape_configs:
  - job_name: unhang
    authorization: {credentials_file: TOKEN}
    static_configs: [{targets: ["TARGET"]}]
"""
_DIRECTLY = urllib.request.build_opener(urllib.request.ProxyHandler({}))
# What Grafana puts in the place of these, and all others that a query of ours may use.
VARIABLES = {"$__rate_interval": "5m", "$instance": ".*"}
# Of Grafana's own panels, with what the dashboard sets in them.
PANELS = {"stat", "timeseries"}


class Prometheus:
    """One server, on an address of the loopback that no other process uses."""

    def __init__(self, jobs: Jobs, web: WebServer, folder: Path) -> None:
        config = CONFIG.replace("TOKEN", str(jobs.home / "metrics" / "token"))
        (folder / "prometheus.yml").write_text(config.replace("TARGET", f"127.0.0.1:{web.port}"))
        number = os.getpid()
        self._address = f"127.{100 + (number >> 16) % 100}.{number >> 8 & 255}.{number & 255}:9090"
        words = [f"--config.file={folder}/prometheus.yml", f"--storage.tsdb.path={folder}/tsdb"]
        self._log = (folder / "prometheus.log").open("wb")
        self._process = subprocess.Popen(
            [PROMETHEUS, *words, f"--web.listen-address={self._address}"], stdout=self._log, stderr=self._log
        )

    def ask(self, path: str, **asked: str) -> Any:
        """The data of an answer; None while it does not listen yet, or is not ready (503)."""
        assert self._process.poll() is None, Path(self._log.name).read_text()
        try:
            with _DIRECTLY.open(f"http://{self._address}/api/v1/{path}?{urlencode(asked)}", timeout=60) as got:
                answer = json.load(got)
        except urllib.error.HTTPError as error:
            if error.code == HTTPStatus.SERVICE_UNAVAILABLE:
                return None
            raise AssertionError(f"{asked}: {error.read().decode()}") from None
        except urllib.error.URLError:
            return None
        assert answer["status"] == "success"
        return answer["data"]

    def close(self) -> None:
        self._process.kill()
        self._process.wait()
        self._log.close()


@pytest.fixture
def prometheus(jobs: Jobs, web: WebServer, tmp_path: Path) -> Iterator[Prometheus]:
    if not PROMETHEUS.exists():
        unavailable("prometheus is not there: scripts/test-programs fetches it from Debian's package prometheus")
    server = Prometheus(jobs, web, tmp_path)
    yield server
    server.close()


def test_every_query_of_every_panel_is_answered_with_the_series_that_the_panel_names(
    jobs: Jobs, web: WebServer, prometheus: Prometheus
) -> None:
    jobs.begin(*STILL, "--", "sleep", "3600")
    jobs.call("run", "--", "false")

    def scraped() -> bool:
        found = prometheus.ask(
            "query", query='count_over_time(unhang_job_ends_total{status="error",reason="exit"}[1h])'
        )
        return bool(found and found["result"] and int(found["result"][0]["value"][1]) >= 2)

    wait_until(scraped, "two scrapes that a rate can be made of", timeout=120)
    dashboard = json.loads(jobs.call("metrics", "--dashboard").out)
    for panel in dashboard["panels"]:
        assert len({target["refId"] for target in panel["targets"]}) == len(panel["targets"])
        for target in panel["targets"]:
            query, name = target["expr"], (panel["title"], target["refId"])
            for variable, value in VARIABLES.items():
                query = query.replace(variable, value)
            assert "$" not in query, name
            found = prometheus.ask("query", query=query)
            assert (found["resultType"], bool(found["result"])) == ("vector", True), name
            wanted = set(re.findall(r"{{(\w+)}}", target["legendFormat"]))
            for series in found["result"]:
                assert set(series["metric"]) == wanted, name
    (values,) = [each["query"]["query"] for each in dashboard["templating"]["list"] if each["type"] == "query"]
    metric, label = re.fullmatch(r"label_values\((\w+), (\w+)\)", values).groups()  # type: ignore[union-attr]
    assert prometheus.ask(f"label/{label}/values", **{"match[]": metric}) == [f"127.0.0.1:{web.port}"]


def test_the_dashboard_has_what_grafana_asks_of_one(jobs: Jobs) -> None:
    dashboard = json.loads(jobs.call("metrics", "--dashboard").out)
    assert isinstance(dashboard["schemaVersion"], int)
    assert {each["name"] for each in dashboard["templating"]["list"]} == {"datasource", "instance"}
    taken: set[tuple[int, int]] = set()
    for panel in dashboard["panels"]:
        assert panel["type"] in PANELS
        assert panel["title"]
        source = {"type": "prometheus", "uid": "${datasource}"}
        assert [panel["datasource"], *(target["datasource"] for target in panel["targets"])] == [source] * (
            1 + len(panel["targets"])
        )
        x, y, w, h = (panel["gridPos"][name] for name in "xywh")
        assert 0 <= x < x + w <= 24
        cells = set(product(range(x, x + w), range(y, y + h)))
        assert not cells & taken, "two panels in one place"
        taken |= cells
