"""Attacks on a running server: what a stranger, or an account, can take from everybody else.

    python -m tests.attack [NAME ...] [--list]

A server is started as a process of its own on loopback; every attack runs against it, or those that are named, one
after the other. Each prints one line: its figure, the bound that the figure must keep, and the resident memory of the
server before and after. The exit status is 1 when a bound is broken, or when the memory after all of them is more than
20 MB above what it was before.

An attack is a module with a function ``attack(target)`` that returns an :class:`~tests.attack.target.Outcome`, and a
line in the table of ``__main__``. It leaves nothing behind: its connections are closed when it returns. It may come
from many addresses: all of 127.0.0.0/8 is this machine.
"""
