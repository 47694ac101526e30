"""The codes of countries, states and provinces that inline XBRL derives from printed names.

Sources: ISO 3166-1, EDGAR's state and country codes, and the postal codes of the USA and Canada.
"""

from __future__ import annotations

from functools import cache
from typing import Literal, NamedTuple

CodeSystem = Literal["iso", "edgar", "postal"]


class PlaceCodes(NamedTuple):
    """The codes of a place, "" where a code system has none."""

    iso: str
    edgar: str
    postal: str


# Name, ISO code, EDGAR code and postal code.
_TABLE = """
Afghanistan|AF|B2|
Alabama|||AL
Aland Islands|AX|Y6|
Alaska|||AK
Albania|AL|B3|
Alberta||A0|AB
Algeria|DZ|B4|
American Samoa|AS|B5|AS
Andorra|AD|B6|
Angola|AO|B7|
Anguilla|AI|1A|
Antarctica|AQ|B8|
Antigua and Barbuda|AG|B9|
Argentina|AR|C1|
Arizona|||AZ
Arkansas|||AR
Armenia|AM|1B|
Aruba|AW|1C|
Australia|AU|C3|
Austria|AT|C4|
Azerbaijan|AZ|1D|
Bahamas|BS|C5|
Bahrain|BH|C6|
Bangladesh|BD|C7|
Barbados|BB|C8|
Belarus|BY|1F|
Belgium|BE|C9|
Belize|BZ|D1|
Benin|BJ|G6|
Bermuda|BM|D0|
Bhutan|BT|D2|
Bolivia|BO|D3|
Bonaire, Sint Eustatius and Saba|BQ||
Bosnia and Herzegovina|BA|1E|
Botswana|BW|B1|
Bouvet Island|BV|D4|
Brasil|BR|D5|
Brazil|BR|D5|
Britain|GB|X0|
British Columbia||A1|BC
British Indian Ocean Territory|IO|D6|
British Virgin Islands|VG|D8|
Brunei Darussalam|BN|D9|
Bulgaria|BG|E0|
Burkina Faso|BF|X2|
Burundi|BI|E2|
Cabo Verde|CV|E8|
California|||CA
Cambodia|KH|E3|
Cameroon|CM|E4|
Canada|CA|Z4|
Cayman Islands|KY|E9|
Central African Republic|CF|F0|
Chad|TD|F2|
Chile|CL|F3|
China|CN|F4|
Christmas Island|CX|F6|
Cocos (Keeling) Islands|CC|F7|
Cocos Islands|CC|F7|
Colombia|CO|F8|
Colorado|||CO
Comoros|KM|F9|
Congo|CG|G0|
Connecticut|||CT
Cook Islands|CK|G1|
Costa Rica|CR|G2|
Cote d'Ivoire|CI|L7|
Croatia|HR|1M|
Cuba|CU|G3|
Curacao|CW||
Curaçao|CW||
Cyprus|CY|G4|
Czech Republic|CZ|2N|
Czechia|CZ|2N|
Côte d'Ivoire|CI|L7|
Delaware|||DE
Democratic People's Republic of Korea|KP|M4|
Democratic Republic of Congo|CD|Y3|
Democratic Republic of the Congo|CD|Y3|
Denmark|DK|G7|
District of Columbia|||DC
Djibouti|DJ|1G|
Dominica|DM|G9|
Dominican Republic|DO|G8|
Ecuador|EC|H1|
Egypt|EG|H2|
El Salvador|SV|H3|
England|GB|X0|
England and Wales|GB|X0|
Equatorial Guinea|GQ|H4|
Eritrea|ER|1J|
España|ES|U3|
Estonia|EE|1H|
Eswatini|SZ||
Ethiopia|ET|H5|
Falkland Islands|FK|H7|
Faroe Islands|FO|H6|
Fiji|FJ|H8|
Finland|FI|H9|
Florida|||FL
France|FR|I0|
French Guiana|GF|I3|
French Polynesia|PF|I4|
French Southern Territories|TF|2C|
Gabon|GA|I5|
Gambia|GM|I6|
Georgia|GE|2Q|GA
Germany|DE|2M|
Ghana|GH|J0|
Gibraltar|GI|J1|
Great Britain|GB|X0|
Greece|GR|J3|
Greenland|GL|J4|
Grenada|GD|J5|
Guadeloupe|GP|J6|
Guam|GU|GU|GU
Guatemala|GT|Y7|
Guernsey|GG|J9|
Guinea|GN|S0|
Guinea-Bissau|GW|K0|
Guyana|GY|K1|
Haiti|HT|K4|
Hawaii|||HI
Heard Island and McDonald Islands|HM|X4|
Holy See|VA|K2|
Honduras|HN|K3|
Hong Kong|HK|K5|
Hungary|HU|K6|
Iceland|IS|K7|
Idaho|||ID
Illinois|||IL
India|IN|K8|
Indiana|||IN
Indonesia|ID|K9|
Iowa|||IA
Iran|IR|L0|
Iraq|IQ|L1|
Ireland|IE|L2|
Islas Malvinas|FK|H7|
Isle of Man|IM|Y8|
Israel|IL|L3|
Italy|IT|L6|
Jamaica|JM|L8|
Japan|JP|M0|
Jersey|JE|Y9|
Jordan|JO|M2|
Kansas|||KS
Kazakhstan|KZ|1P|
Kentucky|||KY
Kenya|KE|M3|
Kiribati|KI|J2|
Kuwait|KW|M6|
Kyrgyzstan|KG|1N|
Lao People's Democratic Republic|LA|M7|
Latvia|LV|1R|
Lebanon|LB|M8|
Lesotho|LS|M9|
Liberia|LR|N0|
Libya|LY|N1|
Liechtenstein|LI|N2|
Lithuania|LT|1Q|
Louisiana|||LA
Luxembourg|LU|N4|
Macao|MO|N5|
Macau|MO|N5|
Madagascar|MG|N6|
Maine|||ME
Malawi|MW|N7|
Malaysia|MY|N8|
Maldives|MV|N9|
Mali|ML|O0|
Malta|MT|O1|
Malvinas|FK|H7|
Manitoba||A2|MB
Marshall Islands|MH|1T|
Martinique|MQ|O2|
Maryland|||MD
Massachusetts|||MA
Mauritania|MR|O3|
Mauritius|MU|O4|
Mayotte|YT|2P|
Mexico|MX|O5|
Michigan|||MI
Micronesia|FM|1K|
Minnesota|||MN
Mississippi|||MS
Missouri|||MO
Moldova|MD|1S|
Monaco|MC|O9|
Mongolia|MN|P0|
Montana|||MT
Montenegro|ME|Z5|
Montserrat|MS|P1|
Morocco|MA|P2|
Mozambique|MZ|P3|
Myanmar|MM|E1|
Namibia|NA|T6|
Nauru|NR|P5|
Nebraska|||NE
Nepal|NP|P6|
Netherlands|NL|P7|
Netherlands Antilles||P8|
Nevada|||NV
New Brunswick||A3|NB
New Caledonia|NC|1W|
New Hampshire|||NH
New Jersey|||NJ
New Mexico|||NM
New York|||NY
New Zealand|NZ|Q2|
Newfoundland||A4|NL
Newfoundland and Labrador||A4|NL
Nicaragua|NI|Q3|
Niger|NE|Q4|
Nigeria|NG|Q5|
Niue|NU|Q6|
Norfolk Island|NF|Q7|
North Carolina|||NC
North Dakota|||ND
North Korea|KP|M4|
North Macedonia|MK|1U|
Northern Mariana Islands|MP|1V|MP
Northwest Territories|||NT
Norway|NO|Q8|
Nova Scotia||A5|NS
Nunavut|||NU
Ohio|||OH
Oklahoma|||OK
Oman|OM|P4|
Ontario||A6|ON
Oregon|||OR
Pakistan|PK|R0|
Palau|PW|1Y|
Palestine|PS|1X|
Panama|PA|R1|
Papua New Guinea|PG|R2|
Paraguay|PY|R4|
Pennsylvania|||PA
Peru|PE|R5|
Philippines|PH|R6|
Pitcairn|PN|R8|
Poland|PL|R9|
Portugal|PT|S1|
Prince Edward Island||A7|PE
Puerto Rico|PR|PR|PR
Qatar|QA|S3|
Quebec||A8|QC
Québec||A8|QC
Republic of Korea|KR|M5|
Reunion|RE|S4|
Rhode Island|||RI
Romania|RO|S5|
Russian Federation|RU|1Z|
Rwanda|RW|S6|
Réunion|RE|S4|
Saint Barthelemy|BL|Z0|
Saint Barthélemy|BL|Z0|
Saint Helena|SH|U8|
Saint Helena, Ascension and Tristan da Cunha|SH|U8|
Saint Kitts and Nevis|KN|U7|
Saint Lucia|LC|U9|
Saint Martin|MF|Z1|
Saint Pierre and Miquelon|PM|V0|
Saint Vincent|VC|V1|
Saint Vincent and the Grenadines|VC|V1|
Samoa|WS|Y0|AS
San Marino|SM|S8|
Sao Tome and Principe|ST|S9|
Saskatchewan||A9|SK
Saudi Arabia|SA|T0|
Senegal|SN|T1|
Serbia|RS|Z2|
Seychelles|SC|T2|
Sierra Leone|SL|T8|
Singapore|SG|U0|
Sint Maarten|SX||
Slovakia|SK|2B|
Slovenia|SI|2A|
Solomon Islands|SB|D7|
Somalia|SO|U1|
South Africa|ZA|T3|
South Carolina|||SC
South Dakota|||SD
South Georgia and the South Sandwich Islands|GS|1L|
South Korea|KR|M5|
South Sudan|SS||
Spain|ES|U3|
Sri Lanka|LK|F1|
Sudan|SD|V2|
Suriname|SR|V3|
Svalbard and Jan Mayen|SJ|L9|
Swaziland||V6|
Sweden|SE|V7|
Switzerland|CH|V8|
Syria|SY|V9|
Syrian Arab Republic|SY|V9|
Taiwan|TW|F5|
Taiwan, Province of China|TW|F5|
Tajikistan|TJ|2D|
Tanzania|TZ|W0|
Tennessee|||TN
Texas|||TX
Thailand|TH|W1|
Timor-Leste|TL|Z3|
Togo|TG|W2|
Tokelau|TK|W3|
Tonga|TO|W4|
Trinidad and Tobago|TT|W5|
Tunisia|TN|W6|
Turkey|TR|W8|
Turkiye|TR|W8|
Turkmenistan|TM|2E|
Turks and Caicos Islands|TC|W7|
Tuvalu|TV|2G|
Türkiye|TR|W8|
U.K.|GB|X0|
U.S.|US|X1|
U.S. Virgin Islands|VI|VI|
U.S.A.|US|X1|
UAE|AE|C0|
UK|GB|X0|
US|US|X1|
USA|US|X1|
Uganda|UG|W9|
Ukraine|UA|2H|
United Arab Emirates|AE|C0|
United Kingdom|GB|X0|
United Kingdom of Great Britain and Northern Ireland|GB|X0|
United Mexican States|MX|O5|
United States|US|X1|
United States Minor Outlying Islands|UM|2J|UM
United States of America|US|X1|
Unknown||XX|
Uruguay|UY|X3|
Utah|||UT
Uzbekistan|UZ|2K|
Vanuatu|VU|2L|
Vatican City|VA|K2|
Venezuela|VE|X5|
Vermont|||VT
Viet Nam|VN|Q1|
Virgin Islands, U.S.||VI|VI
Virgin Islands, US||VI|
Virginia|||VA
Wallis and Futuna|WF|X8|
Washington|||WA
West Virginia|||WV
Western Sahara|EH|U5|
Wisconsin|||WI
Wyoming|||WY
Yemen|YE|T7|
Yukon||B0|YT
Zambia|ZM|Y4|
Zimbabwe|ZW|Y5|
Åland Islands|AX|Y6|
"""


def find_place_code(name: str, system: CodeSystem) -> str | None:
    """Return the code of a place, or None for an unknown name. Case and white space do not matter."""
    codes = _load_codes().get(" ".join(name.split()).casefold())
    if codes is None:
        return None
    return {"iso": codes.iso, "edgar": codes.edgar, "postal": codes.postal}[system] or None


@cache
def _load_codes() -> dict[str, PlaceCodes]:
    codes = {}
    for line in _TABLE.strip().split("\n"):
        name, iso, edgar, postal = line.split("|")
        codes[name.casefold()] = PlaceCodes(iso, edgar, postal)
    return codes
