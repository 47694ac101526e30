"""Tests of the verbs that watch, forward and trigger, against a server; and of shell completion."""

from __future__ import annotations

import http.server
import json
import shutil
import subprocess
import threading
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from finapi import cli
from finapi.client import verify_webhook
from finapi.testing import FinapiServer
from finapi.testing.conformance import CHECKS
from finapi.verbs import watch_verbs
from finapi.verbs.verb_table import VERBS
from tests.support.case_tables import run_each_case
from tests.support.slow_cases import slow_after

pytestmark = pytest.mark.usefixtures("environ")


@pytest.fixture
def ready(server: FinapiServer, tmp_path: Path) -> str:
    """Return a file with the ready line."""
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
    columns_by_line = [line.split() for line in lines(capsys, *watch, "--ticker", "aapl", "-n", "2")]
    assert [(columns[0], *columns[2:]) for columns in columns_by_line] == [
        (str(seq), "new_filing", "AAPL", "8-K") for seq in (first, first + 2)
    ]
    (event_json,) = lines(capsys, *watch, "-n", "1", "--json")
    assert (json.loads(event_json)["seq"], json.loads(event_json)["data"]) == (first, json.loads(data))


def test_webhooks_are_forwarded_signed_to_a_local_address(
    server: FinapiServer, capsys: pytest.CaptureFixture[str], ready: str
) -> None:
    requests: list[tuple[dict[str, str], bytes]] = []

    class Receiver(http.server.BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            requests.append((dict(self.headers), self.rfile.read(int(self.headers["Content-Length"]))))
            self.send_response(204)
            self.end_headers()

        def log_message(self, *_: Any) -> None:
            """Log nothing."""

    inbox = server.control.inbox_url()
    delivery = lines(capsys, "trigger", "sniper.filing_hit", "--ready-line", ready, "--to", inbox)[0].split()[-1]
    local = http.server.HTTPServer(("127.0.0.1", 0), Receiver)
    thread = threading.Thread(target=local.serve_forever)
    thread.start()
    try:
        address = f"http://127.0.0.1:{local.server_port}/hook"
        (delivery_json,) = lines(capsys, "listen", "--forward-to", address, "--all", "-n", "1", "--json")
    finally:
        local.shutdown()
        thread.join()
        local.server_close()
    assert (json.loads(delivery_json)["delivery_id"], json.loads(delivery_json)["answered"]) == (delivery, 204)
    ((headers, body),) = requests
    secret = server.client().get_webhooks_secret()["secret"]
    verify_webhook(secret, headers, body)
    assert {name.lower(): value for name, value in headers.items()}["webhook-id"] == delivery
    (inbox_request,) = server.control.inbox()
    assert json.loads(body) == json.loads(inbox_request["body"])


@pytest.mark.parametrize("before", slow_after(1, [3, 0]))
def test_a_burst_between_two_polls_is_forwarded_in_order(
    server: FinapiServer, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, before: int
) -> None:
    inbox, event_ids = server.control.inbox_url(), list[str]()
    for _ in range(before):
        server.control.webhook("finapi.test", url=inbox)

    class Meanwhile:
        def wait(self, seconds: float) -> None:
            event_ids.extend(server.control.webhook("finapi.test", url=inbox) for _ in range(102))

    monkeypatch.setattr(watch_verbs, "threading", SimpleNamespace(Event=Meanwhile))
    output_lines = lines(capsys, "listen", "--forward-to", "http://127.0.0.1:9/x", "-n", "204", "--json")
    assert [json.loads(line)["delivery_id"] for line in output_lines] == event_ids


def test_events_of_an_account_without_a_receiver_are_forwarded(
    server: FinapiServer, capsys: pytest.CaptureFixture[str], ready: str
) -> None:
    delivery = lines(capsys, "trigger", "finapi.test", "--ready-line", ready)[0].split()[-1]
    (delivery_json,) = lines(capsys, "listen", "--forward-to", "http://127.0.0.1:9/x", "--all", "-n", "1", "--json")
    assert json.loads(delivery_json)["delivery_id"] == delivery
    assert [request["signature"] for request in server.control.inbox("trigger")] == ["valid"]
    # A mistake in what is told stays one.
    assert cli.main(("trigger", "finapi.test", "--ready-line", ready, "--to", "ftp://x")) == 2


def test_a_watch_says_that_nobody_answers(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    waited: list[float] = []
    event = SimpleNamespace(wait=waited.append)
    monkeypatch.setattr(watch_verbs, "threading", SimpleNamespace(Event=lambda: event))
    assert cli.main(("watch", "main-api", "--url", "http://127.0.0.1:9")) == 1
    error_lines = capsys.readouterr().err.splitlines()
    assert len(error_lines) == len(waited) + 1 == 10
    assert all(line.startswith("finapi: no answer from http://127.0.0.1:9") for line in error_lines)


def test_an_address_that_does_not_answer_is_reported(
    server: FinapiServer, capsys: pytest.CaptureFixture[str], ready: str
) -> None:
    lines(capsys, "trigger", "finapi.test", "--ready-line", ready, "--to", server.control.inbox_url())
    (output_line,) = lines(capsys, "listen", "--forward-to", "http://127.0.0.1:9/x", "--all", "-n", "1")
    assert output_line.startswith("finapi.test  dlv_")
    assert output_line.endswith("  no answer")


@run_each_case(
    "words, status, message",
    [
        (("listen", "--forward-to", "ftp://x"), 2, "--forward-to must be an http or https URL"),
        (("watch", "main-api", "--key", "bad", "-n", "1"), 3, "UNAUTHORIZED"),
        (("watch", "main-ap"), 2, "did you mean main-api?"),
        (("trigger", "finapi.test", "--ready-line", "/nowhere"), 2, "--ready-line: must be the output"),
        (("trigger", "sniper.filing_hti", "--ready-line", "x"), 2, "did you mean sniper.filing_hit?"),
        (("watch", "main-api", "--every", "nan"), 2, "must be a number of seconds above 0"),
        (("watch", "main-api", "-n", "0"), 2, "must be a whole number from 1"),
        (("watch", "main-api", "--since", "-1"), 2, "must be a whole number from 0"),
        (("listen", "--forward-to", "http://x", "--every", "-1"), 2, "must be a number of seconds above 0"),
        (("filings", "-n", "9" * 30), 2, "must be a whole number from 1"),
        (("filings", "--key", "\u043a\u043b\u044e\u0447"), 2, "must consist of printable ASCII characters"),
        (("filings", "--key", "a\r\nb"), 2, "must consist of printable ASCII characters"),
        (("screen", "roee>1"), 2, "did you mean roe"),
        (("screen", "roe"), 2, "roe is not a condition"),
        (("scren", "roe>1"), 2, "did you mean screen?"),
    ],
)
def test_a_mistake_has_a_line_and_a_status(
    capsys: pytest.CaptureFixture[str], words: tuple[str, ...], status: int, message: str
) -> None:
    assert cli.main(words) == status
    complaint = capsys.readouterr().err
    assert message in complaint.splitlines()[-1]


def test_a_server_that_does_not_answer_is_named(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("time.sleep", lambda seconds: None)
    assert cli.main(["filings", "--url", "http://127.0.0.1:9"]) == 1
    assert capsys.readouterr().err == (
        "finapi: no answer from http://127.0.0.1:9: [Errno 111] Connection refused; is a server running there?\n"
    )


@run_each_case(
    "options, message",
    [
        (("--account", "nobody"), "--account: must be one of free, weekly, monthly, pro,"),
        (("--data", "{"), "--data: is not JSON"),
        (("--data", "[" * 100_000), "--data: is not JSON"),
        (("--data", "[1]"), "--data: must be a JSON object"),
        (("--to", "ftp://x"), "400 INVALID_PARAM: url: the URL is neither http nor https."),
    ],
)
def test_what_cannot_be_triggered_is_told(
    capsys: pytest.CaptureFixture[str], ready: str, options: tuple[str, ...], message: str
) -> None:
    assert cli.main(["trigger", "finapi.test", "--ready-line", ready, *options]) == 2
    assert message in capsys.readouterr().err


def test_a_ready_line_of_another_program_is_reported(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    for text in ("", "[]", "{}", '{"control_url": "http://x", "control_token": "t", "accounts": []}'):
        (tmp_path / "ready.json").write_text(text)
        assert cli.main(["trigger", "finapi.test", "--ready-line", str(tmp_path / "ready.json")]) == 2
        assert "--ready-line: must be the output of finapi fixture" in capsys.readouterr().err


def test_companies_are_screened(capsys: pytest.CaptureFixture[str]) -> None:
    output_lines = lines(capsys, "screen", "gross_margin > 0.4", "net_margin>0.2")
    assert output_lines[0].split() == ["ticker", "period_end", "gross_margin", "net_margin"]
    assert output_lines[1].split() == ["AAPL", "2025-09-27", "0.469051641072", "0.269150641218"]


def test_a_chart_has_a_bar_a_row(capsys: pytest.CaptureFixture[str]) -> None:
    output_lines = lines(capsys, "timeseries", "AAPL", "revenue,premiums_earned", "-n", "2", "--chart")
    assert output_lines == [
        "",
        "revenue",
        f"2024 FY  {'#' * 38}    391,035,000,000",
        f"2025 FY  {'#' * 40}  416,161,000,000",
        "",
        "premiums_earned",
        *(f"{year} FY  {' ' * 40}  not_applicable" for year in (2024, 2025)),
    ]


@pytest.fixture
def script(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Callable[[str], Path]:
    """Return the file with a shell's completion script."""

    def made(shell: str) -> Path:
        file = tmp_path / f"finapi.{shell}"
        file.write_text("\n".join(lines(capsys, "completion", shell)) + "\n", "utf-8")
        return file

    return made


# What is typed, what of it completes the last word, and what does not.
TYPED: list[tuple[str, set[str], set[str]]] = [
    ("finapi tim", {"timeseries"}, set(VERBS) - {"timeseries"}),
    ("finapi timeseries --ch", {"--chart"}, {"--json"}),
    ("finapi timeseries AAPL -p ", {"A", "Q", "TTM", "YTD"}, {"--chart"}),
    ("finapi statements AAPL -p ", {"A", "Q"}, {"TTM"}),
    ("finapi user ", {"add", "list"}, {"--plan"}),
    ("finapi user ad", {"add"}, {"list"}),
    ("finapi user add --p", {"--plan", "--password-stdin"}, {"--days", "list"}),
    ("finapi watch 13", {"13f-live"}, {"main-api"}),
    ("finapi serve --role ", {"all", "api", "worker"}, {"--port"}),
    ("finapi fixture --ready ", {"json"}, {"--seed"}),
    ("finapi trigger sniper.f", {"sniper.filing_hit"}, {"main-api"}),
]


@run_each_case("typed, offered, other", TYPED)
def test_bash_completes_verbs_actions_options_and_values(
    script: Callable[[str], Path], typed: str, offered: set[str], other: set[str]
) -> None:
    words = typed.split(" ")
    bash_script = (
        f'source "$0"; COMP_WORDS=("$@"); COMP_CWORD={len(words) - 1}; _finapi; printf "%s\n" "${{COMPREPLY[@]}}"'
    )
    run = ["bash", "-c", bash_script, str(script("bash")), *words]
    completions = set(subprocess.run(run, capture_output=True, text=True, check=True).stdout.split())
    assert (offered - completions, other & completions) == (set(), set())


@pytest.mark.skipif(shutil.which("fish") is None, reason="no fish here")
@pytest.mark.parametrize(("typed", "offered", "other"), TYPED)
def test_fish_completes_the_same(script: Callable[[str], Path], typed: str, offered: set[str], other: set[str]) -> None:
    run = ["fish", "--no-config", "-c", f"source {script('fish')}; complete -C '{typed}'"]
    done = subprocess.run(run, capture_output=True, text=True, check=True)
    completions = {line.partition("\t")[0] for line in done.stdout.splitlines()}
    assert (done.stderr, offered - completions, other & completions) == ("", set(), set())


@pytest.mark.skipif(shutil.which("zsh") is None, reason="no zsh here")
def test_zsh_takes_the_script_without_a_configuration_of_its_own(script: Callable[[str], Path]) -> None:
    run = ["zsh", "-f", "-c", f"source {script('zsh')}; print $_comps[finapi]"]
    done = subprocess.run(run, capture_output=True, text=True, check=True)
    assert (done.stdout, done.stderr) == ("_bash_complete -o default -F _finapi\n", "")


def test_shells_are_offered_every_verb(capsys: pytest.CaptureFixture[str]) -> None:
    bash = "\n".join(lines(capsys, "completion", "bash"))
    assert f'":"*) words="{" ".join(VERBS)}" ;;' in bash
    assert json.loads("\n".join(lines(capsys, "completion", "bash", "--json"))) == {"shell": "bash", "script": bash}
    assert f'"conformance:"*) words="{" ".join(CHECKS)} --against' in bash
    fish = lines(capsys, "completion", "fish")
    first = "complete -c finapi -n __fish_use_subcommand -a "
    assert [line.removeprefix(first).split()[0] for line in fish if line.startswith(first)] == [*VERBS]
