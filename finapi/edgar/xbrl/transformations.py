"""Transformations of inline XBRL: from a printed text to the value that is tagged.

A tagged number or date in an HTML page is printed for readers. Its ``format`` names a transformation that turns the
printed text into the value of the fact: ``ixt:num-dot-decimal`` turns "1,234.5" into 1234.5, and
``ixt:date-monthname-day-year-en`` turns "March 29, 2025" into 2025-03-29. The names come from the Transformation
Registries 1 to 5 of XBRL International and from the SEC's own registry (EDGAR Filer Manual, volume II, 5.2.5.12).

The names of registry 4 describe themselves: "date-day-monthname-year-de" lists the parts of the date in their order and
the language of the month. One reader for dates serves all of them, and the names of the older registries are mapped to
names of registry 4. The calendars of India and the eras of Japan are not supported: no filing with the SEC uses them.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Mapping, Sequence
from datetime import date
from decimal import Decimal
from functools import cache

from finapi.core.days import MONTH_NAMES
from finapi.edgar.xbrl.place_names import CodeSystem, find_place_code

# Characters of a text that is transformed. The longest names and numbers in words have fewer than 100.
MAX_TEXT_CHARACTERS = 1_000

_REGISTRIES = {
    "http://www.xbrl.org/2008/inlineXBRL/transformation",
    "http://www.xbrl.org/inlineXBRL/transformation/2010-04-20",
    "http://www.xbrl.org/inlineXBRL/transformation/2011-07-31",
    "http://www.xbrl.org/inlineXBRL/transformation/2015-02-26",
    "http://www.xbrl.org/inlineXBRL/transformation/2020-02-12",
    "http://www.xbrl.org/inlineXBRL/transformation/2022-02-16",
}
_SEC_REGISTRY = "http://www.sec.gov/inlineXBRL/transformation/2015-08-31"

# The names in registries 1 to 3 that mean the same as a name in registry 4.
_OLDER_NAMES = {
    "booleanfalse": "fixed-false",
    "booleantrue": "fixed-true",
    "datedaymonth": "date-day-month",
    "datedaymonthdk": "date-day-monthname-da",
    "datedaymonthen": "date-day-monthname-en",
    "datedaymonthyear": "date-day-month-year",
    "datedaymonthyeardk": "date-day-monthname-year-da",
    "datedaymonthyearen": "date-day-monthname-year-en",
    "datedotus": "date-month-day-year",
    "datedoteu": "date-day-month-year",
    "datelongdaymonthuk": "date-day-monthname-en",
    "datelongmonthdayus": "date-monthname-day-en",
    "datelongmonthyear": "date-monthname-year-en",
    "datelonguk": "date-day-monthname-year-en",
    "datelongus": "date-monthname-day-year-en",
    "datelongyearmonth": "date-year-monthname-en",
    "datemonthday": "date-month-day",
    "datemonthdayen": "date-monthname-day-en",
    "datemonthdayyear": "date-month-day-year",
    "datemonthdayyearen": "date-monthname-day-year-en",
    "datemonthyear": "date-month-year",
    "datemonthyeardk": "date-monthname-year-da",
    "datemonthyearen": "date-monthname-year-en",
    "dateshortdaymonthuk": "date-day-monthname-en",
    "dateshortmonthdayus": "date-monthname-day-en",
    "dateshortmonthyear": "date-monthname-year-en",
    "dateshortuk": "date-day-monthname-year-en",
    "dateshortus": "date-monthname-day-year-en",
    "dateshortyearmonth": "date-year-monthname-en",
    "dateslashdaymontheu": "date-day-month",
    "dateslasheu": "date-day-month-year",
    "dateslashmonthdayus": "date-month-day",
    "dateslashus": "date-month-day-year",
    "dateyearmonthcjk": "date-year-month",
    "dateyearmonthday": "date-year-month-day",
    "dateyearmonthdaycjk": "date-year-month-day",
    "dateyearmonthen": "date-year-monthname-en",
    "nocontent": "fixed-empty",
    "numcomma": "num-comma-decimal",
    "numcommadecimal": "num-comma-decimal",
    "numcommadot": "num-dot-decimal",
    "numdash": "zerodash",
    "numdotcomma": "num-comma-decimal",
    "numdotdecimal": "num-dot-decimal",
    "numdotdecimalin": "num-dot-decimal",
    "numspacecomma": "num-comma-decimal",
    "numspacedot": "num-dot-decimal",
    "numunitdecimal": "num-unit-decimal",
    "numunitdecimalin": "num-unit-decimal",
}

# The beginnings of the names of the months by language, without accents. Alternatives are separated by "/".
_MONTHS = {
    "bg": "ян фев мар апр маи юни юли авг сеп окт ное дек",
    "cs": "led uno/unor brez/bre dub kve cervn/cerven/cvn cervenc/cervenec/cvc srp zar rij lis pro",
    "cy": "ion chwe maw/faw ebr mai/fai meh/feh gor/ngor aws med/fed hyd tach/dach/nhach/thach rhag/rag",
    "da": "jan feb mar apr maj jun jul aug sep okt nov dec",
    "de": "jan/jaen feb mar/maer apr mai jun jul aug sep okt nov dez",
    "el": "ιαν φεβ μαρ απρ μαι ιουν ιουλ αυγ σεπ οκτ νοε δεκ",
    "es": "ene feb mar abr may jun jul ago sep oct nov dic",
    "et": "jaan veebr marts apr mai juuni juuli aug sept okt nov dets",
    "fi": "tam hel maa huh tou kes hei elo syy lok mar jou",
    "fr": "janv fevr mars avr mai juin juil aout sept oct nov dec",
    "hr": "sij velj ozu tra svi lip srp kol ruj lis stu pro",
    "hu": "jan feb marc apr maj jun jul aug szept okt nov dec",
    "it": "gen feb mar apr mag giu lug ago set ott nov dic",
    "lt": "sau vas kov bal geg bir lie rugp/rgp rugs/rgs spa/spl lap gru/grd",
    "lv": "janv febr marts apr maijs jun jul aug sept okt nov dec",
    "nl": "jan feb maa/mrt apr mei jun jul aug sep okt nov dec",
    "no": "jan feb mar apr mai jun jul aug sep okt nov des",
    "pl": "sty lut mar kwi maj cze lip sie wrz paz lis gru",
    "pt": "jan fev mar abr mai jun jul ago set out nov dez",
    "ro": "ian feb mar apr mai iun iul aug sep oct noi/nov dec",
    "sk": "jan feb mar apr maj jun jul aug sep okt nov dec",
    "sl": "jan feb mar apr maj jun jul avg sep okt nov dec",
    "sv": "jan feb mar apr maj jun jul aug sep okt nov dec",
}
_ENGLISH_MONTHS = [name.casefold() for name in MONTH_NAMES]
_ROMAN_MONTHS = ["i", "ii", "iii", "iv", "v", "vi", "vii", "viii", "ix", "x", "xi", "xii"]
_DATE_PARTS = {"day", "month", "monthname", "monthroman", "year"}

_DASHES = "-\u058a\u05be\u2010\u2011\u2012\u2013\u2014\u2015\ufe58\ufe63\uff0d"
_APOSTROPHES = "'`\u00b4\u2019\u2032\uff07"
_DECIMAL = re.compile(r"[0-9]+(?:\.[0-9]+)?|\.[0-9]+")
_SIGNED_DECIMAL = re.compile(r"([+-]?)([0-9]{1,9}(?:\.[0-9]{0,9})?|\.[0-9]{1,9})")
_NUMBER_WITH_UNITS = re.compile(rf"([0-9.,{_APOSTROPHES}]*[0-9])[^0-9]+([0-9]{{1,2}})[^0-9]*")
_YEAR_OR_PART = re.compile(r"[0-9]+")
_WORD_BREAK = re.compile(rf"[\s,{re.escape(_DASHES)}]+")
_WORD = re.compile(r"[^\W\d_]+")

_SMALL_NUMBERS = {
    word: number
    for number, word in enumerate(
        [
            "zero",
            "one",
            "two",
            "three",
            "four",
            "five",
            "six",
            "seven",
            "eight",
            "nine",
            "ten",
            "eleven",
            "twelve",
            "thirteen",
            "fourteen",
            "fifteen",
            "sixteen",
            "seventeen",
            "eighteen",
            "nineteen",
        ]
    )
}
_TENS = {
    word: 10 * number
    for number, word in enumerate(["twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"], 2)
}
_MAGNITUDES = {
    word: 1000**number
    for number, word in enumerate(["thousand", "million", "billion", "trillion", "quadrillion", "quintillion"], 1)
}
_NONE_WORDS = {"no", "none", "nil"}
_DURATION_UNITS = {"year": "Y", "month": "M", "day": "D"}
_DAYS_IN_MONTH = Decimal("30.4375")

_QUARTERS = {
    **{name: quarter for quarter, name in enumerate(("first", "second", "third", "fourth"), 1)},
    **{str(quarter): quarter for quarter in range(1, 5)},
    "last": 4,
}
_QUARTER_ENDS = {1: "03-31", 2: "06-30", 3: "09-30", 4: "12-31"}

_BALLOT_BOXES = {"\u2610": False, "\u2611": True, "\u2612": True}

_EXCHANGE_SUFFIX = re.compile(r",? (?:inc\.?|llc)$")
_EXCHANGES = {
    "box exchange": "BOX",
    "cboe byx exchange": "CboeBYX",
    "cboe bzx exchange": "CboeBZX",
    "cboe c2 exchange": "C2",
    "cboe edga exchange": "CboeEDGA",
    "cboe edgx exchange": "CboeEDGX",
    "cboe exchange": "CBOE",
    "chicago stock exchange": "CHX",
    "investors exchange": "IEX",
    "miami international securities exchange": "MIAX",
    "miax pearl": "PEARL",
    "nasdaq": "NASDAQ",
    "nasdaq bx": "BX",
    "nasdaq gemx": "GEMX",
    "nasdaq global market": "NASDAQ",
    "nasdaq global select market": "NASDAQ",
    "nasdaq ise": "ISE",
    "nasdaq mrx": "MRX",
    "nasdaq phlx": "Phlx",
    "nasdaq stock market": "NASDAQ",
    "new york stock exchange": "NYSE",
    "nyse": "NYSE",
    "nyse american": "NYSEAMER",
    "nyse arca": "NYSEArca",
    "nyse national": "NYSENAT",
}
_FILER_CATEGORIES = {
    "large accelerated filer": "Large Accelerated Filer",
    "accelerated filer": "Accelerated Filer",
    "non accelerated filer": "Non-accelerated Filer",
}


class TransformationError(ValueError):
    """A text that its format does not allow, or a format that finapi does not know."""


def transform_text(namespace: str, name: str, text: str) -> str:
    """Return the value of a printed text, given the namespace and the local name of its format.

    A number is returned without sign and scale, which are attributes of the fact. A date is YYYY-MM-DD, --MM-DD or
    YYYY-MM, a duration is P1Y6M. Raise TransformationError if the text has no value in this format.
    """
    if len(text) > MAX_TEXT_CHARACTERS:
        raise TransformationError(f"{len(text)} characters are more than any format allows")
    # Replace full-width digits by ASCII digits, and white space of any kind, such as a no-break space, by one space.
    plain_text = " ".join(_normalise_digits(text).split())
    if namespace in _REGISTRIES:
        return _transform_standard(_OLDER_NAMES.get(name, name), plain_text)
    if namespace == _SEC_REGISTRY and name in _SEC_TRANSFORMATIONS:
        return _SEC_TRANSFORMATIONS[name](plain_text)
    raise TransformationError(f"the format {name[:80]} of {namespace[:100]} is not known")


def _transform_standard(name: str, text: str) -> str:
    if name in _FIXED_VALUES:
        return _FIXED_VALUES[name]
    if name in _NUMBER_TRANSFORMATIONS:
        return _NUMBER_TRANSFORMATIONS[name](text)
    parts = name.split("-")
    if parts[0] == "date":
        language = parts.pop() if len(parts[-1]) == 2 else ""
        if parts[1:] and _DATE_PARTS.issuperset(parts[1:]):
            return _parse_date(parts[1:], language, text)
    raise TransformationError(f"the format {name[:80]} is not supported")


def _normalise_digits(text: str) -> str:
    if text.isascii():
        return text
    return "".join(
        str(unicodedata.decimal(character)) if "\uff10" <= character <= "\uff19" else character for character in text
    )


# ---- numbers


def _parse_number(text: str, group_characters: str, decimal_mark: str) -> str:
    number = text.translate({ord(character): None for character in f" {group_characters}"})
    if decimal_mark != ".":
        number = number.replace(decimal_mark, ".")
    if _DECIMAL.fullmatch(number) is None:
        raise TransformationError(f"{text[:40]!r} is not a number")
    return f"0{number}" if number.startswith(".") else number


def _parse_dot_decimal(text: str) -> str:
    return _parse_number(text, ",", ".")


def _parse_comma_decimal(text: str) -> str:
    return _parse_number(text, ".", ",")


def _parse_dot_decimal_with_apostrophes(text: str) -> str:
    return _parse_number(text, f",{_APOSTROPHES}", ".")


def _parse_comma_decimal_with_apostrophes(text: str) -> str:
    return _parse_number(text, f".{_APOSTROPHES}", ",")


def _parse_decimal_with_units(text: str) -> str:
    """Return the number of a text such as "1,234 dollars 56 cents"."""
    match = _NUMBER_WITH_UNITS.fullmatch(text)
    if match is None:
        raise TransformationError(f"{text[:40]!r} is not a number with two units")
    return f"{re.sub('[^0-9]', '', match[1])}.{match[2].zfill(2)}"


def _parse_dash(text: str) -> str:
    if len(text) != 1 or text not in _DASHES:
        raise TransformationError(f"{text[:40]!r} is not a dash")
    return "0"


def _refuse_special_number(text: str) -> str:
    """Raise TransformationError: infinity and "not a number" are not figures."""
    raise TransformationError("infinity and not-a-number are not supported")


def _parse_number_in_words(text: str) -> str:
    words = _split_words(text)
    if len(words) == 1 and words[0] in _NONE_WORDS:
        return "0"
    return str(_convert_number_words(words, text))


def _split_words(text: str) -> list[str]:
    """Return the words of a text in lower case, split at white space, dashes and commas, without "and"."""
    words = _WORD_BREAK.sub(" ", text).casefold().split()
    return [word for word in words if word != "and"]


def _convert_number_words(words: Sequence[str], text: str) -> int:
    """Return the number that words such as "two hundred thirty four thousand" stand for.

    Raise TransformationError if the words are out of order, such as "two thirty" or "one thousand million". ``text`` is
    the complete text, for the message.
    """
    total = 0
    group = 0
    # Numbers that follow in the group must be below this: after "twenty", only 1 to 9.
    limit = 100
    last_magnitude = 1000 ** (len(_MAGNITUDES) + 1)
    for word in words:
        if word in _MAGNITUDES and group and _MAGNITUDES[word] < last_magnitude:
            last_magnitude = _MAGNITUDES[word]
            total += group * last_magnitude
            group = 0
            limit = 100
        elif word == "hundred" and 0 < group < 20:
            group *= 100
            limit = 100
        elif word in _TENS and limit == 100:
            group += _TENS[word]
            limit = 10
        elif word in _SMALL_NUMBERS and _SMALL_NUMBERS[word] < limit and (_SMALL_NUMBERS[word] or len(words) == 1):
            group += _SMALL_NUMBERS[word]
            limit = 0
        else:
            raise TransformationError(f"{text[:40]!r} is not a number in words")
    if not words:
        raise TransformationError("a number in words is empty")
    return total + group


# ---- dates


def _parse_date(parts: Sequence[str], language: str, text: str) -> str:
    """Return the date of a text that has these parts in this order, for example day, monthname and year."""
    numbers = _YEAR_OR_PART.findall(text)
    numeric_parts = [part for part in parts if part in ("day", "month", "year")]
    if len(numbers) != len(numeric_parts):
        raise TransformationError(f"{text[:40]!r} does not have the parts {' '.join(parts)}")
    values = dict(zip(numeric_parts, numbers, strict=True))
    if "month" in values:
        month = int(values["month"][:3])
    else:
        month = _parse_month(text, language, is_roman="monthroman" in parts)
    if len(values.get("day", "")) > 2 or len(values.get("month", "")) > 2:
        raise TransformationError(f"{text[:40]!r} has a day or month of more than two digits")
    # In a leap year, so that 29 February without a year is valid.
    year = _complete_year(values["year"], text) if "year" in values else "2000"
    try:
        day = date(int(year), month, int(values.get("day", "1")))
    except ValueError:
        raise TransformationError(f"{text[:40]!r} is not a date") from None
    if "day" not in values:
        return f"{year}-{month:02}"
    return day.isoformat() if "year" in values else f"--{month:02}-{day.day:02}"


def _complete_year(digits: str, text: str) -> str:
    """Return a year with four digits: 8 is 2008, 18 is 2018."""
    if len(digits) not in (1, 2, 4):
        raise TransformationError(f"{text[:40]!r} has a year of {len(digits)} digits")
    return digits if len(digits) == 4 else f"20{digits.zfill(2)}"


def _parse_month(text: str, language: str, *, is_roman: bool) -> int:
    """Return the month (1 to 12) that a text names. Other words of the text are ignored."""
    months = set()
    for word in _WORD.findall(text):
        month = _find_roman_month(word) if is_roman else _find_named_month(_remove_accents(word), language)
        if month is not None:
            months.add(month)
    if len(months) != 1:
        raise TransformationError(f"{text[:40]!r} does not name one month")
    return months.pop()


def _find_roman_month(word: str) -> int | None:
    return _ROMAN_MONTHS.index(word.casefold()) + 1 if word.casefold() in _ROMAN_MONTHS else None


def _find_named_month(word: str, language: str) -> int | None:
    if language == "en":
        for number, name in enumerate(_ENGLISH_MONTHS, 1):
            if word == name or (word == name[: len(word)] and len(word) in (3, 4)):
                return number
        return None
    beginnings = _load_months(language)
    # The longest beginning decides: Czech "cervenec" is July, "cerven" is June.
    matches = [beginning for beginning in beginnings if word.startswith(beginning)]
    return beginnings[max(matches, key=len)] if matches else None


@cache
def _load_months(language: str) -> Mapping[str, int]:
    if language not in _MONTHS:
        raise TransformationError(f"the months of the language {language!r} are not known")
    return {
        beginning: number for number, names in enumerate(_MONTHS[language].split(), 1) for beginning in names.split("/")
    }


def _remove_accents(word: str) -> str:
    decomposed = unicodedata.normalize("NFD", word.casefold())
    return "".join(character for character in decomposed if not unicodedata.combining(character))


def _parse_quarter_end(text: str) -> str:
    """Return the last day of a quarter such as "first quarter 2019", "Q1 2019" or "2019, last quarter"."""
    years = re.findall(r"(?<![0-9])[0-9]{4}(?![0-9])", text)
    words = re.findall(r"[1-4](?![0-9])(?<![0-9][1-4])|[a-z]+", text.casefold().replace("q", "q "))
    quarters = {_QUARTERS[word] for word in words if word in _QUARTERS}
    if len(years) != 1 or len(quarters) != 1:
        raise TransformationError(f"{text[:40]!r} is not a quarter of a year")
    return f"{years[0]}-{_QUARTER_ENDS[quarters.pop()]}"


# ---- durations


def _parse_decimal(text: str) -> tuple[str, Decimal]:
    """Return the sign ("-" or "") and the absolute value of a decimal number."""
    match = _SIGNED_DECIMAL.fullmatch(text.replace(" ", ""))
    if match is None:
        raise TransformationError(f"{text[:40]!r} is not a number")
    number = Decimal(match[2])
    return "-" if match[1] == "-" and number else "", number


def _split_fraction(number: Decimal, factor: Decimal | int) -> tuple[int, Decimal]:
    """Return the integer part of a number, and its fraction times ``factor``: 1.5 years are 1 and 6 with factor 12."""
    integer = int(number)
    return integer, (number - integer) * factor


def _parse_years(text: str) -> str:
    sign, number = _parse_decimal(text)
    years, remaining_months = _split_fraction(number, 12)
    months, days = _split_fraction(remaining_months, _DAYS_IN_MONTH)
    return f"{sign}P{years}Y" + (f"{months}M" if months else "") + (f"{int(days)}D" if int(days) else "")


def _parse_months(text: str) -> str:
    sign, number = _parse_decimal(text)
    months, days = _split_fraction(number, _DAYS_IN_MONTH)
    return f"{sign}P{months}M" + (f"{int(days)}D" if int(days) else "")


def _parse_weeks(text: str) -> str:
    sign, number = _parse_decimal(text)
    return f"{sign}P{int(number * 7)}D"


def _parse_days(text: str) -> str:
    sign, number = _parse_decimal(text)
    days, hours = _split_fraction(number, 24)
    return f"{sign}P{days}D" + (f"T{int(hours)}H" if int(hours) else "")


def _parse_hours(text: str) -> str:
    sign, number = _parse_decimal(text)
    return f"{sign}PT{int(number)}H"


def _parse_duration_in_words(text: str) -> str:
    """Return the duration of a text such as "three years and six months" or "thirty-day"."""
    duration = ""
    seen_units = ""
    words: list[str] = []
    for word in _split_words(text):
        unit = _DURATION_UNITS.get(word.removesuffix("s"))
        if unit is None:
            words.append(word)
            continue
        # Years come before months and months before days, each at most once.
        if seen_units and "YMD".index(unit) <= "YMD".index(seen_units[-1]):
            raise TransformationError(f"{text[:40]!r} is not a duration")
        seen_units += unit
        number = _parse_duration_number(words, text)
        duration += f"{number}{unit}" if number else ""
        words = []
    if words or not seen_units:
        raise TransformationError(f"{text[:40]!r} is not a duration")
    return f"P{duration or '0D'}"


def _parse_duration_number(words: Sequence[str], text: str) -> int:
    if len(words) == 1 and re.fullmatch(r"[0-9]{1,4}", words[0]):
        return int(words[0])
    if len(words) == 1 and words[0] in _NONE_WORDS:
        return 0
    return _convert_number_words(words, text)


# ---- names and boxes of cover pages


def _parse_boolean_box(text: str) -> str:
    return "true" if _is_box_ticked(text) else "false"


def _parse_yes_no_box(text: str) -> str:
    return "Yes" if _is_box_ticked(text) else "No"


def _is_box_ticked(text: str) -> bool:
    if text not in _BALLOT_BOXES:
        raise TransformationError(f"{text[:40]!r} is not a ballot box")
    return _BALLOT_BOXES[text]


def _parse_place(text: str, system: CodeSystem) -> str:
    code = find_place_code(text.replace("\u2019", "'"), system)
    if code is None:
        raise TransformationError(f"{text[:40]!r} is not the name of a known place")
    return code


def _parse_country(text: str) -> str:
    return _parse_place(text, "iso")


def _parse_state(text: str) -> str:
    return _parse_place(text, "postal")


def _parse_edgar_place(text: str) -> str:
    return _parse_place(re.sub(r",? Canada$", "", text) or text, "edgar")


def _parse_exchange(text: str) -> str:
    name = _EXCHANGE_SUFFIX.sub("", text.casefold().removeprefix("the "))
    if name not in _EXCHANGES:
        raise TransformationError(f"{text[:40]!r} is not the name of a known exchange")
    return _EXCHANGES[name]


def _parse_filer_category(text: str) -> str:
    category = " ".join(_split_words(text))
    if category not in _FILER_CATEGORIES:
        raise TransformationError(f"{text[:40]!r} is not a category of filers")
    return _FILER_CATEGORIES[category]


_FIXED_VALUES = {"fixed-empty": "", "fixed-false": "false", "fixed-true": "true", "fixed-zero": "0"}
_NUMBER_TRANSFORMATIONS: dict[str, Callable[[str], str]] = {
    "num-comma-decimal": _parse_comma_decimal,
    "num-comma-decimal-apos": _parse_comma_decimal_with_apostrophes,
    "num-dot-decimal": _parse_dot_decimal,
    "num-dot-decimal-apos": _parse_dot_decimal_with_apostrophes,
    "num-unit-decimal": _parse_decimal_with_units,
    "num-unit-decimal-apos": _parse_decimal_with_units,
    "zerodash": _parse_dash,
}
_SEC_TRANSFORMATIONS: dict[str, Callable[[str], str]] = {
    "boolballotbox": _parse_boolean_box,
    "countrynameen": _parse_country,
    "datequarterend": _parse_quarter_end,
    "durday": _parse_days,
    "durhour": _parse_hours,
    "durmonth": _parse_months,
    "durweek": _parse_weeks,
    "durwordsen": _parse_duration_in_words,
    "duryear": _parse_years,
    "edgarprovcountryen": _parse_edgar_place,
    "entityfilercategoryen": _parse_filer_category,
    "exchnameen": _parse_exchange,
    "numinf": _refuse_special_number,
    "numnan": _refuse_special_number,
    "numneginf": _refuse_special_number,
    "numwordsen": _parse_number_in_words,
    "stateprovnameen": _parse_state,
    "yesnoballotbox": _parse_yes_no_box,
}
