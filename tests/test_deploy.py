"""Tests of the files in ``deploy`` with the real programs, if installed, and of the service manager's notifications."""

from __future__ import annotations

import contextlib
import html
import http.client
import json
import logging
import os
import re
import shutil
import signal
import socket
import ssl
import subprocess
import threading
import urllib.request
import uuid
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from email import message_from_bytes
from email.policy import default as email_policy
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from urllib.parse import urlencode, urljoin

import pytest
import trustme
import yaml
from websockets.sync.client import connect

from finapi import client as api_client
from finapi.app import App
from finapi.core import config as settings
from finapi.core import metrics
from finapi.core.config import find_service_manager
from finapi.core.health import ProbeError
from finapi.verbs import service_manager, serving_verbs
from finapi.verbs.service_manager import ServiceManager
from finapi.web.routes import ROUTES
from tests.client import Client
from tests.process import COMMAND, ROOT, Running, environment, eventually, find_free_port, serve
from tests.support.case_tables import run_each_case

DEPLOY = ROOT / "deploy"


def program(name: str) -> str:
    executable = shutil.which(name) or shutil.which(name, path="/usr/sbin:/usr/local/sbin:/sbin")
    if executable is None:
        pytest.skip(f"{name} is not here (apt-get install)")
    return executable


def run(*words: object, **options: Any) -> str:
    """Return the output of a program, which must succeed."""
    done = subprocess.run([*map(str, words)], capture_output=True, text=True, timeout=60, **options)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout + done.stderr


# ---- the service manager


