"""The route table, and the router that looks up routes in it."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from finapi.app import build_limiters
from finapi.core.config import Config
from finapi.core.lazy import LazyModule
from finapi.web.http.call import Call
from finapi.web.http.messages import Response, parse_environ
from finapi.web.http.route import ZONES, Route
from finapi.web.openapi import OPERATION_DESCRIPTIONS, build_document
from finapi.web.router import Match, Router
from finapi.web.routes import ROUTES
from tests.process import ROOT
from tests.support.case_tables import run_each_case


def answer(call: Call) -> Response:
    return Response(200, b"{}")


def create_route(method: str, path: str) -> Route:
    return Route(method, path, answer, auth="none", cost=0, zone=None, summary=path)


TABLE = [
    create_route("GET", "/things"),
    create_route("POST", "/things"),
    create_route("GET", "/things/{name}"),
    create_route("GET", "/things/latest"),
    create_route("GET", "/things/{name}/parts/{part}"),
    create_route("GET", "/things/{name}/parts/all"),
    create_route("GET", "/things/latest/parts/{part}"),
    create_route("GET", "/things/of/{part}"),
    create_route("GET", "/user/"),
    create_route("GET", "/files/form-{name}/all"),
    create_route("GET", "/files/form-x{name}/all"),
    create_route("GET", "/files/{name}/all"),
]


def find_match(target: str, table: list[Route] = TABLE) -> Match | None:
    request = parse_environ({"REQUEST_METHOD": "GET", "REQUEST_URI": target})
    return Router(table).match(request.segments)


def matched_path(match: Match | None) -> str | None:
    return None if match is None else next(iter(match.by_method.values())).path


@run_each_case(
    "target, path, params",
    [
        ("/things", "/things", {}),
        ("/things/", "/things", {}),
        ("/things?name=x", "/things", {}),
        ("/things/7", "/things/{name}", {"name": "7"}),
        ("/things/7/", "/things/{name}", {"name": "7"}),
        ("/things/latest", "/things/latest", {}),
        ("/things/l%61test", "/things/latest", {}),
        ("/things/7/parts/8", "/things/{name}/parts/{part}", {"name": "7", "part": "8"}),
        ("/things/7/parts/all", "/things/{name}/parts/all", {"name": "7"}),
        ("/things/latest/parts/8", "/things/latest/parts/{part}", {"part": "8"}),
        ("/things/latest/parts/all", "/things/latest/parts/{part}", {"part": "all"}),
        ("/things/BRK%2FB", "/things/{name}", {"name": "BRK/B"}),
        ("/things/BRK%2fB/parts/a%20b", "/things/{name}/parts/{part}", {"name": "BRK/B", "part": "a b"}),
        ("/things/a+b", "/things/{name}", {"name": "a+b"}),
        ("/things/%C3%91", "/things/{name}", {"name": "Ñ"}),
        ("/things/%2E%2E", "/things/{name}", {"name": ".."}),
        ("/things/off", "/things/{name}", {"name": "off"}),
        ("/things/%7Bname%7D", "/things/{name}", {"name": "{name}"}),
        ("http://example.com/things/7?x", "/things/{name}", {"name": "7"}),
        ("/files/form-4/all", "/files/form-{name}/all", {"name": "4"}),
        ("/files/form%2D4/all", "/files/form-{name}/all", {"name": "4"}),
        ("/files/form-/all", "/files/form-{name}/all", {"name": ""}),
        ("/files/form-x4/all", "/files/form-x{name}/all", {"name": "4"}),
        ("/files/form/all", "/files/{name}/all", {"name": "form"}),
        ("/user/", "/user/", {}),
        ("/user", "/user/", {}),
    ],
)
def test_a_path_finds_its_route(target: str, path: str, params: dict[str, str]) -> None:
    found_match = find_match(target)
    assert matched_path(found_match) == path
    assert found_match is not None
    assert found_match.path_params == params


@run_each_case(
    "target",
    [
        "/",
        "",
        "//",
        "/thing",
        "/Things",
        "//things",
        "/things/of",
        "/things/of/",
        "/things/7/parts",
        "/things/7/parts/",
        "/things/7/8/9",
        "/things/7/parts/8/9",
        "/things%2F7%2Fparts%2F8",
        "/api/v1/things",
        "http://example.com",
        "*",
    ],
)
def test_an_unknown_path_matches_no_route(target: str) -> None:
    assert find_match(target) is None


def test_an_empty_segment_is_an_empty_parameter() -> None:
    found_match = find_match("/things//parts/8")
    assert found_match is not None
    assert found_match.path_params == {"name": "", "part": "8"}  # The parser of the parameter refuses it.


@pytest.mark.parametrize("path", ["/api/insiders/filings/by-ticker", "/api/v1/insiders/filings/by-ticker/"])
def test_forms_of_a_company_without_its_ticker_are_no_filing(path: str) -> None:
    assert find_match(path, list(ROUTES)) is None


def test_a_path_knows_all_its_methods() -> None:
    found_match = find_match("/things")
    assert found_match is not None
    assert set(found_match.by_method) == {"GET", "POST"}


def test_the_order_of_the_table_does_not_matter() -> None:
    for table in (TABLE, TABLE[::-1]):
        assert matched_path(find_match("/things/latest", table)) == "/things/latest"
        assert matched_path(find_match("/things/7/parts/all", table)) == "/things/{name}/parts/all"


def test_a_table_without_routes_finds_nothing() -> None:
    assert find_match("/things", []) is None


# ---- the table of finapi


@run_each_case(
    "method, path, auth, cost, zone, cacheable",
    [
        ("GET", "/livez", "none", 0, None, False),
        ("GET", "/readyz", "none", 0, None, False),
        ("GET", "/openapi.json", "none", 0, None, False),
        ("GET", "/api/v1/xbrl/companies/{ticker}/statements", "key", 25, "xbrl", True),
        ("GET", "/api/v1/xbrl/filing/{accession}/statements", "key", 25, "xbrl", True),
    ],
)
def test_the_table_has_the_routes_of_the_contract(
    method: str, path: str, auth: str, cost: int, zone: str | None, cacheable: bool
) -> None:
    routes = [route for route in ROUTES if (route.method, route.path) == (method, path)]
    assert len(routes) == 1
    assert (routes[0].auth, routes[0].cost, routes[0].zone, routes[0].cacheable) == (auth, cost, zone, cacheable)


def test_each_method_and_path_is_in_the_table_once() -> None:
    pairs = [(route.method, route.path) for route in ROUTES]
    assert len(pairs) == len(set(pairs))


@run_each_case("route", ROUTES)
def test_a_route_declares_its_path_parameters(route: Route) -> None:
    in_path = re.findall(r"\{(\w+)\}", route.path)
    assert sorted(in_path) == sorted(param.name for param in route.params if param.location == "path")
    assert all(param.required for param in route.params if param.location == "path")
    assert route.method in ("GET", "POST", "PUT", "DELETE")
    assert route.path.startswith("/")
    assert route.summary


def test_every_route_has_a_limit_except_those_in_memory() -> None:
    assert {route.path for route in ROUTES if route.zone is None} == {
        # DECISIONS 5: free.
        "/livez",
        "/readyz",
        "/openapi.json",
        "/metrics",
        # A cache answers before the limits are counted.
        "/api/v1/status",
        # Files that are read once and stay in memory.
        "/static/{name}",
        "/sdk/{filename}",
        "/favicon.ico",
        "/robots.txt",
        "/.well-known/security.txt",
    }


@run_each_case("route", ROUTES)
def test_a_route_that_costs_has_a_key_and_a_limit(route: Route) -> None:
    if route.cost:
        assert (route.auth, route.zone is not None) == ("key", True)
    if route.cacheable:
        assert (route.method, route.auth) == ("GET", "key")


def test_idempotent_routes_are_free_and_return_no_secrets() -> None:
    idempotent_routes = {route.path.removeprefix("/api/v1"): route for route in ROUTES if route.idempotent}
    assert set(idempotent_routes) == {
        "/sniper/targets",
        "/sniper/targets/{target_id}/stop",
        "/webhooks/deliveries/{delivery_id}/redeliver",
        "/webhooks/test",
        "/billing/quota",
    }
    # A stored answer is returned without a charge, and belongs to an account.
    assert {(route.method, route.cost) for route in idempotent_routes.values()} == {("POST", 0)}
    assert {route.auth for route in idempotent_routes.values()} <= {"session", "either", "key"}
    shapes = [str(route.shape) for route in idempotent_routes.values()]
    assert not any(word in shape for shape in shapes for word in ("'secret'", "'api_key'", "'token'"))


def test_each_operation_describes_its_purpose_and_its_cost() -> None:
    paths = build_document("", ROUTES)["paths"]
    operations = {operation["operationId"]: operation for item in paths.values() for operation in item.values()}
    documented = {name for name in operations if not name.endswith("_") and "insider_module" not in name}
    assert documented == set(OPERATION_DESCRIPTIONS), "a route has its line in finapi/web/about.toml"
    for operation in operations.values():
        cost = operation["x-token-cost"]
        cost_text = f"Costs {cost} token{'' if cost == 1 else 's'}, refunded" if cost else "Costs nothing."
        assert cost_text in operation["description"]
        assert not operation["description"].lower().startswith(operation["summary"].lower())
        assert len(operation["description"].split()) > 9


def test_the_table_loads_no_handler_before_its_first_call() -> None:
    code = (
        "import sys; from finapi.web.routes import ROUTES; late = ('finapi.web.pages.', 'finapi.market.financials'); "
        "print([one for one in sys.modules if one.startswith(late)]); "
        "print([one.handler.__module__ for one in ROUTES if one.path == '/plans'])"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == ["[]", "['finapi.web.pages.info_pages']"]


def test_statements_as_filed_load_no_series_and_no_parser() -> None:
    code = (
        "import sys; from finapi.web.financials import as_filed; "
        "late = ('finapi.market.financials.', 'finapi.market.documents.filing_store', 'finapi.edgar.companyfacts'); "
        "print([one for one in sys.modules if one.startswith(late)])"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def test_an_app_without_default_windows_loads_no_handler() -> None:
    code = (
        "import sys; from finapi.app import create_in_memory; from finapi.core.clock import SystemClock; "
        "from finapi.core.config import Config; from finapi.web.application import WsgiApp; "
        "WsgiApp(create_in_memory(Config(default_windows='all'), SystemClock())); "
        "print([one for one in sys.modules if one.startswith(('finapi.web.insiders.', 'finapi.market.financials.'))])"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == ["[]"]


@pytest.mark.slow
def test_a_server_starts_without_modules_that_no_call_needs(tmp_path: Path) -> None:
    """A start that loaded these modules (TLS, mail, parsers, feeds, pages, workers) would take three times as long."""
    late = (
        "ssl",
        "email",
        "http.client",
        "zipfile",
        "uuid",
        "finapi.edgar.xbrl",
        "finapi.market.documents.submission_documents",
        "finapi.market.financials.",
        "finapi.market.insiders",
        "finapi.market.demo",
        "finapi.testing",
        "finapi.market.holdings.value_doubts",
        "finapi.market.prices",
        "finapi.accounts.archive",
        "finapi.feeds.feed_loop",
        "finapi.delivery.dispatcher",
        "finapi.ops.watchdog",
        "finapi.ops.proof",
        "finapi.ops.backups",
        "finapi.web.service",
        "finapi.web.pages",
        "finapi.web.html",
        "finapi.delivery.sniper",
        "finapi.delivery.webhooks",
        "finapi.ops.status",
        "finapi.ops.probes",
        "finapi.market.reference",
        "tempfile",
        "shutil",
        "random",
        "secrets",
        "gzip",
        "bz2",
        "csv",
        "difflib",
        "html",
        "wsgiref",
        "tomllib",
        "importlib.metadata",
        "importlib.resources",
        "encodings.idna",
        "concurrent",
    )
    code = (
        "import sys; from pathlib import Path; from socket import create_connection\n"
        "from finapi import cli, server; from finapi.core.config import Config\n"
        "cli._build_parser(['serve']).parse_args(['serve', '--port', '0'])\n"
        "server.FIRST_STEP_DELAY_SECONDS = 1e6\n"
        f"config = Config(port=0, data_dir=Path({str(tmp_path / 'data')!r}))\n"
        "with server.run_server(config, lambda *told: 0) as one, create_connection((b'127.0.0.1', one.port)) as to:\n"
        "    to.sendall(b'GET /api/v1/policy HTTP/1.0\\r\\n\\r\\n')\n"
        f"    print(to.recv(12), [name for name in sys.modules if name.startswith({late!r})])"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout == "b'HTTP/1.0 200' []\n"


def test_every_lazy_reference_of_the_table_resolves() -> None:
    for route in ROUTES:
        for reference in route.references:
            assert reference.load() is not None
        assert callable(route.handler)


def test_every_handler_takes_a_call_and_returns_a_response() -> None:
    for route in ROUTES:
        hints = route.handler.__annotations__
        assert (hints["call"], hints["return"]) == ("Call", "Response"), route.name


def test_a_wrong_lazy_reference_names_what_is_missing() -> None:
    with pytest.raises(AttributeError, match="no_such_day"):
        LazyModule("finapi.core.days")("no_such_day").load()
    with pytest.raises(ModuleNotFoundError, match="no_such_module"):
        LazyModule("finapi.core.no_such_module")("x").load()


def test_a_route_with_an_unknown_limit_zone_is_refused() -> None:
    with pytest.raises(ValueError, match="GET /x: 'xbrI' is not a limit zone; use one of app, financials, xbrl"):
        Route("GET", "/x", answer, auth="none", zone="xbrI", summary="x")


def test_every_limit_zone_has_a_limiter() -> None:
    assert {*ZONES} <= {*build_limiters(Config())}
