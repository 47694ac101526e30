"""Parsing of requests and building of responses, without a server."""

from __future__ import annotations

import gzip as stdlib_gzip
import zlib
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from finapi.core.errors import ApiError
from finapi.core.json import dumps
from finapi.web.http import messages
from finapi.web.http.messages import (
    MAX_QUERY_FIELDS,
    Request,
    build_etag,
    client_address,
    compress_prefix,
    find_caller_request_id,
    find_matching_etag,
    parse_environ,
)
from tests.support.case_tables import run_each_case


def request(target: str = "/", query: str | None = None, **environ: Any) -> Request:
    """Return the request for a raw target; ``query`` overrides the query string of the environ."""
    parsed_request = parse_environ(
        {
            "REQUEST_METHOD": "GET",
            "REQUEST_URI": target,
            "QUERY_STRING": target.partition("?")[2] if query is None else query,
            "REMOTE_ADDR": "192.0.2.1",
            **environ,
        }
    )
    if parsed_request.target_error is not None:
        raise parsed_request.target_error
    return parsed_request


# ---- the target


@run_each_case(
    "target, path, segments",
    [
        ("/", "/", ("",)),
        ("/a/b", "/a/b", ("a", "b")),
        ("/a/b/", "/a/b/", ("a", "b")),
        ("/a/b//", "/a/b//", ("a", "b", "")),
        ("//a", "//a", ("", "a")),
        ("/a%2Fb/c", "/a%2Fb/c", ("a/b", "c")),
        ("/a%20b+c", "/a%20b+c", ("a b+c",)),
        ("/%C3%A9", "/%C3%A9", ("é",)),
        ("/%00", "/%00", ("\0",)),
        ("/100%", "/100%", ("100%",)),
        ("/%zz", "/%zz", ("%zz",)),
        ("/a?b/c", "/a", ("a",)),
        ("http://example.com/a/b?c", "/a/b", ("a", "b")),
        ("HTTP://example.com:80/a", "/a", ("a",)),
        ("http://example.com", "/", ("",)),
        ("*", "/", ("",)),
    ],
)
def test_a_target_is_split_before_it_is_decoded(target: str, path: str, segments: tuple[str, ...]) -> None:
    read = request(target)
    assert (read.path, read.segments) == (path, segments)


def test_a_request_without_a_raw_target_is_parsed() -> None:
    read = parse_environ({"REQUEST_METHOD": "GET", "PATH_INFO": "/a b/\xc3\xa9", "QUERY_STRING": "x=1"})
    assert (read.path, read.segments) == ("/a%20b/%C3%A9", ("a b", "é"))
    assert read.query == {"x": ["1"]}


@run_each_case("target", ["/%FF", "/a/%C3", "/%ED%A0%80", "/%C0%AF", "/a%80b"])
def test_a_path_that_is_not_utf8_is_refused(target: str) -> None:
    with pytest.raises(ApiError, match=r"^The path is not UTF-8\.$") as raised:
        request(target)
    assert raised.value.code == "BAD_REQUEST"


@run_each_case(
    "query, values",
    [
        ("", {}),
        ("a=1", {"a": ["1"]}),
        ("a=1&b=2&a=3", {"a": ["1", "3"], "b": ["2"]}),
        ("a", {"a": [""]}),
        ("a=", {"a": [""]}),
        ("a==", {"a": ["="]}),
        ("=a", {"": ["a"]}),
        ("a=b+c%20d%2B", {"a": ["b c d+"]}),
        ("%61=%C3%A9", {"a": ["é"]}),
        ("a=%00", {"a": ["\0"]}),
        ("a=1;b=2", {"a": ["1;b=2"]}),
        ("&&a=1&&", {"a": ["1"]}),
        ("a=%", {"a": ["%"]}),
        ("a=?b", {"a": ["?b"]}),
    ],
)
def test_a_query_is_names_with_lists_of_values(query: str, values: dict[str, list[str]]) -> None:
    assert request(query=query).query == values