@pytest.fixture
def manager(tmp_path: Path) -> Iterator[socket.socket]:
    """Yield a stand-in for the service manager that receives the messages to NOTIFY_SOCKET."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as notify_socket:
        notify_socket.bind(str(tmp_path / "notify"))
        notify_socket.settimeout(20)
        yield notify_socket


EXTENSION = b"EXTEND_TIMEOUT_USEC=60000000\nWATCHDOG=1"


@pytest.mark.slow
def test_the_service_manager_is_notified_of_every_state(manager: socket.socket, tmp_path: Path) -> None:
    env = environment(NOTIFY_SOCKET=str(tmp_path / "notify"), WATCHDOG_USEC="400000")
    with serve(tmp_path / "data", env=env) as running:
        received = [manager.recv(100) for _ in range(4)]
        assert received == [EXTENSION, b"READY=1", b"WATCHDOG=1", b"WATCHDOG=1"]
        assert running.get("/livez").status == 200
        running.send(signal.SIGTERM)
        while (last := manager.recv(100)) == b"WATCHDOG=1":
            pass
        assert last == b"STOPPING=1"
        assert running.wait() == 0


@pytest.mark.slow
def test_a_missing_notify_socket_stops_nothing(tmp_path: Path) -> None:
    name = f"finapi-test-{os.getpid()}"
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as notify_socket:
        notify_socket.bind("\0" + name)
        notify_socket.settimeout(20)
        with serve(tmp_path / "data", env=environment(NOTIFY_SOCKET="@" + name)) as running:
            assert [notify_socket.recv(100) for _ in range(2)] == [EXTENSION, b"READY=1"]
            assert running.stop() == 0
    with serve(tmp_path / "data", env=environment(NOTIFY_SOCKET=str(tmp_path / "none"))) as running:
        assert running.get("/livez").status == 200
        eventually(lambda: "cannot send READY=1 to the service manager: No such file or directory" in running.log)


def test_a_server_that_does_not_answer_itself_says_nothing(
    app: App, manager: socket.socket, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def trouble() -> None:
        raise ProbeError("failing", "no answer")

    waits: list[float] = []

    def wait(signals: object, seconds: float) -> Any:
        waits.append(seconds)
        app.health.probes["main_api"] = trouble if len(waits) == 2 else lambda: None
        return SimpleNamespace(si_signo=signal.SIGTERM) if len(waits) == 4 else None

    monkeypatch.setenv("NOTIFY_SOCKET", str(tmp_path / "notify"))
    monkeypatch.setenv("WATCHDOG_USEC", "60000000")
    monkeypatch.setattr(signal, "sigtimedwait", wait)
    assert serving_verbs._wait_for_stop(app) == "SIGTERM"
    assert [manager.recv(100) for _ in range(4)] == [b"READY=1", b"WATCHDOG=1", b"WATCHDOG=1", b"STOPPING=1"]
    assert waits == [30.0] * 4
    assert "no keep-alive message is sent to the service manager: " in caplog.text


def test_a_long_start_asks_for_more_time_again_and_again(
    manager: socket.socket, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(service_manager, "EXTEND_SECONDS", 0.001)
    with ServiceManager(str(tmp_path / "notify"), 0.0).keep_extending_start():
        assert [manager.recv(100) for _ in range(5)] == [EXTENSION] * 5
    manager.setblocking(False)
    with contextlib.suppress(BlockingIOError):
        while manager.recv(100) == EXTENSION:
            pass
    assert [thread.name for thread in threading.enumerate() if thread.name == "finapi-start"] == []


def test_a_start_without_a_service_manager_has_no_thread_for_it() -> None:
    with ServiceManager("", 0.0).keep_extending_start():
        assert [thread.name for thread in threading.enumerate() if thread.name == "finapi-start"] == []


@run_each_case(
    "environ, notification",
    [
        ({}, ("", 0.0)),
        ({"NOTIFY_SOCKET": "/run/x", "WATCHDOG_USEC": "60000000"}, ("/run/x", 60.0)),
        ({"NOTIFY_SOCKET": "@x", "WATCHDOG_USEC": "60000000", "WATCHDOG_PID": "1"}, ("@x", 0.0)),
        ({"NOTIFY_SOCKET": "@x", "WATCHDOG_USEC": "soon"}, ("@x", 0.0)),
    ],
)
def test_the_notify_settings_are_read_from_the_environment(
    environ: dict[str, str], notification: tuple[str, float]
) -> None:
    assert find_service_manager(environ) == notification


# ---- a proxy that nobody trusts


def test_a_proxy_that_is_not_trusted_is_warned_of_once(
    make_app: Callable[..., App], caplog: pytest.LogCaptureFixture
) -> None:
    def warned(**settings: Any) -> int:
        caplog.clear()
        client = Client(make_app(**settings))
        for _ in range(3):
            client.get("/livez", headers={"X-Forwarded-For": "198.51.100.7"})
        return sum("sends X-Forwarded-For and is not trusted" in record.getMessage() for record in caplog.records)

    caplog.set_level(logging.WARNING, "finapi")
    assert warned() == 1
    assert warned(trusted_proxies=("192.0.2.0/24",)) == 0
    caplog.clear()
    Client(make_app()).get("/livez")
    assert caplog.records == []


# ---- files for other programs


def test_the_unit_is_well_and_hardened(tmp_path: Path) -> None:
    analyze = program("systemd-analyze")
    unit = tmp_path / "finapi.service"
    text = (DEPLOY / "finapi.service").read_text()
    unit.write_text(text.replace("/usr/local/bin/finapi", "/bin/true"))
    output = run(analyze, "verify", "--man=no", unit)
    assert "finapi.service" not in output
    if "offline" in run(analyze, "--help"):
        run(analyze, "security", "--offline=yes", "--threshold=20", unit)
    assert {"Type=notify", "WatchdogSec=60", "NoNewPrivileges=yes"} <= set(text.splitlines())


def expressions() -> list[str]:
    """Return every expression of the dashboard and of the alerts."""
    dashboard = json.loads((DEPLOY / "grafana.json").read_text())
    alerts = re.findall(r"^ +expr: (.*)$", (DEPLOY / "alerts.yml").read_text(), flags=re.MULTILINE)
    return [*alerts, *(target["expr"] for panel in dashboard["panels"] for target in panel["targets"])]


def test_every_metric_that_is_shown_or_alerts_is_served() -> None:
    served = {family.name for family in metrics.FAMILIES} | {
        family.name + end
        for family in metrics.FAMILIES
        if family.kind == "histogram"
        for end in ("_bucket", "_sum", "_count")
    }
    for text in expressions():
        metric_names = set(re.findall(r"\b((?:finapi|process)_[a-z_]+)\b", re.sub(r'"[^"]*"', "", text)))
        assert metric_names <= served, text
        assert metric_names or text.startswith("up{"), text
        label_text = (
            ",".join(re.findall(r"by \(([^)]*)\)|\{([^}]*)\}", text)[0]) if "{" in text or "by (" in text else ""
        )
        labels = set(re.findall(r"([a-z]+)(?:\s*[=,)]|$|=~)", re.sub(r'"[^"]*"', "", label_text))) - {"le", "job"}
        assert labels <= {label for family in metrics.FAMILIES for label in family.labels}, text


def test_promtool_accepts_configuration_rules_and_expressions(tmp_path: Path) -> None:
    promtool = program("promtool")
    assert "SUCCESS" in run(promtool, "check", "config", DEPLOY / "prometheus.yml")
    assert "15 rules found" in run(promtool, "check", "rules", DEPLOY / "alerts.yml")
    rules = [{"record": f"a:b{number}", "expr": text} for number, text in enumerate(expressions())]
    (tmp_path / "rules.yml").write_text(json.dumps({"groups": [{"name": "g", "rules": rules}]}))
    assert f"{len(rules)} rules found" in run(promtool, "check", "rules", tmp_path / "rules.yml")


def test_promtool_takes_what_metrics_serves(client: Client, app: App) -> None:
    promtool = program("promtool")
    client.get("/api/v1/policy")
    done = subprocess.run([promtool, "check", "metrics"], input=app.metrics.render({}), capture_output=True, text=True)
    assert "error" not in done.stderr.lower(), done.stderr


def test_logrotate_takes_its_file() -> None:
    output = run(program("logrotate"), "-d", DEPLOY / "logrotate")
    assert "error" not in output.lower()


def test_the_container_file_starts_what_there_is() -> None:
    text = (DEPLOY / "Containerfile").read_text()
    names = re.findall(r"FINAPI_([A-Z_]+)=(\S+)", text)
    words = subprocess.run(
        [*COMMAND, "config"],
        cwd=ROOT,
        env=environment(**{f"FINAPI_{name}": value for name, value in names}),
        capture_output=True,
    )
    assert words.returncode == 0, words.stderr
    assert re.search(r'CMD \["serve"\]', text)


def load_yaml(name: str) -> list[Any]:
    """Return the documents of a file of ``deploy``."""
    return list(yaml.safe_load_all((DEPLOY / name).read_text()))


def test_compose_probes_readiness_and_trusts_its_gateway() -> None:
    (compose,) = load_yaml("compose.yaml")
    service = compose["services"]["finapi"]
    assert (DEPLOY / service["build"]["context"] / service["build"]["dockerfile"]).resolve() == DEPLOY / "Containerfile"
    *_, script = service["healthcheck"]["test"]
    assert script in (DEPLOY / "Containerfile").read_text()
    config, _ = settings.load({}, service["environment"])
    assert list(config.trusted_proxies) == [compose["networks"]["front"]["ipam"]["config"][0]["gateway"]]
    assert service["ports"] == ["127.0.0.1:8000:8000"]


def test_kubernetes_probes_paths_that_need_no_key() -> None:
    stateful_set, service = load_yaml("kubernetes.yaml")
    pod = stateful_set["spec"]["template"]["spec"]
    (container,) = pod["containers"]
    config, _ = settings.load({}, {variable["name"]: variable["value"] for variable in container["env"]})
    assert config.trusted_proxies == ("10.244.0.0/16",)
    # A folder of the volume that finapi creates: fsGroup makes the volume itself writable for the group.
    assert config.data_dir.parent == Path(container["volumeMounts"][0]["mountPath"])
    probes = {name: container[f"{name}Probe"]["httpGet"]["path"] for name in ("startup", "readiness", "liveness")}
    assert probes == {"startup": "/readyz", "readiness": "/readyz", "liveness": "/livez"}
    assert {route.auth for route in ROUTES if route.path in probes.values()} == {"none"}
    assert pod["terminationGracePeriodSeconds"] > config.drain_timeout
    assert service["spec"]["selector"] == stateful_set["spec"]["template"]["metadata"]["labels"]


@run_each_case("name", ["finapi-data", "**/secrets", "**/*.db", "**/*.db-*", ".*"])
def test_no_data_or_secret_is_copied_into_an_image(name: str) -> None:
    assert name in (ROOT / ".containerignore").read_text().splitlines()


# ---- in front: one request and one WebSocket through the real programs


@contextmanager
def started(port: int, *words: object, **options: Any) -> Iterator[None]:
    process = subprocess.Popen([*map(str, words)], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, **options)
    try:
        eventually(lambda: listens(port) or process.poll() is not None)
        assert process.poll() is None, process.stdout and process.stdout.read()
        yield
    finally:
        process.terminate()
        process.communicate(timeout=20)


def listens(port: int) -> bool:
    with socket.socket() as probe_socket:
        return probe_socket.connect_ex(("127.0.0.1", port)) == 0


def try_server(running: Running, port: int, authority: trustme.CA) -> None:
    """Make a call, open a WebSocket, check the caller's own address, and check that figures are private."""
    context = ssl.create_default_context()
    authority.configure_trust(context)

    def get(path: str, **headers: str) -> tuple[int, dict[str, str], bytes]:
        plain = socket.create_connection(("127.0.0.1", port), timeout=20)
        with context.wrap_socket(plain, server_hostname="finapi.example.com") as secure:
            connection = http.client.HTTPConnection("finapi.example.com")
            connection.sock = secure
            connection.request("GET", path, headers=headers)
            answer = connection.getresponse()
            return answer.status, {name.lower(): text for name, text in answer.getheaders()}, answer.read()

    status, headers, body = get("/api/v1/policy", **{"X-Forwarded-For": "203.0.113.9"})
    assert (status, json.loads(body)["status"]) == (200, "success")
    assert "strict-transport-security" in headers
    assert get("/metrics")[0] == 404
    eventually(lambda: "127.0.0.1" in running.log)
    assert "203.0.113.9" not in running.log
    assert "is not trusted" not in running.log
    key = running.ready["api_key"]
    client_socket = socket.create_connection(("127.0.0.1", port), timeout=20)
    url = f"wss://finapi.example.com/ws/main-api?token={key}"
    with connect(
        url,
        sock=client_socket,
        ssl=context,
        server_hostname="finapi.example.com",
        proxy=None,
        open_timeout=60,
        close_timeout=0.5,
    ) as feed:
        feed.send(json.dumps({"action": "subscribe", "tickers": ["AAPL"]}))
        assert isinstance(json.loads(feed.recv(timeout=20)), dict)


