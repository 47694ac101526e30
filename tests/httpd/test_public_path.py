"""The path of the public URL: how the server removes it from the targets of requests."""

from __future__ import annotations

import pytest
from waitress.adjustments import Adjustments

from finapi.httpd.request_parser import RequestParser


@pytest.mark.parametrize(
    ("target", "path", "request_uri"),
    [
        ("/finapi/api/v1/status?a=/finapi/b", "/api/v1/status", "/api/v1/status?a=/finapi/b"),
        ("/finapi/a%2Fb", "/a/b", "/a%2Fb"),
        ("/finapi/", "/", "/"),
        ("/finapi", "/", "/"),
        ("/finapi?a=b", "/", "/?a=b"),
        ("http://example.com/finapi/docs?a", "/docs", "/docs?a"),
        ("/finapi/finapi/docs", "/finapi/docs", "/finapi/docs"),
        ("/docs?a", "/docs", "/docs?a"),
        ("/finapis/docs", "/finapis/docs", "/finapis/docs"),
        ("/docs/finapi/a", "/docs/finapi/a", "/docs/finapi/a"),
        ("//finapi/docs", "//finapi/docs", "//finapi/docs"),
    ],
)
def test_public_path_is_removed_from_targets(target: str, path: str, request_uri: str) -> None:
    parser = RequestParser(Adjustments(listen=""), "/finapi")
    parser.received(f"GET {target} HTTP/1.1\r\nHost: example.com\r\n\r\n".encode())
    assert (parser.error, parser.path, parser.request_uri) == (None, path, request_uri)


def test_targets_are_unchanged_without_a_public_path() -> None:
    parser = RequestParser(Adjustments(listen=""))
    parser.received(b"GET /finapi/docs HTTP/1.1\r\nHost: example.com\r\n\r\n")
    assert (parser.error, parser.path, parser.request_uri) == (None, "/finapi/docs", "/finapi/docs")
