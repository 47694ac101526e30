"""The addresses that a customer's URL may not lead to. The table is checked at every connection.

finapi has its own table because ``ipaddress.is_global`` differs between versions of Python and treats an IPv4 address
inside an IPv6 address as public. Sources: IANA's special-purpose registries (RFC 6890 and its updates), RFC 4291, 6052,
4380, 3056, 5214.
"""

from __future__ import annotations

from collections.abc import Sequence
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network

Address = IPv4Address | IPv6Address
Network = IPv4Network | IPv6Network

# Networks and the reason for refusing them. The first network that contains an address decides.
_REFUSED_4: tuple[tuple[str, str], ...] = (
    ("0.0.0.0/32", "unspecified"),
    ("0.0.0.0/8", "this network"),
    ("10.0.0.0/8", "private"),
    ("100.100.100.200/32", "metadata"),  # Alibaba Cloud
    ("100.64.0.0/10", "shared by a carrier (CGNAT)"),
    ("127.0.0.0/8", "loopback"),
    ("168.63.129.16/32", "metadata"),  # Azure's host, at a public address
    ("169.254.169.254/32", "metadata"),
    ("169.254.170.2/32", "metadata"),  # Amazon ECS
    ("169.254.0.0/16", "link-local"),
    ("172.16.0.0/12", "private"),
    ("192.0.0.192/32", "metadata"),  # Oracle Cloud
    ("192.0.0.0/24", "of the IETF"),
    ("192.0.2.0/24", "documentation"),
    ("192.88.99.0/24", "6to4 relay"),
    ("192.168.0.0/16", "private"),
    ("198.18.0.0/15", "benchmarking"),
    ("198.51.100.0/24", "documentation"),
    ("203.0.113.0/24", "documentation"),
    ("224.0.0.0/4", "multicast"),
    ("255.255.255.255/32", "broadcast"),
    ("240.0.0.0/4", "reserved"),
)
_REFUSED_6: tuple[tuple[str, str], ...] = (
    ("::/128", "unspecified"),
    ("::1/128", "loopback"),
    ("::ffff:0:0/96", "IPv4-mapped"),
    ("::ffff:0:0:0/96", "IPv4-translated"),
    ("::/96", "IPv4-compatible"),
    ("64:ff9b::/96", "NAT64"),
    ("64:ff9b:1::/48", "NAT64"),
    ("100::/64", "discard"),
    ("2001::/32", "Teredo"),
    ("2001:db8::/32", "documentation"),
    ("2001::/23", "of the IETF"),
    ("2002::/16", "6to4"),
    ("3fff::/20", "documentation"),
    ("fd00:ec2::254/128", "metadata"),  # Amazon EC2
    ("fd20:ce::254/128", "metadata"),  # Google Cloud
    ("fc00::/7", "private"),
    ("fe80::/10", "link-local"),
    ("fec0::/10", "site-local"),
    ("ff00::/8", "multicast"),
)

_TABLES: dict[int, tuple[tuple[Network, str], ...]] = {
    4: tuple((ip_network(text), reason) for text, reason in _REFUSED_4),
    6: tuple((ip_network(text), reason) for text, reason in _REFUSED_6),
}

# The part of IPv6 that has been allocated for the internet.
_GLOBAL_6 = ip_network("2000::/3")

# The upper 32 bits of an ISATAP interface identifier (RFC 5214, 6.1). The lower ones are an IPv4 address.
_ISATAP = (0x0000_5EFE, 0x0200_5EFE)


def parse_address(text: str) -> Address | None:
    """Parse an IP address in the usual notation. Return None for any other text, and for an address with a zone id."""
    try:
        return None if "%" in text else ip_address(text)
    except ValueError:
        return None


def parse_networks(texts: Sequence[str]) -> tuple[Network, ...]:
    """Parse networks in CIDR notation. Raise ValueError for any other text."""
    return tuple(ip_network(text) for text in texts)


def find_refusal_reason(address: Address, allowed: Sequence[Network] = ()) -> str | None:
    """Return the reason why an address may not be connected to, in a word or two, or None if it may.

    ``allowed`` are networks that the operator opened. They do not apply to an IPv4 address inside an IPv6 address.
    """
    if any(address in network for network in allowed if network.version == address.version):
        return None
    for network, reason in _TABLES[address.version]:
        if address in network:
            return reason
    if isinstance(address, IPv6Address):
        if address not in _GLOBAL_6:
            return "not in use"
        if int(address) >> 32 & 0xFFFF_FFFF in _ISATAP:
            return "ISATAP"
    return None
