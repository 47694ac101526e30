"""The verbs that watch, forward and trigger, over a server that listens; and what shells complete."""

from __future__ import annotations

import http.server
import json
import shutil
import subprocess
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from finapi import cli
from finapi.client import verify_webhook
from finapi.testing import FinapiServer
from finapi.verbs.table import VERBS


@pytest.fixture(scope="module")
def server() -> Iterator[FinapiServer]:
    with FinapiServer(seed=23) as running:
        yield running


@pytest.fixture(autouse=True)
def environ(server: FinapiServer, monkeypatch: pytest.MonkeyPatch) -> None:
    server.control.reset()
    monkeypatch.setenv("FINAPI_URL", server.url)
    monkeypatch.setenv("FINAPI_API_KEY", server.api_key)


@pytest.fixture
def ready(server: FinapiServer, tmp_path: Path) -> str:
    """A file with the ready line."""
    file = tmp_path / "ready.json"
    file.write_text(json.dumps(server.ready), "utf-8")
    return str(file)


def lines(capsys: pytest.CaptureFixture[str], *words: str) -> list[str]:
    assert cli.main(words) == 0
    return capsys.readouterr().out.splitlines()


def test_a_feed_is_watched_from_a_number_on(capsys: pytest.CaptureFixture[str], ready: str) -> None:
    data = '{"ticker":"AAPL","form_type":"8-K"}'
    words = ("trigger", "main-api", "--ready-line", ready, "--data")
    first = int(lines(capsys, *words, data)[0].rpartition(" ")[2])
    lines(capsys, *words, '{"ticker":"UPXI"}')
    lines(capsys, *words, data)
    watch = ("watch", "main-api", "--since", str(first - 1))
    shown = [line.split() for line in lines(capsys, *watch, "--ticker", "aapl", "-n", "2")]
    assert [(one[0], *one[2:]) for one in shown] == [
        (str(seq), "new_filing", "AAPL", "8-K") for seq in (first, first + 2)
    ]
    (told,) = lines(capsys, *watch, "-n", "1", "--json")
    assert (json.loads(told)["seq"], json.loads(told)["data"]) == (first, json.loads(data))


def test_webhooks_are_forwarded_signed_to_a_local_address(
    server: FinapiServer, capsys: pytest.CaptureFixture[str], ready: str
) -> None:
    taken: list[tuple[dict[str, str], bytes]] = []

    class Receiver(http.server.BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            taken.append((dict(self.headers), self.rfile.read(int(self.headers["Content-Length"]))))
            self.send_response(204)
            self.end_headers()

        def log_message(self, *_: Any) -> None:
            """Nothing."""

    inbox = server.control.inbox_url()
    delivery = lines(capsys, "trigger", "sniper.filing_hit", "--ready-line", ready, "--to", inbox)[0].split()[-1]
    local = http.server.HTTPServer(("127.0.0.1", 0), Receiver)
    thread = threading.Thread(target=local.serve_forever)
    thread.start()
    try:
        address = f"http://127.0.0.1:{local.server_port}/hook"
        (told,) = lines(capsys, "listen", "--forward-to", address, "--all", "-n", "1", "--json")
    finally:
        local.shutdown()
        thread.join()
        local.server_close()
    assert (json.loads(told)["delivery_id"], json.loads(told)["answered"]) == (delivery, 204)
    ((headers, body),) = taken
    secret = server.client().get_webhooks_secret()["secret"]
    assert verify_webhook(secret, headers, body, time.time()) is None
    assert {name.lower(): value for name, value in headers.items()}["webhook-id"] == delivery
    (sent,) = server.control.inbox()
    assert json.loads(body) == json.loads(sent["body"])


def test_an_address_that_does_not_answer_is_told(
    server: FinapiServer, capsys: pytest.CaptureFixture[str], ready: str
) -> None:
    lines(capsys, "trigger", "finapi.test", "--ready-line", ready, "--to", server.control.inbox_url())
    (told,) = lines(capsys, "listen", "--forward-to", "http://127.0.0.1:9/x", "--all", "-n", "1")
    assert told.startswith("finapi.test  dlv_")
    assert told.endswith("  no answer")


@pytest.mark.parametrize(
    ("words", "status", "said"),
    [
        (("listen", "--forward-to", "ftp://x"), 2, "--forward-to is an http or https URL"),
        (("watch", "main-api", "--key", "bad", "-n", "1"), 3, "UNAUTHORIZED"),
        (("watch", "main-ap"), 2, "did you mean main-api?"),
        (("trigger", "finapi.test", "--ready-line", "/nowhere"), 2, "needs the ready line of finapi fixture"),
        (("screen", "roee>1"), 2, "Did you mean roe"),
        (("screen", "roe"), 2, "this one is not: roe"),
        (("scren", "roe>1"), 2, "did you mean screen?"),
    ],
)
def test_a_mistake_has_a_line_and_a_status(
    capsys: pytest.CaptureFixture[str], words: tuple[str, ...], status: int, said: str
) -> None:
    assert cli.main(words) == status
    complaint = capsys.readouterr().err
    assert said in complaint.splitlines()[-1]


def test_companies_are_screened(capsys: pytest.CaptureFixture[str]) -> None:
    shown = lines(capsys, "screen", "gross_margin > 0.4", "net_margin>0.2")
    assert shown[0].split() == ["ticker", "period_end", "gross_margin", "net_margin"]
    assert shown[1].split() == ["AAPL", "2025-09-27", "0.469051641072", "0.269150641218"]


def test_a_chart_has_a_bar_a_row(capsys: pytest.CaptureFixture[str]) -> None:
    shown = lines(capsys, "timeseries", "AAPL", "revenue,premiums_earned", "-n", "2", "--chart")
    assert shown == [
        "",
        "revenue",
        f"2024 FY  {'#' * 38}    391,035,000,000",
        f"2025 FY  {'#' * 40}  416,161,000,000",
        "",
        "premiums_earned",
        *(f"{year} FY  {' ' * 40}  not_applicable" for year in (2024, 2025)),
    ]


def test_shells_complete_every_verb(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    script = "\n".join(lines(capsys, "completion", "bash"))
    asked = 'COMP_WORDS=(finapi "$1" "$2"); COMP_CWORD=$3; _finapi; echo "${COMPREPLY[@]}"'
    (tmp_path / "s.sh").write_text(f"{script}\n{asked}\n", "utf-8")

    def completed(*words: str) -> list[str]:
        run = ["bash", str(tmp_path / "s.sh"), *words]
        return subprocess.run(run, capture_output=True, text=True, check=True).stdout.split()

    assert set(completed("", "", "1")) == set(VERBS)
    assert completed("tim", "", "1") == ["timeseries"]
    assert completed("timeseries", "--ch", "2") == ["--chart"]
    assert "add" in completed("user", "", "2")
    assert completed("watch", "13", "2") == ["13f-live"]
    told = json.loads("\n".join(lines(capsys, "completion", "bash", "--json")))
    assert told == {"shell": "bash", "script": script}
    fish = lines(capsys, "completion", "fish")
    assert 'complete -c finapi -n "__fish_seen_subcommand_from listen" -F -l forward-to' in fish
    assert lines(capsys, "completion", "zsh")[0].startswith("autoload")
    for shell, file in (("fish", "\n".join(fish)), ("zsh", script)):
        if shutil.which(shell):
            subprocess.run([shell, "-n"], input=file, text=True, check=True)