NGINX_FOLDER = """
events {{}}
http {{
    {temporary_paths}
    access_log off;
    server {{
        listen 127.0.0.1:{port};
        location /finapi/ {{
            proxy_pass http://{server}{passed_path};
            proxy_http_version 1.1;
            proxy_set_header Host $http_host;
            proxy_set_header X-Forwarded-For $remote_addr;
            proxy_set_header Upgrade $http_upgrade;
            proxy_set_header Connection "upgrade";
        }}
    }}
}}
"""
CADDY_FOLDER = """
{{
    admin off
    auto_https off
}}
http://127.0.0.1:{port} {{
    redir /finapi /finapi/
    {directive} /finapi/* {{
        reverse_proxy {server}
    }}
}}
"""


class AnyStatus(urllib.request.HTTPErrorProcessor):
    """Answers of any status are returned, and redirects are not followed."""

    def http_response(self, request: urllib.request.Request, response: Any) -> Any:
        return response


def wait_for_link(mail_directory: Path, email: str) -> str:
    """Return the link in the first mail to an address."""
    links: list[str] = []

    def has_arrived() -> bool:
        for path in mail_directory.glob("*.eml"):
            mail = message_from_bytes(path.read_bytes(), policy=email_policy)
            if mail["To"] == email:
                links.extend(re.findall(r"http://\S+", next(iter(mail.iter_parts())).get_content()))
        return bool(links)

    eventually(has_arrived)
    return links[0]


