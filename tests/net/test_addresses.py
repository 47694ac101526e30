"""Tests of the addresses that may be connected to. A wrong verdict would open a private network to callers."""

from __future__ import annotations

from ipaddress import ip_address

import pytest

from finapi.net import addresses
from finapi.net.outbound import ReachPolicy, TargetRefusedError, parse_target
from tests.support.case_tables import run_each_case

# Addresses as a resolver gives them, and why they are refused; None: they may be connected to.
VERDICTS = {
    "8.8.8.8": None,
    "1.1.1.1": None,
    "9.255.255.255": None,
    "11.0.0.0": None,
    "100.63.255.255": None,
    "100.128.0.0": None,
    "126.255.255.255": None,
    "128.0.0.0": None,
    "169.253.255.255": None,
    "169.255.0.0": None,
    "172.15.255.255": None,
    "172.32.0.0": None,
    "192.167.255.255": None,
    "192.169.0.0": None,
    "198.17.255.255": None,
    "198.20.0.0": None,
    "223.255.255.255": None,
    "168.63.129.15": None,
    "0.0.0.0": "unspecified",
    "0.1.2.3": "this network",
    "10.0.0.1": "private",
    "10.255.255.255": "private",
    "100.64.0.1": "shared by a carrier (CGNAT)",
    "100.127.255.255": "shared by a carrier (CGNAT)",
    "100.100.100.200": "metadata",
    "127.0.0.1": "loopback",
    "127.255.255.254": "loopback",
    "168.63.129.16": "metadata",
    "169.254.169.254": "metadata",
    "169.254.170.2": "metadata",
    "169.254.1.1": "link-local",
    "172.16.0.1": "private",
    "172.31.255.255": "private",
    "192.0.0.8": "of the IETF",
    "192.0.0.192": "metadata",
    "192.0.2.1": "documentation",
    "192.88.99.1": "6to4 relay",
    "192.168.0.1": "private",
    "198.18.0.1": "benchmarking",
    "198.19.255.255": "benchmarking",
    "198.51.100.7": "documentation",
    "203.0.113.7": "documentation",
    "224.0.0.1": "multicast",
    "239.255.255.255": "multicast",
    "240.0.0.1": "reserved",
    "255.255.255.255": "broadcast",
    "2606:4700:4700::1111": None,
    "2a00:1450:4001:81b::200e": None,
    "2003::1": None,
    "3ffe::1": None,
    "::": "unspecified",
    "::1": "loopback",
    "0:0:0:0:0:0:0:1": "loopback",
    "::ffff:127.0.0.1": "IPv4-mapped",
    "::ffff:8.8.8.8": "IPv4-mapped",
    "::ffff:7f00:1": "IPv4-mapped",
    "::ffff:0:127.0.0.1": "IPv4-translated",
    "::127.0.0.1": "IPv4-compatible",
    "::8.8.8.8": "IPv4-compatible",
    "64:ff9b::10.0.0.1": "NAT64",
    "64:ff9b::8.8.8.8": "NAT64",
    "64:ff9b:1::10.0.0.1": "NAT64",
    "64:ff9b:2::1": "not in use",
    "100::1": "discard",
    "2001::1": "Teredo",
    "2001:0:4136:e378:8000:63bf:3fff:fdd2": "Teredo",
    "2001:1::1": "of the IETF",
    "2001:db8::1": "documentation",
    "2002:7f00:1::1": "6to4",
    "2002:808:808::1": "6to4",
    "2620:0:1::5efe:10.0.0.1": "ISATAP",
    "2620:0:1::200:5efe:10.0.0.1": "ISATAP",
    "3fff::1": "documentation",
    "4000::1": "not in use",
    "5f00::1": "not in use",
    "fc00::1": "private",
    "fd12:3456:789a::1": "private",
    "fd00:ec2::254": "metadata",
    "fd20:ce::254": "metadata",
    "fe80::1": "link-local",
    "fec0::1": "site-local",
    "ff02::1": "multicast",
}


@run_each_case("text, why", VERDICTS.items())
def test_verdict_of_an_address(text: str, why: str | None) -> None:
    assert addresses.find_refusal_reason(ip_address(text)) == why