@run_each_case("query", ["a=%FF", "%FF=1", "a=%C3", "a=1&b=%ED%A0%80", "a=%c0%80"])
def test_a_query_that_is_not_utf8_is_refused(query: str) -> None:
    with pytest.raises(ApiError, match=r"^The query is not UTF-8\.$") as raised:
        request(query=query)
    assert raised.value.code == "BAD_REQUEST"


def test_a_query_has_a_bounded_number_of_fields() -> None:
    assert len(request(query="&".join(f"a{n}=1" for n in range(MAX_QUERY_FIELDS))).query) == 200
    for query in ("&".join(["a=1"] * 201), "a=1" + "&" * 200, "&" * 100_000):
        with pytest.raises(ApiError, match=r"^The query has more than 200 fields\.$") as raised:
            request(query=query)
        assert raised.value.code == "BAD_REQUEST"


@given(st.text(st.characters(min_codepoint=0x21, max_codepoint=0x7E)), st.text(st.characters(max_codepoint=0x7E)))
def test_any_target_is_parsed_or_refused(target: str, query: str) -> None:
    try:
        outcome = request(target, query).path[0]
    except ApiError as error:
        outcome = error.code
    assert outcome in ("/", "BAD_REQUEST")


# ---- headers of a request


def test_headers_are_named_in_lower_case() -> None:
    read = request(HTTP_X_API_KEY="k", HTTP_IF_NONE_MATCH='"t"', CONTENT_TYPE="application/json", CONTENT_LENGTH="2")
    assert read.headers == {
        "x-api-key": "k",
        "if-none-match": '"t"',
        "content-type": "application/json",
        "content-length": "2",
    }


def test_empty_content_headers_count_as_missing() -> None:
    assert request(CONTENT_TYPE="", CONTENT_LENGTH="").headers == {}


def test_the_deadline_is_that_of_the_server() -> None:
    assert parse_environ({"REQUEST_METHOD": "GET", "REQUEST_URI": "/", "finapi.deadline": 12.5}).deadline == 12.5
    assert request().deadline is None


@run_each_case(
    "request_id, repeated",
    [
        ("a", True),
        ("a" * 191, True),
        ("!~", True),
        ("0000-1111", True),
        ("", False),
        ("a" * 192, False),
        ("a b", False),
        ("a\tb", False),
        ("a\n", False),
        ("\x7f", False),
        ("é", False),
        ("\0", False),
    ],
)
def test_a_callers_request_id_is_repeated_if_it_is_visible_ascii(request_id: str, repeated: bool) -> None:
    assert find_caller_request_id(request(HTTP_X_REQUEST_ID=request_id)) == (request_id if repeated else None)


def test_a_request_without_an_id_has_none() -> None:
    assert find_caller_request_id(request()) is None


# ---- the address that a limit charges

PROXY, OTHER_PROXY, CLIENT = "10.0.0.1", "10.0.0.2", "203.0.113.9"
TRUSTED = ("10.0.0.0/8", "fd00::/8")


