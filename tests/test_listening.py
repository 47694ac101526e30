"""Tests of the settings of the listening server."""

from __future__ import annotations

import os

from finapi.listening import choose_core


def test_servers_with_neighbouring_ports_take_different_cores() -> None:
    for cores in ({0, 1}, {2, 5, 7, 9}):
        candidates = cores if len(cores) == 2 else cores - {min(cores)}
        chosen = {choose_core(cores, "host", 8000 + number) for number in range(len(candidates))}
        assert chosen == candidates
    assert choose_core({3}, "host", 8000) == 3


def test_containers_with_one_port_spread_by_their_host_names() -> None:
    assert {choose_core({0, 1}, f"container-{number}", 8000) for number in range(8)} == {0, 1}


def test_a_port_that_the_system_chooses_counts_by_process() -> None:
    assert choose_core({0, 1}, "host", 0) == choose_core({0, 1}, "host", os.getpid())
