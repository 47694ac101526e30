"""The rules of the mapping in words: each has some, and they name what the rule reads."""

from __future__ import annotations

import re

import pytest

from finapi.market.financials import metric_dictionary, metric_mapping, rule_words
from finapi.market.financials.metric_mapping import FACE_PREFIX, INDUSTRIES, Metric, Rule

EVERY = list(metric_mapping.get_mapping().metrics.values())
# Words of the sentences that begin with a capital and are no names.
PLAIN = {"A", "Minus", "Of", "The", "IFRS"}


def named(rule: Rule) -> set[str]:
    """The local names of the tags that a rule reads."""
    names = (*rule.tags, *(name for term in rule.terms for name in term.names))
    return {name.partition(":")[2] for name in names if not name.startswith(FACE_PREFIX)}


@pytest.mark.parametrize("metric", EVERY, ids=lambda one: one.key)
def test_the_words_of_a_rule_name_all_that_it_reads_and_nothing_else(metric: Metric) -> None:
    every = rule_words.describe_rules(metric)
    for industry in INDUSTRIES:
        for one in metric.rules[industry]:
            words = rule_words.describe_rule(one, metric)
            assert any(told.endswith(words) for told in every), words
            plain = words
            for pattern in one.custom_patterns:
                assert f"custom tag matching {pattern.pattern}" in words
                plain = plain.replace(pattern.pattern, "")
            assert set(re.findall(r"\b[A-Z][A-Za-z0-9]*\b", plain)) - PLAIN == named(one)


def test_the_dictionary_has_a_sentence_for_every_rule_of_every_metric() -> None:
    told = {entry["key"]: entry["rules"] for entry in metric_dictionary.list_entries("primitive")}
    assert list(told) == [metric.key for metric in EVERY]
    for metric in EVERY:
        rules = {one.text for industry in INDUSTRIES for one in metric.rules[industry]}
        assert len(told[metric.key]) >= len(rules), metric.key
        assert all(one[0].isupper() and one.endswith(".") for one in told[metric.key]), metric.key


@pytest.mark.parametrize(
    ("key", "words"),
    [
        ("revenue", "Of banks: InterestIncomeExpenseNet, plus NoninterestIncome, all from one filing."),
        (
            "long_term_debt",
            "SeniorLongTermNotes or else LongTermNotesPayable or else SeniorNotesNoncurrent, plus "
            "ConvertibleDebtNoncurrent or else ConvertibleLongTermNotesPayable "
            "or else ConvertibleNotesPayableNoncurrent if reported, all from one filing.",
        ),
        ("shares_outstanding", "EntityCommonStockSharesOutstanding (cover page)."),
        ("net_income", "ProfitLoss, less NetIncomeLossAttributableToNoncontrollingInterest, all from one filing."),
        ("gross_profit", "Nothing is summed for a filing that also reports FinancialServicesRevenue."),
        (
            "goodwill",
            "Amounts in parentheses on the balance sheet are parts of their line and are not used as figures.",
        ),
        (
            "cost_of_revenue",
            "The sum of the cost lines between revenue and gross profit, if they make up the difference.",
        ),
        ("eps_basic", "Never derived by adding or subtracting other periods."),
        ("temporary_equity", "The sum of the lines between liabilities and equity on the balance sheet."),
    ],
)
def test_rules_read_as_sentences(key: str, words: str) -> None:
    assert words in rule_words.describe_rules(metric_mapping.get_mapping().metrics[key])
