"""The XML reader against well-formed, broken and hostile documents."""

from __future__ import annotations

import gc
import re
import tracemalloc
import weakref
from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from finapi.core.errors import ParseError
from finapi.edgar import xml_reader
from finapi.edgar.xml_reader import Attributes, XmlReader
from tests.support.case_tables import run_each_case
from tests.support.random_examples import examples


class Notes(XmlReader):
    """A parser of a small format: the texts of <note>, the names of other elements, nothing inside <private>."""

    def __init__(self) -> None:
        super().__init__("notes.xml")
        self.notes: list[str] = []
        self.unknown_elements: list[str] = []
        self.long = 0
        self.closed: list[int] = []
        self.open_handlers = {"urn:n notes": Notes.open_root}

    def open_root(self, name: str, attributes: Attributes) -> None:
        self.open_handlers = {
            "urn:n note": Notes.open_note,
            "urn:n rich": Notes.open_rich,
            "urn:n short": Notes.open_short,
            "urn:n private": Notes.open_private,
            "urn:n group": Notes.open_group,
        }

    def open_note(self, name: str, attributes: Attributes) -> None:
        self.collect_text(self.notes.append)

    def open_rich(self, name: str, attributes: Attributes) -> None:
        self.collect_text(self.notes.append, allow_elements=True)

    def open_short(self, name: str, attributes: Attributes) -> None:
        self.collect_text(self.notes.append, self.count_long, max_characters=10)

    def open_private(self, name: str, attributes: Attributes) -> None:
        self.skip_element()

    def open_group(self, name: str, attributes: Attributes) -> None:
        self.get_required(attributes, "id")
        self.call_on_close(self.close_group)

    def close_group(self) -> None:
        self.closed.append(self.depth)

    def count_long(self) -> None:
        self.long += 1

    def open_other(self, name: str, attributes: Attributes) -> None:
        self.unknown_elements.append(name)


def read(text: str | bytes) -> Notes:
    reader = Notes()
    reader.read(text.encode() if isinstance(text, str) else text)
    return reader


def find_error_place(data: bytes) -> str:
    """Return the place of the error, or "" if the document is valid."""
    try:
        read(data)
    except ParseError as error:
        return error.place
    return ""


def get_error(text: str | bytes) -> ParseError:
    with pytest.raises(ParseError) as caught:
        read(text)
    assert caught.value.file == "notes.xml"
    return caught.value


def notes(inside: str) -> str:
    return f'<notes xmlns="urn:n">{inside}</notes>'


# ---- events


def test_character_references_are_resolved() -> None:
    assert read(notes("<note>a &amp; b&#x20AC;<!-- c --><![CDATA[<d>]]></note>")).notes == ["a & b€<d>"]


def test_text_between_elements_is_not_collected() -> None:
    assert read(notes("x<note>a</note>y<note>b</note>z")).notes == ["a", "b"]


def test_empty_element_has_an_empty_text() -> None:
    assert read(notes("<note/>")).notes == [""]


def test_text_of_the_limit_is_collected_and_one_more_is_not() -> None:
    reader = read(notes(f"<short>{'é' * 10}</short><short>{'é' * 11}</short><note>after</note>"))
    assert (reader.notes, reader.long) == (["é" * 10, "after"], 1)


def test_text_in_several_buffers_is_joined() -> None:
    text = "abc\n" * 5_000
    assert read(notes(f"<note>{text}</note>")).notes == [text]


def test_element_inside_a_text_is_refused() -> None:
    assert get_error(notes("<note>a<b/></note>")).reason == "element b where only text is allowed"


def test_text_of_an_inner_element_may_be_included() -> None:
    reader = read(notes("<rich>a<note>b<i>c</i></note>d</rich><note>e</note>"))
    assert (reader.notes, reader.unknown_elements) == (["abcd", "e"], [])


def test_elements_inside_a_skipped_one_are_ignored() -> None:
    reader = read(notes("<private><note>a</note><private/></private><note>b</note>"))
    assert (reader.notes, reader.unknown_elements) == (["b"], [])


def test_close_callback_runs_at_the_depth_of_the_element() -> None:
    assert read(notes('<group id="1"><group id="2"><note/></group></group>')).closed == [3, 2]


def test_unknown_elements_are_reported_with_their_namespace() -> None:
    reader = read(notes('<x xmlns="urn:x"><y xmlns=""/></x><z><note>a</note></z>'))
    assert (reader.unknown_elements, reader.notes) == (["urn:x x", "y", "urn:n z"], ["a"])


