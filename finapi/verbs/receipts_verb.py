"""The verb receipts: check receipts of ``POST /api/v1/claims`` without a server."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import IO, NamedTuple

from finapi.core import config as settings
from finapi.core.config import Config
from finapi.core.counts import format_count
from finapi.core.errors import UsageError
from finapi.core.receipts import ChainCheck, ReceiptError, parse_receipt
from finapi.store.datadir import Say
from finapi.verbs.verb import Perform, Verb, arg, escape_unprintable, print_document

MAX_LINE_BYTES = 4 * 1024 * 1024
DAMAGED_STATUS = 1


class _CheckedLine(NamedTuple):
    """The result for a line: an intact receipt and its link, or the reason why it is not intact."""

    file: str
    line: int
    account: str | None
    number: int | None
    issued_at: str | None
    claims: int | None
    is_intact: bool
    message: str

    def describe(self) -> str:
        """Return the line of output."""
        place = f"{self.file}:{self.line}"
        if self.number is None:
            return f"{place}: not intact: {self.message}"
        state = "intact" if self.is_intact else "not intact"
        receipt = f"number {self.number} of account {self.account}, {self.issued_at}"
        return f"{place}: {receipt}, {format_count(self.claims or 0, 'claim')}: {state}: {self.message}"


def _run_verify(args: argparse.Namespace, config: Config, origins: settings.Origins, say: Say, perform: Perform) -> int:
    check = ChainCheck()
    lines = []
    is_intact = True
    for file in args.files:
        line_count = 0
        for number, line in _iter_lines(file):
            line_count += 1
            checked = _check_line(check, file, number, line)
            is_intact = is_intact and checked.is_intact
            if args.json:
                lines.append(checked._asdict())
            else:
                say("out", escape_unprintable(checked.describe()))
        if line_count == 0:
            raise UsageError(f"{file}: has no receipts")
    if args.json:
        print_document(say, {"receipts": lines, "is_intact": is_intact})
    return 0 if is_intact else DAMAGED_STATUS


def _iter_lines(name: str) -> Iterator[tuple[int, bytes]]:
    """Yield the lines of a file, or of standard input for ``-``, with their numbers. Raise UsageError if it fails."""
    try:
        with ExitStack() as stack:
            file: IO[bytes] = sys.stdin.buffer if name == "-" else stack.enter_context(Path(name).open("rb"))
            number = 0
            while line := file.readline(MAX_LINE_BYTES + 1):
                number += 1
                if len(line) > MAX_LINE_BYTES:
                    raise UsageError(f"{name}: line {number} has more than {MAX_LINE_BYTES:,} bytes")
                yield number, line.removesuffix(b"\n")
    except OSError as error:
        raise UsageError(f"{name}: {error.strerror}") from None


def _check_line(check: ChainCheck, file: str, number: int, line: bytes) -> _CheckedLine:
    try:
        receipt = parse_receipt(line)
    except ReceiptError as error:
        return _CheckedLine(file, number, None, None, None, None, is_intact=False, message=str(error))
    try:
        message = check.add(receipt)
        is_intact = True
    except ReceiptError as error:
        message = str(error)
        is_intact = False
    return _CheckedLine(
        file=file,
        line=number,
        account=receipt.account,
        number=receipt.number,
        issued_at=receipt.issued_at,
        claims=receipt.claim_count,
        is_intact=is_intact,
        message=message,
    )


RECEIPTS = Verb(
    "check receipts of claims, without a server",
    run=_run_verify,
    actions={
        "verify": (
            "check the hash of each receipt, and that none is missing, repeated or out of order",
            (
                arg(
                    "files",
                    nargs="+",
                    metavar="FILE",
                    help="receipts, one on each line, in the order in which they were issued; - is standard input",
                ),
            ),
        ),
    },
    note=f"Exit status: 0 all receipts are intact, {DAMAGED_STATUS} one is not, 2 a file cannot be read. The check "
    "does not show who issued the receipts: only the server can check their signatures.",
    storeless=True,
)
