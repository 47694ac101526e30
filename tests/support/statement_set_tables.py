"""Small data sets for tests, written as the SEC writes them."""

from __future__ import annotations

import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path

ADSH = "0000950123-09-029919"

SUB = {
    "adsh": ADSH,
    "cik": "886982",
    "name": "GOLDMAN SACHS GROUP INC",
    "sic": "6211",
    "countryba": "US",
    "stprinc": "DE",
    "fye": "1231",
    "form": "10-Q",
    "period": "20090630",
    "fy": "2009",
    "fp": "Q2",
    "filed": "20090805",
    "accepted": "2009-08-05 16:21:00.0",
    "instance": "gs-20090626.xml",
}
NUM = {
    "adsh": ADSH,
    "tag": "Assets",
    "version": "us-gaap/2009",
    "ddate": "20090630",
    "qtrs": "0",
    "uom": "USD",
    "segments": "",
    "coreg": "",
    "value": "889544000000.0000",
    "footnote": "",
}
PRE = {
    "adsh": ADSH,
    "report": "2",
    "line": "1",
    "stmt": "BS",
    "inpth": "0",
    "rfile": "X",
    "tag": "Assets",
    "version": "us-gaap/2009",
    "plabel": "Total assets",
    "negating": "0",
}
TAG = {
    "tag": "Assets",
    "version": "us-gaap/2009",
    "custom": "0",
    "abstract": "0",
    "datatype": "monetary",
    "iord": "I",
    "crdr": "D",
    "tlabel": "Assets",
    "doc": "",
}

# A quarter of one filing: a balance sheet, an income statement and cash flows.
NUMBERS = (
    NUM,
    NUM | {"ddate": "20081231", "value": "884547000000.0000"},
    NUM | {"tag": "LiabilitiesAndStockholdersEquity"},
    NUM | {"tag": "LiabilitiesAndStockholdersEquity", "ddate": "20081231", "value": "884547000000.0000"},
    NUM | {"tag": "Revenues", "qtrs": "1", "value": "13761000000.0000"},
    NUM | {"tag": "Revenues", "qtrs": "2", "value": "23186000000.0000"},
    NUM | {"tag": "Revenues", "qtrs": "1", "value": "1.0000", "segments": "BusinessSegments=Trading;"},
    NUM | {"tag": "EarningsPerShareDiluted", "qtrs": "1", "value": "4.9300"},
    NUM | {"tag": "EarningsPerShareDiluted", "qtrs": "2", "value": "8.4200"},
    NUM | {"tag": "PaymentsToAcquirePropertyPlantAndEquipment", "qtrs": "2", "value": "853000000.0000"},
    NUM | {"tag": "Cash", "ddate": "20081231", "value": "15740000000.0000"},
    NUM | {"tag": "Cash", "value": "22177000000.0000"},
    NUM | {"tag": "OwnThing", "version": ADSH, "qtrs": "2", "value": ""},
)
LINES = (
    PRE,
    PRE | {"line": "2", "tag": "LiabilitiesAndStockholdersEquity", "plabel": "Total liabilities and equity"},
    PRE | {"report": "4", "stmt": "IS", "tag": "Revenues", "plabel": "Total net revenues"},
    PRE | {"report": "4", "line": "2", "stmt": "IS", "tag": "EarningsPerShareDiluted", "plabel": "Diluted"},
    PRE
    | {
        "report": "6",
        "stmt": "CF",
        "tag": "PaymentsToAcquirePropertyPlantAndEquipment",
        "plabel": "Purchase of property",
        "negating": "1",
    },
    PRE | {"report": "6", "line": "2", "stmt": "CF", "tag": "OwnThing", "version": ADSH, "plabel": "Own"},
    PRE | {"report": "6", "line": "3", "stmt": "CF", "tag": "Cash", "plabel": "Cash, beginning of year"},
    PRE | {"report": "6", "line": "4", "stmt": "CF", "tag": "Cash", "plabel": "Cash, end of period"},
)
TAGS = (
    TAG,
    TAG | {"tag": "EarningsPerShareDiluted", "datatype": "perShare", "crdr": ""},
    TAG | {"tag": "PaymentsToAcquirePropertyPlantAndEquipment", "crdr": "C"},
)

Rows = Sequence[Mapping[str, str]]


def table(rows: Rows, columns: Sequence[str] = ()) -> bytes:
    """The rows under their header, in the order of ``columns`` when given."""
    names = list(columns or rows[0])
    lines = ["\t".join(names), *("\t".join(row[name] for name in names) for row in rows)]
    return ("\n".join(lines) + "\n").encode()


def tables(sub: Rows = (SUB,), num: Rows = NUMBERS, pre: Rows = LINES, tag: Rows = TAGS) -> dict[str, bytes]:
    """Return the four files of a quarter by their names."""
    return {"sub.txt": table(sub), "num.txt": table(num), "pre.txt": table(pre), "tag.txt": table(tag)}


def write_folder(directory: Path, files: Mapping[str, bytes]) -> Path:
    """Create a folder with the files; return its path."""
    directory.mkdir()
    for name, data in files.items():
        (directory / name).write_bytes(data)
    return directory


def write_zip(file: Path, files: Mapping[str, bytes]) -> Path:
    """Write a ZIP archive of the files; return its path."""
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in files.items():
            archive.writestr(name, data)
    return file