def test_reader_is_freed_without_garbage_collection() -> None:
    reader = read(notes("<note>a</note>"))
    reference = weakref.ref(reader)
    gc.disable()
    try:
        del reader
        assert reference() is None
    finally:
        gc.enable()


# ---- errors


def test_error_names_file_line_and_column() -> None:
    assert str(get_error(notes("\n  <note>a</nope>"))) == "notes.xml: line 2, column 12: mismatched tag"


def test_error_of_a_parser_names_line_and_column() -> None:
    assert str(get_error(notes("\n  <group/>"))) == "notes.xml: line 2, column 3: attribute id is missing"


def test_other_root_is_refused() -> None:
    assert get_error('<note xmlns="urn:n"/>').reason == "the root element is note, not notes"


def test_root_of_another_namespace_is_refused() -> None:
    error = get_error('<notes xmlns="urn:other"/>')
    assert (error.place, error.reason) == ("line 1, column 1", "notes is in the namespace urn:other, not in urn:n")
    assert get_error("<notes/>").reason == "notes is in no namespace, not in urn:n"


@run_each_case("text", ["", " ", "\n", "hello", "\x00", "PK\x03\x04", "<", "{}", "<!-- -->"])
def test_other_bytes_are_refused(text: str) -> None:
    get_error(text)


def test_truncated_document_is_refused() -> None:
    document = (
        '<?xml version="1.0" encoding="UTF-8"?><!-- c -->\n'
        + notes('<note>é&#233;<![CDATA[x]]></note><group id="1"><rich>a<b/>c</rich></group>\n<?p i?>')
    ).encode()
    assert read(document).notes == ["ééx", "ac"]
    for length in range(len(document)):
        get_error(document[:length])


def test_nul_is_refused() -> None:
    assert get_error(notes("<note>a\x00b</note>")).reason == "not well-formed (invalid token)"


def test_bytes_that_are_not_utf8_are_refused() -> None:
    assert get_error(notes("<note>\xe9</note>").encode("latin-1")).reason == "not well-formed (invalid token)"


def test_undeclared_entity_is_refused() -> None:
    assert get_error(notes("<note>&nbsp;</note>")).reason == "undefined entity"


def test_second_root_is_refused() -> None:
    assert get_error(notes("") * 2).reason == "junk after document element"


def test_undeclared_prefix_is_refused() -> None:
    assert get_error(notes("<a:b/>")).reason == "unbound prefix"


# ---- encodings


@run_each_case("encoding", ["utf-8", "utf-8-sig", "iso-8859-1", "utf-16"])
def test_encoding_that_expat_supports_is_read(encoding: str) -> None:
    declared = encoding.removesuffix("-sig")
    text = f'<?xml version="1.0" encoding="{declared}"?>' + notes("<note>é</note>")
    assert read(text.encode(encoding)).notes == ["é"]


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be"])
def test_utf16_with_byte_order_mark_is_read(encoding: str) -> None:
    assert read(("\ufeff" + notes("<note>é€</note>")).encode(encoding)).notes == ["é€"]


@run_each_case(
    "declared, codec",
    [
        ("ASCII", "ascii"),
        ("us_ascii", "ascii"),
        ("ANSI_X3.4-1968", "ascii"),
        ("utf8", "utf-8"),
        ("UTF8", "utf-8"),
        ("latin1", "latin-1"),
        ("Latin-1", "latin-1"),
        ("ISO8859-1", "latin-1"),
        ("ISO_8859-1:1987", "latin-1"),
        ("cp819", "latin-1"),
        ("windows-1252", "cp1252"),
        ("Windows-1252", "cp1252"),
        ("cp1252", "cp1252"),
        ("windows-1251", "cp1251"),
        ("ISO-8859-15", "iso8859-15"),
        ("latin-9", "iso8859-15"),
        ("ISO-8859-2", "iso8859-2"),
        ("macintosh", "mac-roman"),
        ("CP-1252", "cp1252"),
        ("ISO_8859_1", "latin-1"),
        ("UTF_8", "utf-8"),
    ],
)
def test_encoding_may_be_declared_by_an_alias(declared: str, codec: str) -> None:
    text = "Zürich costs €5 – “fine”, Łódź, Мир".encode(codec, "ignore").decode(codec)
    for quote in ('"', "'"):
        document = f"<?xml version={quote}1.0{quote} encoding={quote}{declared}{quote} standalone='yes'?>\n"
        assert read((document + notes(f"<note>{text}</note>")).encode(codec)).notes == [text]


@run_each_case("declared", ["utf16", "UTF_16", "Unicode", "ISO-10646-UCS-2", "UTF-8", "latin1"])
@run_each_case("codec", ["utf-16-le", "utf-16-be"])
def test_utf16_may_be_declared_by_an_alias(declared: str, codec: str) -> None:
    text = f'\ufeff<?xml version="1.0" encoding="{declared}"?>' + notes("<note>é€</note>")
    assert read(text.encode(codec)).notes == ["é€"]