# URLs, and why nothing may be sent there; None: nothing is wrong with it as far as it can be read.
URLS = {
    "https://example.com": None,
    "https://example.com:8443/hook?a=b#part": None,
    "https://EXAMPLE.com./hook": None,
    "https://xn--bcher-kva.example/": None,
    "https://_dmarc.example.com/": None,
    "https://8.8.8.8/": None,
    "https://[2606:4700:4700::1111]:443/": None,
    "https://127.0.0.1/": "the address may not be used: loopback",
    "https://127.0.0.1./": "the address may not be used: loopback",
    "https://[::1]/": "the address may not be used: loopback",
    "https://[::ffff:169.254.169.254]/": "the address may not be used: IPv4-mapped",
    "https://169.254.169.254/latest/meta-data": "the address may not be used: metadata",
    "http://8.8.8.8/": "the address may not be used: https is required",
    "http://example.com/": "the URL must be https",
    "https://2130706433/": "the URL's host is an address in an unusual notation",
    "https://0x7f000001/": "the URL's host is an address in an unusual notation",
    "https://0x7F.0.0.1/": "the URL's host is an address in an unusual notation",
    "https://0177.0.0.1/": "the URL's host is an address in an unusual notation",
    "https://127.1/": "the URL's host is an address in an unusual notation",
    "https://127.0.1/": "the URL's host is an address in an unusual notation",
    "https://017700000001/": "the URL's host is an address in an unusual notation",
    "https://127.0.0.0x1/": "the URL's host is an address in an unusual notation",
    "https://127.0.0.01/": "the URL's host is an address in an unusual notation",
    "https://256.256.256.256/": "the URL's host is an address in an unusual notation",
    "https://example.0x/": "the URL's host is an address in an unusual notation",
    "https://1.2.3.4.5/": "the URL's host is an address in an unusual notation",
    "https://[fe80::1%25eth0]/": "the URL's host must be an IPv6 address without a zone",
    "https://[fe80::1%eth0]/": "the URL's host must be an IPv6 address without a zone",
    "https://[::1%251]/": "the URL's host must be an IPv6 address without a zone",
    "https://[v1.fe]/": "the URL's host must be an IPv6 address without a zone",
    "https://[127.0.0.1]/": "the URL cannot be read|the URL's host must be an IPv6 address without a zone",
    "https://[::1/": "the URL cannot be read",
    "https://①②⑦.⓪.⓪.①/": "the URL is longer than 2000 characters or contains invalid characters",
    "https://127。0。0。1/": "the URL is longer than 2000 characters or contains invalid characters",
    "https://аpple.com/": "the URL is longer than 2000 characters or contains invalid characters",
    "https://loc\u00adalhost/": "the URL is longer than 2000 characters or contains invalid characters",
    "https://%31%32%37.0.0.1/": "the URL's host is not a host name",
    "https://127.0.0.1%2f@example.com/": "the URL contains a user name",
    "https://user@example.com/": "the URL contains a user name",
    "https://user:pass@example.com/": "the URL contains a user name",
    "https://@example.com/": "the URL contains a user name",
    "https://example.com\\@127.0.0.1/": "the URL is longer than 2000 characters or contains invalid characters",
    "https:\\\\127.0.0.1": "the URL is longer than 2000 characters or contains invalid characters",
    "https://example.com /": "the URL is longer than 2000 characters or contains invalid characters",
    "https://exam\tple.com/": "the URL is longer than 2000 characters or contains invalid characters",
    "https://example.com\r\nX-Evil: 1/": "the URL is longer than 2000 characters or contains invalid characters",
    "https://example.com/" + "a" * 2000: "the URL is longer than 2000 characters or contains invalid characters",
    "https:///hook": "the URL's host is not a host name",
    "https://a..b/": "the URL's host is not a host name",
    "https://-a.example/": "the URL's host is not a host name",
    "https://" + "a." * 127 + "example/": "the URL's host is not a host name",
    "https://example.com:0/": "the URL has no usable port",
    "https://example.com:/": "the URL has no usable port",
    "https://example.com:99999/": "the URL cannot be read",
    "https://example.com:8_0/": "the URL cannot be read",
    "ftp://example.com/": "the URL is neither http nor https",
    "file:///etc/passwd": "the URL is neither http nor https",
    "gopher://example.com:70/": "the URL is neither http nor https",
    "//example.com/": "the URL is neither http nor https",
    "": "the URL is longer than 2000 characters or contains invalid characters",
}


@run_each_case("url, why", URLS.items())
def test_verdict_of_a_url(url: str, why: str | None) -> None:
    if why is None:
        ReachPolicy().check(url)
        return
    with pytest.raises(TargetRefusedError) as caught:
        ReachPolicy().check(url)
    assert caught.value.reason in why.split("|")


def test_an_opened_range_opens_itself_and_nothing_else() -> None:
    opened = ReachPolicy(addresses.parse_networks(["127.0.0.0/8", "fd00::/8"]))
    opened.check("http://127.0.0.1:9/")
    opened.check("https://127.9.9.9/")
    opened.check("http://[fd00::1]/")
    for url in ("https://10.0.0.1/", "https://[::1]/", "https://[::ffff:127.0.0.1]/", "http://8.8.8.8/"):
        with pytest.raises(TargetRefusedError):
            opened.check(url)


def test_what_the_operator_configured_may_be_anywhere() -> None:
    ReachPolicy(allows_any_address=True).check("http://127.0.0.1:9/")
    with pytest.raises(TargetRefusedError, match="user name"):
        ReachPolicy(allows_any_address=True).check("http://u@127.0.0.1:9/")


def test_the_parts_of_a_url() -> None:
    target = parse_target("https://Example.COM:8443/a/b?c=d#e")
    assert (target.scheme, target.host, target.port, target.path) == ("https", "example.com", 8443, "/a/b?c=d")
    assert target.authority == "example.com:8443"
    assert parse_target("http://[2606:4700::1]/").authority == "[2606:4700::1]"
    assert parse_target("https://example.com:443?q").path == "/?q"
    assert parse_target("https://example.com:443?q").authority == "example.com"