@run_each_case(
    "peer, forwarded, trusted, address",
    [
        # Without trusted proxies the peer is charged, and its forwarded addresses are ignored.
        (CLIENT, "", (), CLIENT),
        (CLIENT, "198.51.100.7", (), CLIENT),
        (PROXY, CLIENT, (), PROXY),
        # A peer that is not a trusted proxy cannot forward an address.
        (CLIENT, "198.51.100.7", TRUSTED, CLIENT),
        # A trusted proxy states the address of its peer; entries further left are ignored.
        (PROXY, CLIENT, TRUSTED, CLIENT),
        (PROXY, f" {CLIENT} ", TRUSTED, CLIENT),
        (PROXY, f"198.51.100.7, {CLIENT}", TRUSTED, CLIENT),
        (PROXY, f"10.9.9.9, 198.51.100.7,{CLIENT}", TRUSTED, CLIENT),
        (PROXY, f"{CLIENT}, {OTHER_PROXY}", TRUSTED, CLIENT),
        (PROXY, f"198.51.100.7, {CLIENT}, {OTHER_PROXY}, 10.0.0.3", TRUSTED, CLIENT),
        # All addresses are proxies: the furthest of them is charged.
        (PROXY, OTHER_PROXY, TRUSTED, OTHER_PROXY),
        (PROXY, "", TRUSTED, PROXY),
        # A text that is not an address ends the chain.
        (PROXY, "unknown", TRUSTED, PROXY),
        (PROXY, f"{CLIENT}, unknown", TRUSTED, PROXY),
        (PROXY, f"{CLIENT}, , {OTHER_PROXY}", TRUSTED, OTHER_PROXY),
        # Some proxies (Azure, IIS) add the port of the client, which changes with every connection.
        (PROXY, f"{CLIENT}:1234", TRUSTED, CLIENT),
        (PROXY, "[2001:db8:1:2::9]:1234", TRUSTED, "2001:db8:1:2::/64"),
        (PROXY, "[2001:db8:1:2::9]", TRUSTED, "2001:db8:1:2::/64"),
        (PROXY, f"{CLIENT}:1234, {OTHER_PROXY}:443", TRUSTED, CLIENT),
        (PROXY, f"{CLIENT}:", TRUSTED, PROXY),
        (PROXY, f"{CLIENT}:123456", TRUSTED, PROXY),
        (PROXY, "[unknown]:1234", TRUSTED, PROXY),
        (PROXY, "[]", TRUSTED, PROXY),
        (PROXY, "_hidden, for=1.2.3.4", TRUSTED, PROXY),
        # A single address is a network too.
        (PROXY, CLIENT, (PROXY,), CLIENT),
        (OTHER_PROXY, CLIENT, (PROXY,), OTHER_PROXY),
        # IPv6 is charged by its /64.
        ("2001:db8:1:2:3:4:5:6", "", (), "2001:db8:1:2::/64"),
        ("2001:db8:1:2:ffff::1", "", (), "2001:db8:1:2::/64"),
        ("2001:db8:1:3::1", "", (), "2001:db8:1:3::/64"),
        ("fd00::1", "2001:db8:1:2::9", TRUSTED, "2001:db8:1:2::/64"),
        ("fd00::1", CLIENT, TRUSTED, CLIENT),
        ("::1", "", (), "::/64"),
        ("fe80::1%eth0", "", (), "fe80::/64"),
        # An IPv6-mapped IPv4 address is that IPv4 address.
        ("::ffff:203.0.113.9", "", (), CLIENT),
        ("::FFFF:cb00:7109", "", (), CLIENT),
        ("::ffff:10.0.0.1", "::ffff:203.0.113.9", TRUSTED, CLIENT),
        # A Unix socket has no address.
        ("", "", (), ""),
        ("", CLIENT, TRUSTED, ""),
    ],
)
def test_a_limit_charges_the_nearest_untrusted_address(
    peer: str, forwarded: str, trusted: tuple[str, ...], address: str
) -> None:
    assert client_address(peer, forwarded, trusted) == address


def test_a_caller_cannot_forge_its_address_in_the_header() -> None:
    spoofed = {
        client_address(PROXY, f"{claim}, {CLIENT}", TRUSTED)
        for claim in ("1.1.1.1", "10.0.0.1", "::1", "x" * 10_000, ",,,,", "127.0.0.1, 10.0.0.1")
    }
    assert spoofed == {CLIENT}


def test_long_forwarded_headers_do_not_fill_the_cache() -> None:
    messages._charged_address.cache_clear()
    long = ", ".join("x" * 1000 for _ in range(60))
    for number in range(50):
        assert client_address(CLIENT, f"{number}, {long}", ()) == CLIENT
        assert client_address(PROXY, f"{number}, {long}, {CLIENT}", TRUSTED) == CLIENT
        assert client_address(PROXY, f"{number}" + f", {OTHER_PROXY}" * 10_000, TRUSTED) == OTHER_PROXY
    assert messages._charged_address.cache_info().currsize == 3


