"""Full submissions as the archive holds them, made by hand."""

from __future__ import annotations


def party(role: str, name: str, cik: str, *more: str, data: str = "COMPANY DATA") -> str:
    """A party of a header; ``more`` lines of its data."""
    lines = "".join(f"\n\t\t{line}" for line in more)
    return f"{role}:\n\n\t{data}:\n\t\tCOMPANY CONFORMED NAME:\t\t\t{name}\n\t\tCENTRAL INDEX KEY:\t\t\t{cik}{lines}\n"


def values(form: str) -> str:
    """The part of a party's header that names the form."""
    return f"\n\tFILING VALUES:\n\t\tFORM TYPE:\t\t{form}\n"


def xml(form: str, file: str, content: bytes, place: int = 1) -> str:
    """A document of XML."""
    return text(form, file, f"<XML>\n{content.decode()}\n</XML>", place)


def text(form: str, file: str, content: str, place: int = 1, more: str = "") -> str:
    """A document."""
    head = f"<TYPE>{form}\n<SEQUENCE>{place}\n<FILENAME>{file}\n{more}"
    return f"<DOCUMENT>\n{head}<TEXT>\n{content}\n</TEXT>\n</DOCUMENT>\n"


def full(
    accession: str, form: str, parties: str, *documents: str, filed: str = "20260131063000", period: str = ""
) -> bytes:
    """A full submission that was accepted at a moment, with its header and documents."""
    day, period = filed[:8], period and f"CONFORMED PERIOD OF REPORT:\t{period}\n"
    return (
        f"<SEC-DOCUMENT>{accession}.txt : {day}\n<SEC-HEADER>{accession}.hdr.sgml : {day}\n"
        f"<ACCEPTANCE-DATETIME>{filed}\nACCESSION NUMBER:\t\t{accession}\nCONFORMED SUBMISSION TYPE:\t{form}\n"
        f"PUBLIC DOCUMENT COUNT:\t\t{len(documents)}\n{period}FILED AS OF DATE:\t\t{day}\n\n{parties}"
        f"</SEC-HEADER>\n{''.join(documents)}</SEC-DOCUMENT>\n"
    ).encode()
