"""The repair of damaged end tags, and its limits."""

from __future__ import annotations

import time

from hypothesis import given, settings
from hypothesis import strategies as st

from finapi.edgar import xml_repair
from tests.support.case_tables import run_each_case

DOCUMENT = b"""<?xml version="1.0"?><!-- <x> -->
<edgarSubmission xmlns:c="urn:c">
<formData>
<c:percent unit="pure">5.1</c:percent>
<type>IN</type>
<empty/><note><![CDATA[</broken]]></note>
</formData>
</edgarSubmission>
"""


@run_each_case(
    "old, new, repair",
    [
        (b"</c:percent>", b"</c:percent", "line 4: the end tag </c:percent is read as </c:percent>"),
        (b"</c:percent>", b"</c:perc", "line 4: the end tag </c:perc is read as </c:percent>"),
        (b"</c:percent>", b"</c:perc>", "line 4: the end tag </c:perc> is read as </c:percent>"),
        (b"</c:percent>\n", b"</c:percent", "line 4: the end tag </c:percent is read as </c:percent>"),
        (
            b"</edgarSubmission>\n",
            b"</edgarSubmission",
            "line 8: the end tag </edgarSubmission is read as </edgarSubmission>",
        ),
        (b"</edgarSubmission>\n", b"</ed", "line 8: the end tag </ed is read as </edgarSubmission>"),
        (b"</edgarSubmission>\n", b"</", "line 8: the end tag </ is read as </edgarSubmission>"),
        (b"</formData>\n</edgarSubmission>\n", b"</formDa", "line 7: the end tag </formDa is read as </formData>"),
    ],
)
def test_damaged_end_tag_is_completed(old: bytes, new: bytes, repair: str) -> None:
    repaired = xml_repair.repair_end_tags(DOCUMENT.replace(old, new))
    assert repaired is not None
    assert repaired.repairs == [repair]
    assert repaired.content.translate(None, b"\n") == DOCUMENT.translate(None, b"\n")


@run_each_case(
    "old, new",
    [
        (b"", b""),
        (b"</edgarSubmission>\n", b""),
        (b"</formData>\n</edgarSubmission>\n", b""),
        # More than the end tags may be missing.
        (DOCUMENT[DOCUMENT.index(b"</type>") :], b"</ty"),
        (DOCUMENT[DOCUMENT.index(b"5.1</c") :], b"5.1</c:percent>"),
        (b"<type>IN", b"<type IN"),
        (b"</type>", b"</typo>"),
        (b"</type>", b"</type x>"),
        (b"</type>", b""),
        (b"]]>", b"]]"),
        (b"-->", b"--"),
        (b"</edgarSubmission>\n", b"</edgarSubmission></edgarSubmission>"),
    ],
)
def test_other_damage_is_not_repaired(old: bytes, new: bytes) -> None:
    assert xml_repair.repair_end_tags(DOCUMENT.replace(old, new) if old else DOCUMENT) is None


def test_many_damaged_tags_are_not_repaired() -> None:
    assert xml_repair.repair_end_tags(b"<a>" + b"<b>1</b<c/>" * 20 + b"</a>") is not None
    assert xml_repair.repair_end_tags(b"<a>" + b"<b>1</b<c/>" * 21 + b"</a>") is None


@run_each_case("piece", [b"<!--", b"</", b"<a", b"<a>", b"</a<", b"<![CDATA[", b"<?", b" "])
def test_repair_takes_linear_time(piece: bytes) -> None:
    content = b"<a>" + piece * (1_000_000 // len(piece))
    start = time.process_time()
    xml_repair.repair_end_tags(content)
    assert time.process_time() - start < 5


@given(
    st.lists(st.sampled_from(["<a>", "</a>", "</a", "<b>", "</b", "</", "<!--", "-->", "x", " ", "<c/>"]), max_size=30)
)
@settings(max_examples=300, deadline=None)
def test_any_markup_is_repaired_or_left(pieces: list[str]) -> None:
    repaired = xml_repair.repair_end_tags("".join(pieces).encode())
    if repaired is not None:
        assert xml_repair.repair_end_tags(repaired.content) is None