def test_a_request_carries_the_address_that_is_charged() -> None:
    environ = {"REQUEST_METHOD": "GET", "REQUEST_URI": "/", "REMOTE_ADDR": PROXY, "HTTP_X_FORWARDED_FOR": CLIENT}
    assert parse_environ(environ, TRUSTED).address == CLIENT
    assert parse_environ(environ).address == PROXY


# ---- responses


@run_each_case(
    "accepts, wants",
    [
        ("gzip", True),
        ("GZIP", True),
        ("gzip, deflate, br", True),
        ("deflate, gzip;q=0.5", True),
        ("br;q=1.0, gzip;q=0.8, *;q=0.1", True),
        ("gzip ; q=1", True),
        ("*", True),
        ("*;q=0.1", True),
        ("", False),
        ("identity", False),
        ("deflate, br", False),
        ("gzip;q=0", False),
        ("gzip;q=0.0", False),
        ("gzip; q=0.000", False),
        ("gzip ; q = 0", False),
        ("*;q=0", False),
        ("xgzip", False),
        ("gzip2", False),
        ("identity;q=1, *;q=0", False),
        ("gzip;q=0, *", False),
    ],
)
def test_gzip_is_sent_to_callers_that_accept_it(accepts: str, wants: bool) -> None:
    assert request(HTTP_ACCEPT_ENCODING=accepts).wants_gzip is wants


@pytest.mark.parametrize(
    ("accepts", "wants"), [("*;q=0, gzip", True), ("*, gzip;q=0", False), ("*;q=0, gzip;q=0.5", True)]
)
def test_the_quality_of_gzip_precedes_that_of_other_codings(accepts: str, wants: bool) -> None:
    assert request(HTTP_ACCEPT_ENCODING=accepts).wants_gzip is wants


def test_a_caller_without_accept_encoding_gets_no_gzip() -> None:
    assert request().wants_gzip is False


def test_a_shared_body_is_compressed_once() -> None:
    body = b"x" * 5000
    assert messages.compress_prefix_cached(body) == compress_prefix(body)
    assert messages.compress_prefix_cached(body) is messages.compress_prefix_cached(body)
    assert messages.compress_prefix_cached.cache_info().maxsize == 8


def test_gzip_gives_the_same_bytes_for_the_same_bytes() -> None:
    body = b"finapi " * 1_000
    packed = compress_prefix(body).finish()
    assert packed == compress_prefix(body).finish()
    assert stdlib_gzip.decompress(packed) == body
    assert packed[:4] == b"\x1f\x8b\x08\x00"
    assert packed[4:8] == b"\0\0\0\0"  # Without a timestamp.
    assert len(packed) < 100


@run_each_case("size", [0, 1, 110, 65_535])
def test_a_compressed_prefix_accepts_a_different_end_per_call(size: int) -> None:
    prefix, end = b"finapi " * 1_000, b"e" * size
    packed = compress_prefix(prefix).finish(end)
    assert stdlib_gzip.decompress(packed) == prefix + end
    assert zlib.decompress(packed, wbits=31) == prefix + end
    assert len(packed) == len(compress_prefix(prefix).finish()) + size


@run_each_case(
    "header, tag",
    [
        ('"t"', '"t"'),
        ('W/"t"', '"t"'),
        ('"t-gzip"', '"t-gzip"'),
        ('W/"t-gzip"', '"t-gzip"'),
        ('"a", "t"', '"t"'),
        ('"a","t-gzip" , "b"', '"t-gzip"'),
        ("*", None),
        ("", None),
        ("t", None),
        ('"a"', None),
        ('"T"', None),
        ('"tt"', None),
        ('"t-br"', None),
        ('"t', None),
        ('"a, t"', None),
        ('"*"', None),
    ],
)
def test_if_none_match_names_the_tag_in_any_coding(header: str, tag: str | None) -> None:
    assert find_matching_etag(header, "t") == tag


