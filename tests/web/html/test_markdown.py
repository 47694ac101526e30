"""Markdown as HTML."""

from __future__ import annotations

from finapi.web.html.markdown import render_markdown
from tests.support.case_tables import run_each_case
from tests.support.html_pages import parse_rows


@run_each_case(
    "text, expected_html",
    [
        ("# A `b`", "<h1>A <code>b</code></h1>"),
        ("## Two words", '<h2 id="two-words">Two words</h2>'),
        ("a **b** [c](/d) [e](javascript:x) [f](//g)", '<p>a <strong>b</strong> <a href="/d">c</a> e f</p>'),
        ("- a\n  b\n- c", "<ul><li>a b</li><li>c</li></ul>"),
        ("1. a\n2. b", "<ol><li>a</li><li>b</li></ol>"),
        ("```js\n<b>\n```", '<pre tabindex="0" data-language="js"><code>&lt;b&gt;</code></pre>'),
        ("<img src=x onerror=y>", "<p>&lt;img src=x onerror=y&gt;</p>"),
    ],
)
def test_supported_markdown_becomes_html(text: str, expected_html: str) -> None:
    assert render_markdown(text) == expected_html


def test_markdown_tables_keep_escaped_bars() -> None:
    table = render_markdown("| a | b |\n|---|---|\n| `x\\|y` | 2 |")
    assert parse_rows(table) == [["a", "b"], ["x|y", "2"]]
