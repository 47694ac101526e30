"""HTML elements: escaping, omitted attributes and children, refused values."""

from __future__ import annotations

import pytest

from finapi.web.html.tags import Html, build_element, h, join_html
from tests.support.case_tables import run_each_case


@run_each_case(
    "rendered, expected_html",
    [
        (h.p("a < b & c"), "<p>a &lt; b &amp; c</p>"),
        (h.p('"quoted"'), '<p>"quoted"</p>'),
        (h.td(Html("<b>x</b>")), "<td><b>x</b></td>"),
        (h.td(0, None, False, ""), "<td>0</td>"),
        (h.ul([h.li(n) for n in (1, 2)], "!"), "<ul><li>1</li><li>2</li>!</ul>"),
        (h.p(h.b("x") for _ in range(2)), "<p><b>x</b><b>x</b></p>"),
        (h.a("x", href='/q?a=1&b="<'), '<a href="/q?a=1&amp;b=&quot;&lt;">x</a>'),
        (h.a("x", href="'"), '<a href="&#x27;">x</a>'),
        (h.td("x", class_="n", aria_label="y"), '<td class="n" aria-label="y">x</td>'),
        (h.input(name="q", required=True, autofocus=False, value=None), '<input name="q" required>'),
        (h.rect(x=0, width=1.5), '<rect x="0" width="1.5"></rect>'),
        (h.svg(viewBox="0 0 1 1"), '<svg viewBox="0 0 1 1"></svg>'),
        (h.br(), "<br>"),
        (join_html("<", h.b("x")), "&lt;<b>x</b>"),
        (build_element("time", "x", datetime="2026"), '<time datetime="2026">x</time>'),
    ],
)
def test_elements_are_rendered_as_html(rendered: Html, expected_html: str) -> None:
    assert rendered == expected_html
    assert isinstance(rendered, Html)


def test_html_is_not_escaped_twice_but_concatenated_text_is() -> None:
    assert join_html(join_html("<")) == "&lt;"
    # The sum of Html and str is a str.
    assert join_html(h.b("x") + "<i>") == "&lt;b&gt;x&lt;/b&gt;&lt;i&gt;"


@pytest.mark.parametrize("child", [1.5, object(), True])
def test_children_that_are_not_text_are_refused(child: object) -> None:
    with pytest.raises(TypeError):
        h.p(child)


def test_an_element_that_no_page_uses_is_refused() -> None:
    with pytest.raises(AttributeError):
        h.marquee("x")