def try_folder(running: Running, url: str) -> None:
    """Follow every link from the front page, sign in, and open a feed at the URL of a folder."""
    opener = urllib.request.build_opener(urllib.request.HTTPCookieProcessor())
    root = url.removesuffix("/finapi")

    crawler = urllib.request.build_opener(AnyStatus)

    def get(path: str) -> tuple[str, str]:
        request = urllib.request.Request(root + path, headers={"Accept": "text/html, */*"})
        with crawler.open(request, timeout=30) as answer:
            body = answer.read().decode()
            # 401: the account needs a login. 404: a company has no data of some kind.
            assert answer.status == 200 or (answer.status in (401, 404) and "No route has" not in body), (path, body)
            return answer.headers["Content-Type"], body

    # At most ten paths of each kind: /finapi/docs/..., /finapi/company/...
    paths_by_name = defaultdict(list, {"": ["/finapi/"]})
    unread_paths = ["/finapi/"]
    while unread_paths:
        path = unread_paths.pop()
        content_type, body = get(path)
        links = re.findall(r'(?: href| src)="([^"]*)"', body) if content_type.startswith("text/html") else []
        for link in links:
            linked_path = urljoin(path, html.unescape(link)).partition("#")[0]
            if not linked_path.startswith("/"):
                continue
            assert linked_path.startswith("/finapi/"), f"{linked_path} in {path}"
            similar_paths = paths_by_name[re.split("[/?]", linked_path)[2]]
            if linked_path not in similar_paths and len(similar_paths) < 10:
                similar_paths.append(linked_path)
                unread_paths.append(linked_path)
    assert {"static", "company", "filing", "docs", "plans", "changelog", "openapi.json"} <= paths_by_name.keys()

    document = json.loads(get("/finapi/openapi.json")[1])
    assert document["servers"] == [{"url": url}]
    client = api_client.Client(url, running.ready["api_key"])
    assert client.get_account_balance()["current_balance"] > 0
    # The server's own address answers without the folder, for probes of this machine.
    assert running.get("/livez").status == 200

    token = running.call("POST", "/api/v1/auth/redeem-invite", {"invite_code": running.ready["invite_codes"].pop()})
    fields = {"email": f"{uuid.uuid4().hex}@example.com", "password": "correct horse battery"}
    register = {**fields, "invite_token": token.json["invite_token"]}
    assert running.call("POST", "/api/v1/auth/register", register).status == 200
    link = wait_for_link(Path(running.ready["mail_dir"]), fields["email"])
    assert link.startswith(f"{url}/api/v1/auth/verifyEmail?token=")
    with opener.open(link, timeout=30) as answer:
        assert (answer.url, answer.status) == (link, 200)
    with opener.open(f"{url}/login", urlencode(fields).encode(), timeout=30) as answer:
        assert (answer.url, answer.status) == (f"{url}/account", 200)
        assert fields["email"] in answer.read().decode()

    with connect(
        f"{url.replace('http', 'ws')}/ws/main-api?token={running.ready['api_key']}", proxy=None, close_timeout=0.5
    ) as feed:
        feed.send(json.dumps({"action": "subscribe", "tickers": ["AAPL"]}))
        assert isinstance(json.loads(feed.recv(timeout=20)), dict)