@run_each_case("declared", ["ASCII", "iso-8859-1", "windows-1252", "utf8", "UTF-8"])
def test_byte_order_mark_wins_over_the_declaration(declared: str) -> None:
    text = f'<?xml version="1.0" encoding="{declared}"?>' + notes("<note>é€</note>")
    assert read(text.encode("utf-8-sig")).notes == ["é€"]


def test_white_space_before_the_declaration_is_ignored() -> None:
    assert read('\r\n <?xml version="1.0" encoding="utf-8"?>' + notes("<note>é</note>")).notes == ["é"]


def test_bytes_that_the_encoding_does_not_have_are_refused() -> None:
    text = b'<?xml version="1.0" encoding="windows-1252"?>'
    error = get_error(text + notes("<note>").encode() + b"\x81")
    assert (error.place, error.reason) == (f"byte {len(text + notes('<note>').encode())}", "not windows-1252")
    with pytest.raises(ParseError, match="not well-formed"):
        read(b'<?xml version="1.0" encoding="ASCII"?>' + notes("<note>\xe9</note>").encode("latin-1"))


@run_each_case("encoding", ["utf-7", "utf-32", "idna", "rot13", "x" * 1000])
def test_other_encoding_is_refused(encoding: str) -> None:
    error = get_error(f'<?xml version="1.0" encoding="{encoding}"?>' + notes(""))
    assert error.reason == f"encoding {encoding[:40]} is not supported; convert the document to UTF-8"


def test_utf32_is_refused() -> None:
    get_error(notes("<note/>").encode("utf-32"))


@pytest.mark.parametrize("order", ["le", "be"])
def test_unpaired_surrogate_is_refused(order: str) -> None:
    for broken in ("\udc00", "\udc00\ud800"):
        get_error(("\ufeff" + notes(f"<note>{broken}</note>")).encode(f"utf-16-{order}", "surrogatepass"))


# ---- document types and entities

LAUGHS = (
    '<!DOCTYPE notes [<!ENTITY a "ha">'
    + "".join(f'<!ENTITY {chr(98 + i)} "{f"&{chr(97 + i)};" * 10}">' for i in range(10))
    + "]>"
    + notes("<note>&k;</note>")
)
QUADRATIC = f'<!DOCTYPE notes [<!ENTITY a "{"a" * 50_000}">]>' + notes(f"<note>{'&a;' * 20_000}</note>")
EXTERNAL = '<!DOCTYPE notes [<!ENTITY a SYSTEM "file:///etc/passwd">]>' + notes("<note>&a;</note>")
PARAMETER = '<!DOCTYPE notes [<!ENTITY % p SYSTEM "http://127.0.0.1:9/x">%p;]>' + notes("")
LATE = f"<!--{' ' * 3_000}-->" + LAUGHS


@run_each_case(
    "text",
    [
        "<!DOCTYPE notes>" + notes(""),
        '<!DOCTYPE notes SYSTEM "notes.dtd">' + notes(""),
        '<!DOCTYPE notes PUBLIC "-//N//N" "http://127.0.0.1:9/notes.dtd">' + notes(""),
        LAUGHS,
        QUADRATIC,
        EXTERNAL,
        PARAMETER,
        LATE,
    ],
)
def test_document_type_is_refused(text: str) -> None:
    assert get_error(text).reason == "a document type declaration, which no SEC format allows"


def test_document_type_in_utf16_is_refused() -> None:
    error = get_error(("\ufeff" + LAUGHS).encode("utf-16-le"))
    assert error.reason == "a document type declaration, which no SEC format allows"


def measure_peak_megabytes(work: Callable[[], object]) -> float:
    """Return the megabytes of Python's memory at the peak, including expat's."""
    tracemalloc.start()
    try:
        work()
        return tracemalloc.get_traced_memory()[1] / 1e6
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("text", [LAUGHS, QUADRATIC, LATE], ids=["laughs", "quadratic", "late"])
def test_entity_bomb_takes_no_memory(text: str) -> None:
    data = text.encode()
    assert measure_peak_megabytes(lambda: get_error(data)) < 20


# ---- limits


def test_hundred_levels_are_read_and_one_more_is_refused() -> None:
    inner = xml_reader.MAX_DEPTH - 1
    assert len(read(notes("<a>" * inner + "</a>" * inner)).unknown_elements) == inner
    error = get_error(notes("<a>" * (inner + 1) + "</a>" * (inner + 1)))
    assert error.reason == "elements nested more than 100 deep"


