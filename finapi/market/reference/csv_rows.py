"""The rows of a CSV file written by an operator or a data vendor.

The separator is a comma, a semicolon or a tab: whichever is the most frequent in the first line.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator

from finapi.core import stopping
from finapi.core.errors import ParseError

# In memory, a cell takes at least twenty times the space of a character. Without this limit, a long line of empty cells
# would take too much memory. A table of pandas with the prices of 500 tickers has lines of 60,000 characters.
MAX_LINE_CHARS = 100_000

# Excel writes "Unicode text" in UTF-16 with one of these byte order marks.
_UTF_16_MARKS = (b"\xff\xfe", b"\xfe\xff")

# A line including its line break; the last line may have none.
_LINE_PATTERN = re.compile(r"[^\n]*\n|[^\n]+$")


def iter_rows(data: bytes, file: str, *, strict: bool = False) -> Iterator[tuple[int, list[str]]]:
    """Yield the line number and the cells of each row that is not blank.

    A quoted cell may contain line breaks; the line number is that of the row's last line. Raise ParseError if the file
    is neither UTF-8 nor UTF-16 with a byte order mark, contains a NUL character or a line of more than
    :data:`MAX_LINE_CHARS` characters, or, with ``strict``, a misplaced quote.
    """
    encoding = "utf-16" if data.startswith(_UTF_16_MARKS) else "utf-8-sig"
    try:
        text = data.decode(encoding)
    except UnicodeDecodeError as error:
        raise ParseError(file, f"byte {error.start}", f"not {encoding.removesuffix('-sig').upper()}") from None
    if "\0" in text:
        raise ParseError(file, "", "contains a NUL character")
    first_line = text.partition("\n")[0]
    separator = max(",;\t", key=first_line.count)
    reader = csv.reader(_iter_lines(text, file), delimiter=separator, strict=strict)
    try:
        for cells in reader:
            if any(cell.strip() for cell in cells):
                yield reader.line_num, cells
    except csv.Error as error:
        raise ParseError(file, f"line {reader.line_num}", f"not CSV: {error}") from None


def _iter_lines(text: str, file: str) -> Iterator[str]:
    # io.StringIO would need four bytes of memory for each character.
    for line_number, match in enumerate(_LINE_PATTERN.finditer(text), 1):
        stopping.check()
        if match.end() - match.start() > MAX_LINE_CHARS:
            raise ParseError(file, f"line {line_number}", f"a line of more than {MAX_LINE_CHARS} characters")
        yield match[0]