@contextmanager
def demo_in_folder(tmp_path: Path) -> Iterator[tuple[Running, int]]:
    """Yield a demo whose public URL is a folder, and the port of its proxy."""
    from tests.process import running

    port = find_free_port()
    public_url = f"http://127.0.0.1:{port}/finapi"
    words = ("--port", 0, "--data-dir", tmp_path / "data", "--public-url", public_url)
    with running("demo", *words, "--trusted-proxies", "127.0.0.1", "--pages-per-minute", 10_000) as demo_server:
        yield demo_server, port


@pytest.mark.slow
def test_nginx_serves_a_folder(tmp_path: Path) -> None:
    nginx = program("nginx")
    names = ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    temporary_paths = "".join(f"{name}_temp_path {tmp_path}/{name};" for name in names)
    user = "user root;" if os.geteuid() == 0 else ""
    main = tmp_path / "nginx.conf"
    with demo_in_folder(tmp_path) as (demo_server, port):
        server = f"127.0.0.1:{demo_server.address[1]}"
        # Without a path in proxy_pass, nginx passes on the path of the request. "/" replaces the folder.
        for passed_path in ("", "/"):
            text = NGINX_FOLDER.format(
                port=port, server=server, passed_path=passed_path, temporary_paths=temporary_paths
            )
            main.write_text(f"{user} pid {tmp_path}/pid; daemon off; error_log stderr;{text}")
            with started(port, nginx, "-c", main, "-e", "stderr"):
                try_folder(demo_server, f"http://127.0.0.1:{port}/finapi")