def test_each_coding_has_its_own_strong_tag() -> None:
    assert build_etag("t", gzipped=False) == '"t"'
    assert build_etag("t", gzipped=True) == '"t-gzip"'
    for gzipped in (False, True):
        tag = build_etag("t", gzipped=gzipped)
        assert find_matching_etag(tag, "t") == tag


def test_json_is_compact_utf8_without_nan() -> None:
    assert dumps({"a": [1, None, True], "ñ": "€"}) == '{"a":[1,null,true],"ñ":"€"}'.encode()
    for number in (float("nan"), float("inf"), float("-inf")):
        with pytest.raises(ValueError, match="not JSON compliant"):
            dumps([number])


def test_json_is_gzipped_from_a_kibibyte_on() -> None:
    assert messages.MIN_GZIP_BYTES == 1024


@run_each_case(
    "value, text",
    [
        ("391035000000", b"391035000000"),
        ("391035000000.0", b"391035000000"),
        ("-0.5", b"-0.5"),
        ("11.91", b"11.91"),
        ("1E+3", b"1000"),
        ("12345678901234567890.123456789", b"12345678901234567890.123456789"),
        ("0.1000000000000000000000000001", b"0.1000000000000000000000000001"),
        ("1E+9999", b"1E+9999"),
    ],
)
def test_a_decimal_is_a_json_number_with_every_digit(value: str, text: bytes) -> None:
    assert dumps(Decimal(value)) == text
    assert dumps({"a": [Decimal(value), "x"]}) == b'{"a":[' + text + b',"x"]}'


@run_each_case("value", [Decimal("NaN"), Decimal("Infinity"), float("nan"), object()])
def test_values_that_json_cannot_represent_are_refused(value: object) -> None:
    with pytest.raises((TypeError, ValueError)):
        dumps(value)


@run_each_case(
    "accept, kind",
    [
        ("", None),
        ("text/csv", "text/csv"),
        ("Text/CSV; charset=utf-8", "text/csv"),
        ("application/json, text/csv", None),
        ("*/*", None),
        ("text/csv;q=0, application/x-ndjson", "application/x-ndjson"),
        ("text/html, text/csv", "text/csv"),
        ("text/csv;q=0.5, application/json", None),
        ("application/json;q=0.5, text/csv", "text/csv"),
        ("text/csv;q=0.2, application/x-ndjson;q=0.9, */*;q=0.1", "application/x-ndjson"),
        ("text/csv; header=present; Q=0.4, */*;q=0.5", None),
    ],
)
def test_a_table_is_returned_if_its_type_is_preferred(accept: str, kind: str | None) -> None:
    assert request(HTTP_ACCEPT=accept).find_preferred_type(("text/csv", "application/x-ndjson")) == kind


@run_each_case(
    "body, message",
    [
        (b'{"x":' + b"9" * 4301 + b"}", "The body cannot be read: a number has more than 4,300 digits."),
        (b'{"x":1e999}', "The body cannot be read: 1e999 is beyond the range of a double."),
        (b'{"x":NaN}', "The body cannot be read: NaN is not a JSON value."),
        (b'{"x":1,"x":1}', "The body cannot be read: a key occurs twice in one object."),
    ],
)
def test_refused_json_names_the_mistake(body: bytes, message: str) -> None:
    with pytest.raises(ApiError) as refusal:
        messages.parse_json_object(body, "application/json")
    assert (refusal.value.code, refusal.value.message) == ("BAD_REQUEST", message)


def test_longest_integer_of_a_body_is_read() -> None:
    digits = "9" * 4300
    assert messages.parse_json_object(f'{{"x":{digits}}}'.encode(), "application/json") == {"x": int(digits)}
