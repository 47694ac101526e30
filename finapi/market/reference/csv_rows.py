"""The rows of a CSV that somebody made: comma, semicolon or tab, whichever its first line has most of."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator

from finapi.core import stopping
from finapi.core.errors import ParseError

# Characters of a line. A cell costs twenty times a character or more, so that a line is not to be all cells.
MAX_LINE_CHARS = 20_000

# A line with its end, also the last one without.
_LINE = re.compile(r"[^\n]*\n|[^\n]+$")


def iter_rows(data: bytes, file: str, *, strict: bool = False) -> Iterator[tuple[int, list[str]]]:
    """Yield the number of its last line and the cells of every row that is not blank.

    Raises ParseError for what is not UTF-8, holds a NUL, has a line of more than :data:`LINE` characters, or with
    ``strict`` a quote in a place where none may stand.
    """
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise ParseError(file, f"byte {error.start}", "not UTF-8") from None
    if "\0" in text:
        raise ParseError(file, "", "contains a NUL character")
    first = text.partition("\n")[0]
    mark = max(",;\t", key=first.count)
    reader = csv.reader(_lines(text, file), delimiter=mark, strict=strict)
    try:
        for cells in reader:
            if any(cell.strip() for cell in cells):
                yield reader.line_num, cells
    except csv.Error as error:
        raise ParseError(file, f"line {reader.line_num}", f"not CSV: {error}") from None


def _lines(text: str, file: str) -> Iterator[str]:
    # Not io.StringIO, which takes four bytes for each of the file's.
    for number, found in enumerate(_LINE.finditer(text), 1):
        stopping.check()
        if found.end() - found.start() > MAX_LINE_CHARS:
            raise ParseError(file, f"line {number}", f"a line of more than {MAX_LINE_CHARS} characters")
        yield found[0]