@pytest.mark.slow
def test_caddy_serves_a_folder(tmp_path: Path) -> None:
    caddy = program("caddy")
    env = {**os.environ, "HOME": str(tmp_path), "XDG_DATA_HOME": str(tmp_path), "XDG_CONFIG_HOME": str(tmp_path)}
    with demo_in_folder(tmp_path) as (demo_server, port):
        server = f"127.0.0.1:{demo_server.address[1]}"
        for directive in ("handle", "handle_path"):  # The second removes the folder from the path.
            (tmp_path / "Caddyfile").write_text(CADDY_FOLDER.format(port=port, server=server, directive=directive))
            with started(port, caddy, "run", "--config", tmp_path / "Caddyfile", "--adapter", "caddyfile", env=env):
                try_folder(demo_server, f"http://127.0.0.1:{port}/finapi")


@pytest.fixture
def certify(tmp_path: Path) -> tuple[trustme.CA, Path, Path]:
    authority = trustme.CA()
    certificate = authority.issue_cert("finapi.example.com")
    certificate.private_key_pem.write_to_path(tmp_path / "privkey.pem")
    certificate.cert_chain_pems[0].write_to_path(tmp_path / "fullchain.pem")
    return authority, tmp_path / "fullchain.pem", tmp_path / "privkey.pem"


@pytest.fixture
def behind(tmp_path: Path) -> Iterator[Running]:
    from tests.process import running

    words = ("--port", 0, "--data-dir", tmp_path / "data", "--trusted-proxies", "127.0.0.1", "--log-level", "info")
    with running("demo", *words) as demo_server:
        yield demo_server


@pytest.mark.slow
def test_nginx_in_front(behind: Running, certify: tuple[trustme.CA, Path, Path], tmp_path: Path) -> None:
    nginx = program("nginx")
    authority, chain, key = certify
    port = find_free_port()
    text = (DEPLOY / "nginx.conf").read_text()
    for old, new in (
        ("127.0.0.1:8000", f"127.0.0.1:{behind.address[1]}"),
        ("listen 80;", f"listen 127.0.0.1:{find_free_port()};"),
        ("listen 443 ssl http2;", f"listen 127.0.0.1:{port} ssl http2;"),
        ("/etc/ssl/finapi/fullchain.pem", str(chain)),
        ("/etc/ssl/finapi/privkey.pem", str(key)),
    ):
        assert text.count(old) == 1, old
        text = text.replace(old, new)
    paths = "".join(
        f"{name}_temp_path {tmp_path}/{name};\n" for name in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    )
    user = "user root;\n" if os.geteuid() == 0 else ""
    main = tmp_path / "nginx.conf"
    main.write_text(
        f"{user}pid {tmp_path}/pid; daemon off;\nerror_log stderr;\nevents {{}}\nhttp {{\n{paths}{text}}}\n"
    )
    assert "test is successful" in run(nginx, "-t", "-c", main, "-e", "stderr")
    with started(port, nginx, "-c", main, "-e", "stderr"):
        try_server(behind, port, authority)


@pytest.mark.slow
def test_caddy_in_front(behind: Running, certify: tuple[trustme.CA, Path, Path], tmp_path: Path) -> None:
    caddy = program("caddy")
    authority, chain, key = certify
    env = {**os.environ, "HOME": str(tmp_path), "XDG_DATA_HOME": str(tmp_path), "XDG_CONFIG_HOME": str(tmp_path)}
    assert "Valid configuration" in run(
        caddy, "validate", "--config", DEPLOY / "Caddyfile", "--adapter", "caddyfile", env=env
    )
    port = find_free_port()
    text = (DEPLOY / "Caddyfile").read_text()
    text = text.replace("127.0.0.1:8000", f"127.0.0.1:{behind.address[1]}")
    text = text.replace(
        "finapi.example.com {", f"finapi.example.com:{port} {{\n\ttls {chain} {key}\n\tbind 127.0.0.1", 1
    )
    (tmp_path / "Caddyfile").write_text("{\n\tadmin off\n\tauto_https off\n}\n" + text)
    with started(port, caddy, "run", "--config", tmp_path / "Caddyfile", "--adapter", "caddyfile", env=env):
        try_server(behind, port, authority)
