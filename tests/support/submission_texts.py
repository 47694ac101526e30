"""Invented full submissions in the format of the SEC archive."""

from __future__ import annotations


def party(role: str, name: str, cik: str, *data_lines: str, data: str = "COMPANY DATA") -> str:
    """Return a party of a header with ``data_lines`` below its name and CIK."""
    lines = "".join(f"\n\t\t{line}" for line in data_lines)
    return f"{role}:\n\n\t{data}:\n\t\tCOMPANY CONFORMED NAME:\t\t\t{name}\n\t\tCENTRAL INDEX KEY:\t\t\t{cik}{lines}\n"


def values(form: str) -> str:
    """Return the part of a party's header that names the form."""
    return f"\n\tFILING VALUES:\n\t\tFORM TYPE:\t\t{form}\n"


def xml(form: str, file: str, content: bytes, sequence: int = 1) -> str:
    """Return an XML document of a submission."""
    return text(form, file, f"<XML>\n{content.decode()}\n</XML>", sequence)


def text(form: str, file: str, content: str, sequence: int = 1, header_lines: str = "") -> str:
    """Return a document of a submission."""
    head = f"<TYPE>{form}\n<SEQUENCE>{sequence}\n<FILENAME>{file}\n{header_lines}"
    return f"<DOCUMENT>\n{head}<TEXT>\n{content}\n</TEXT>\n</DOCUMENT>\n"


def full(
    accession: str, form: str, parties: str, *documents: str, filed: str = "20260131063000", period: str = ""
) -> bytes:
    """Return a full submission accepted at ``filed`` (YYYYMMDDhhmmss), with its header and documents."""
    day, period = filed[:8], period and f"CONFORMED PERIOD OF REPORT:\t{period}\n"
    return (
        f"<SEC-DOCUMENT>{accession}.txt : {day}\n<SEC-HEADER>{accession}.hdr.sgml : {day}\n"
        f"<ACCEPTANCE-DATETIME>{filed}\nACCESSION NUMBER:\t\t{accession}\nCONFORMED SUBMISSION TYPE:\t{form}\n"
        f"PUBLIC DOCUMENT COUNT:\t\t{len(documents)}\n{period}FILED AS OF DATE:\t\t{day}\n\n{parties}"
        f"</SEC-HEADER>\n{''.join(documents)}</SEC-DOCUMENT>\n"
    ).encode()
