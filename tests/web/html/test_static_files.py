"""Static files: caching, types, and links to them."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest

from finapi.app import App
from finapi.web.html import static_files
from tests.client import Client
from tests.support.case_tables import run_each_case

MakeApp = Callable[..., App]


@pytest.fixture
def public(make_app: MakeApp) -> Client:
    return Client(make_app(pages="public"))


@pytest.mark.parametrize("name", ["style.css", "search.js", "favicon.svg"])
def test_a_static_file_with_a_fingerprint_is_immutable(public: Client, name: str) -> None:
    answer = public.get(static_files.get_static_url(name))
    assert (answer.status, answer.headers["cache-control"]) == (200, "public, max-age=31536000, immutable")
    assert answer.headers["content-type"] == static_files.CONTENT_TYPES[name.rpartition(".")[2]]
    assert public.get(f"/static/{name}").headers["cache-control"] == "public, max-age=3600"
    again = public.get(f"/static/{name}", headers={"If-None-Match": answer.headers["etag"]})
    assert (again.status, again.body) == (304, b"")


def test_the_icon_is_served_as_favicon_ico(public: Client) -> None:
    answer = public.get("/favicon.ico")
    assert (answer.status, answer.headers["content-type"]) == (200, "image/svg+xml")
    assert answer.body == public.get(static_files.get_static_url("favicon.svg")).body


@run_each_case("name", ["..%2Ftags.py", "tags.py", "", ".", "style.css%00"])
def test_other_files_are_not_served_as_static_files(public: Client, name: str) -> None:
    assert public.get(f"/static/{name}").status in (400, 404)


def test_scripts_are_small() -> None:
    scripts = [file for name, file in static_files.load_static_files().items() if name.endswith(".js")]
    assert sum(len(file.body) for file in scripts) <= 20 * 1024


def test_scripts_store_nothing_and_insert_no_html() -> None:
    scripts = {
        name: file.body.decode() for name, file in static_files.load_static_files().items() if name.endswith(".js")
    }
    forbidden = (
        *("localStorage", "sessionStorage", "indexedDB", "document.cookie", "caches."),
        *("innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "Function("),
        *("postMessage", "onmessage", '"message"', "paste", "password", "__proto__", "prototype"),
    )
    assert "copy.js" in scripts
    assert {(name, word) for name, text in scripts.items() for word in forbidden if word in text} == set()


def test_pages_link_static_files_by_fingerprint(public: Client) -> None:
    urls = re.findall(r'(?:href|src)="(/static/[^"]+)"', public.get("/").body.decode())
    assert urls == [
        static_files.get_static_url(name) for name in ("style.css", "favicon.svg", "search.js", "copy.js", "live.js")
    ]
