"""The verdict on a claim, from the claimed value and the figures on file."""

from __future__ import annotations

from decimal import Decimal

import pytest

from finapi.market.claims.claimed_values import parse_value
from finapi.market.claims.verdicts import Judgement, KnownFigure, judge

# A figure in millions that was first filed as 394,328, then as 394,400, and last as 394,500.
FIGURE = KnownFigure(
    latest=Decimal(394_500_000_000),
    first_filed=Decimal(394_328_000_000),
    rounding=Decimal(500_000),
    other_vintages=(Decimal(394_400_000_000),),
    other_lines=(Decimal(399_990_000_000),),
)
NEAR = KnownFigure(Decimal(365_817_000_000), Decimal(365_800_000_000))
FAR = KnownFigure(Decimal(229_234_000_000), Decimal(229_234_000_000), is_near=False)


def judge_text(text: str, figure: KnownFigure = FIGURE) -> Judgement:
    return judge(parse_value(text)[0], figure, (NEAR, FAR))


@pytest.mark.parametrize(
    ("text", "judgement"),
    [
        ("394.5 billion", Judgement("matches")),
        ("394,500 million", Judgement("matches")),
        ("390 billion", Judgement("matches")),
        ("394.3 billion", Judgement("matches_first_filed")),
        ("394,328 million", Judgement("matches_first_filed")),
        ("394,400 million", Judgement("restated_since")),
        ("394,500.2 million", Judgement("cannot_tell", "more_digits_than_filed")),
        ("399,990 million", Judgement("cannot_tell", "other_line")),
        ("-394.5 billion", Judgement("wrong_sign")),
        ("(394,328) million", Judgement("wrong_sign")),
        ("394.5 million", Judgement("wrong_scale", exponent=3)),
        ("394.5", Judgement("wrong_scale", exponent=9)),
        ("394,328 billion", Judgement("wrong_scale", exponent=-3)),
        ("39.45 billion", Judgement("wrong_scale", exponent=1)),
        ("365.8 billion", Judgement("wrong_period", other_index=0)),
        ("229,234 million", Judgement("wrong_period", other_index=1)),
        ("229.2 billion", Judgement("contradicted")),
        ("395.1 billion", Judgement("contradicted")),
        ("0", Judgement("contradicted")),
    ],
)
def test_each_verdict_has_its_evidence(text: str, judgement: Judgement) -> None:
    assert judge_text(text) == judgement


def test_a_later_rounding_is_not_a_restatement() -> None:
    figure = KnownFigure(Decimal(1_235_000_000), Decimal(1_234_567_000), rounding=Decimal(500_000))
    assert judge_text("1,234,567 thousand", figure) == Judgement("matches")
    assert judge_text("1,234,000 thousand", figure) == Judgement("contradicted")


def test_a_doubtful_figure_contradicts_no_claim() -> None:
    assert judge_text("500.1 billion", FIGURE._replace(is_doubtful=True)) == Judgement("cannot_tell", "doubtful_figure")


def test_zero_has_no_sign_and_no_scale() -> None:
    zero = KnownFigure(Decimal(0), Decimal(0))
    assert judge_text("0", zero) == Judgement("matches")
    assert judge_text("5.1 billion", zero) == Judgement("contradicted")
