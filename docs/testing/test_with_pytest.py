"""A client under test, with pytest: pip install FINAPI_SERVER.whl pytest; pytest test_with_pytest.py."""

import urllib.error
import urllib.request

import pytest


def balance(url, key):
    """The client under test: it retries once a call that is refused for now."""
    request = urllib.request.Request(f"{url}/api/v1/account/balance", headers={"X-API-Key": key})
    for is_last_try in (False, True):
        try:
            with urllib.request.urlopen(request, timeout=10) as response:
                return response.read()
        except urllib.error.HTTPError as error:
            if is_last_try or error.code != 429:
                raise
    raise AssertionError("not reached")


def test_a_refused_call_is_retried(finapi):
    finapi.control.fault("GET /api/v1/account/*", status=429, times=1)
    assert b'"plan":"pro"' in balance(finapi.url, finapi.api_key)
    assert [call["status"] for call in finapi.control.requests()] == [429, 200]


def test_an_error_is_raised(finapi):
    finapi.control.fault("GET /api/v1/account/*", status=503)
    with pytest.raises(urllib.error.HTTPError, match="503"):
        balance(finapi.url, finapi.api_key)