@pytest.mark.parametrize("opened", ["", "<rich>", "<private>"], ids=["elements", "text", "skipped"])
def test_million_levels_are_refused_in_little_memory(opened: str) -> None:
    data = notes(" " * 70_000 + opened + "<a>" * 1_000_000).encode()
    error = get_error(data)
    assert error.reason == "elements nested more than 100 deep"
    assert measure_peak_megabytes(lambda: get_error(data)) < 20


def test_long_text_that_is_dropped_takes_no_memory() -> None:
    data = notes(f"<note>a</note>{'x' * 20_000_000}<short>{'y' * 20_000_000}</short>").encode()
    assert measure_peak_megabytes(lambda: read(data)) < 5


def test_long_text_is_refused_in_little_memory() -> None:
    data = notes(f"<note>{'x' * 20_000_000}</note>").encode()
    assert get_error(data).reason == "a text is longer than this reader accepts"
    assert measure_peak_megabytes(lambda: get_error(data)) < 5


@run_each_case(
    "before, after",
    [("<a b='", "'/>"), ("<!--", "-->"), ("<?p ", "?>"), ("<", "/>")],
)
def test_tag_or_comment_of_twenty_megabytes_is_refused(before: str, after: str) -> None:
    data = notes(before + "x" * 20_000_000 + after).encode()
    assert get_error(data).reason == "a tag or comment of more than 1000000 bytes"
    assert measure_peak_megabytes(lambda: get_error(data)) < 5


def test_tag_of_half_a_megabyte_is_read() -> None:
    assert read(notes(f"<a b='{'x' * 500_000}'/>")).unknown_elements == ["urn:n a"]


def test_fifty_thousand_attributes_are_read() -> None:
    assert read(notes("<a " + " ".join(f"a{i}=''" for i in range(50_000)) + "/>")).unknown_elements == ["urn:n a"]


def test_repeated_attribute_is_refused() -> None:
    assert get_error(notes('<a b="1" b="2"/>')).reason == "duplicate attribute"


@pytest.mark.parametrize("before", ["<!-- c -->" * 10_000, " " * 100_000, f"<!--{' ' * 100_000}-->"])
def test_root_must_open_within_64_kilobytes(before: str) -> None:
    reason = "no root element in the first 65536 bytes"
    assert get_error(before + notes("")).reason == reason


def test_comment_of_thirty_kilobytes_before_the_root_is_read() -> None:
    assert read(f"<!--{' ' * 30_000}-->" + notes("<note>a</note>")).notes == ["a"]


def test_document_over_the_byte_limit_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(xml_reader, "MAX_BYTES", 100)
    assert str(get_error(" " * 101)) == "notes.xml: 101 bytes, more than the limit of 100"
    assert read(notes(" " * (100 - len(notes("")))).encode()).notes == []


def test_limit_is_above_the_largest_real_instances() -> None:
    assert xml_reader.MAX_BYTES == 256_000_000


# ---- damaged documents

SAMPLE = (
    '<?xml version="1.0" encoding="utf-8"?>'
    + notes('<note>aé&lt;</note><rich>a<b c="d">e</b></rich><private><x/></private><group id="1"/>')
).encode()


@pytest.mark.slow
@settings(max_examples=examples(500), deadline=None)
@given(
    st.lists(
        st.tuples(st.integers(0, len(SAMPLE) - 1), st.binary(max_size=3), st.integers(0, 3)), min_size=1, max_size=5
    )
)
def test_mutated_document_is_parsed_or_refused(edits: list[tuple[int, bytes, int]]) -> None:
    data = SAMPLE
    for position, new, removed in edits:
        data = data[:position] + new + data[position + removed :]
    assert re.fullmatch(r"(line \d+, column \d+)?", find_error_place(data))


@settings(max_examples=examples(300), deadline=None)
@given(st.sampled_from([b"", b"\xff\xfe", b"\xfe\xff", b"\xef\xbb\xbf", b"<?xml "]), st.binary(max_size=200))
def test_random_bytes_are_refused(prefix: bytes, content: bytes) -> None:
    get_error(prefix + content)


@settings(max_examples=examples(300), deadline=None)
@given(st.text(st.characters(), max_size=50), st.sampled_from(["utf-16-le", "utf-16-be"]))
def test_any_utf16_text_is_parsed_or_refused(text: str, encoding: str) -> None:
    data = ("\ufeff" + notes(f"<note>{text}</note>")).encode(encoding, "surrogatepass")
    assert re.fullmatch(r"(line \d+, column \d+)?", find_error_place(data))
