-- The market data as they were known at the end of a day: temporary views with the names of the tables that they hide.
-- finapi/store/as_of.py creates them in a connection, so that every query reads them instead of the tables.
--
-- as_of_day is a temporary table with one row: the day as a text and as a number (schema.sql, *_day). Documents that
-- were filed later, or whose filing day is not known, are not visible. A row that a later document replaced is valid.
-- Views of schema.sql are created again after these, so that they read them too. {TABLE without COLUMNS} stands for all
-- columns of a table except those that the view computes.

-- 8. Filings

CREATE TEMP VIEW filings AS
SELECT * FROM main.filings WHERE filed_at <= (SELECT day FROM as_of_day);

-- likely() lets SQLite prefer the days of a query, which are fewer, for its search of the index.
CREATE TEMP VIEW filing_terms AS
SELECT * FROM main.filing_terms
WHERE likely(filed_at > '') AND likely(filed_at <= (SELECT day FROM as_of_day));

CREATE TEMP VIEW term_counts AS
SELECT term, (
    SELECT count(*) FROM main.filing_terms AS filing_term
    WHERE filing_term.term = counted.term AND filed_at > '' AND filed_at <= (SELECT day FROM as_of_day)
) AS filings
FROM main.term_counts AS counted
WHERE EXISTS (
    SELECT 1 FROM main.filing_terms AS filing_term
    WHERE filing_term.term = counted.term AND filed_at > '' AND filed_at <= (SELECT day FROM as_of_day)
);

CREATE TEMP VIEW form_entities AS
SELECT * FROM main.form_entities AS entity
WHERE EXISTS (
    SELECT 1
    FROM main.filing_terms AS company_term
    JOIN main.filing_terms AS form_term ON form_term.term = 'f' || entity.form
        AND form_term.filed_at = company_term.filed_at AND form_term.number = company_term.number
    WHERE company_term.term = 'c' || entity.cik AND company_term.filed_at > ''
        AND company_term.filed_at <= (SELECT day FROM as_of_day)
);

CREATE TEMP VIEW submission_pages AS
SELECT * FROM main.submission_pages WHERE first <= (SELECT day FROM as_of_day);

-- 7. Companies: those with a visible filing, under the name that they had

CREATE TEMP VIEW companies AS
-- Most companies have no former name. Only for the others the names are sorted.
SELECT {companies without name}, iif(
    EXISTS (SELECT 1 FROM main.former_names AS earlier WHERE earlier.cik = company.cik),
    coalesce((
        SELECT earlier.name FROM main.former_names AS earlier
        WHERE earlier.cik = company.cik AND substr(earlier.to_date, 1, 10) > (SELECT day FROM as_of_day)
            AND coalesce(substr(earlier.from_date, 1, 10), '') <= (SELECT day FROM as_of_day)
        ORDER BY earlier.to_date
        LIMIT 1
    ), name),
    name
) AS name
FROM main.companies AS company
WHERE EXISTS (
    SELECT 1 FROM main.filing_terms AS filing_term
    WHERE filing_term.term = 'c' || company.cik AND filed_at > '' AND filed_at <= (SELECT day FROM as_of_day)
);

CREATE TEMP VIEW former_names AS
SELECT * FROM main.former_names WHERE substr(to_date, 1, 10) <= (SELECT day FROM as_of_day);

CREATE TEMP VIEW tickers AS
SELECT * FROM main.tickers
WHERE EXISTS (
    SELECT 1 FROM main.filing_terms AS filing_term
    WHERE filing_term.term = 'c' || tickers.cik AND filed_at > '' AND filed_at <= (SELECT day FROM as_of_day)
);

-- 9. Documents

CREATE TEMP VIEW filing_bodies AS
SELECT * FROM main.filing_bodies
WHERE EXISTS (
    SELECT 1 FROM main.filings
    WHERE filings.id = filing_bodies.filing_id AND filings.filed_at <= (SELECT day FROM as_of_day)
);

CREATE TEMP VIEW filing_texts AS
SELECT * FROM main.filing_texts
WHERE EXISTS (
    SELECT 1 FROM main.filing_bodies AS body
    JOIN main.filings ON filings.id = body.filing_id
    WHERE body.id = filing_texts.body_id AND filings.filed_at <= (SELECT day FROM as_of_day)
);

CREATE TEMP VIEW filing_bodies_size AS
SELECT bytes, exhibit_bytes, (SELECT count(*) FROM temp.filing_bodies WHERE is_searchable) AS documents,
    (SELECT count(*) FROM temp.filing_texts) AS texts, characters
FROM main.filing_bodies_size;

-- 10 and 11. Statements and facts

CREATE TEMP VIEW reports AS
SELECT * FROM main.reports
WHERE EXISTS (
    SELECT 1 FROM main.filings
    WHERE filings.id = reports.filing_id AND filings.filed_at <= (SELECT day FROM as_of_day)
);

CREATE TEMP VIEW fact_sets AS
SELECT * FROM main.fact_sets
WHERE EXISTS (
    SELECT 1 FROM main.filings
    WHERE filings.id = fact_sets.filing_id AND filings.filed_at <= (SELECT day FROM as_of_day)
);

-- Figures that are computed in advance belong to today. The stamp remains, because caches depend on it.
CREATE TEMP VIEW latest_years AS
SELECT cik, stamp, NULL AS made_of, NULL AS made_by, NULL AS figures FROM main.latest_years
WHERE EXISTS (SELECT 1 FROM temp.fact_sets WHERE fact_sets.cik = latest_years.cik);

CREATE TEMP VIEW kept_books AS
SELECT * FROM main.kept_books WHERE 0;

CREATE TEMP VIEW filed_splits AS
SELECT * FROM main.filed_splits
WHERE EXISTS (
    SELECT 1 FROM main.filings
    WHERE filings.accession = filed_splits.accession AND filings.filed_at <= (SELECT day FROM as_of_day)
);

-- 12. Prices

CREATE TEMP VIEW prices AS
SELECT * FROM main.prices WHERE date <= (SELECT day FROM as_of_day);

CREATE TEMP VIEW price_actions AS
SELECT * FROM main.price_actions WHERE date <= (SELECT day FROM as_of_day);

CREATE TEMP VIEW price_series AS
SELECT * FROM main.price_series
WHERE EXISTS (
    SELECT 1 FROM main.prices WHERE prices.series_id = price_series.id AND date <= (SELECT day FROM as_of_day)
);

-- 13. Insiders. A row that an amendment restates is valid until the amendment is filed.

CREATE TEMP VIEW insider_forms AS
SELECT {insider_forms without is_superseded},
    is_superseded AND NOT EXISTS (
        SELECT 1 FROM main.insider_transactions AS trade
        JOIN main.insider_forms AS amendment ON amendment.id = trade.superseded_by
        WHERE trade.form_id = form_row.id AND amendment.filed_day > (SELECT number FROM as_of_day)
    ) AND NOT EXISTS (
        SELECT 1 FROM main.insider_positions AS holding
        JOIN main.insider_forms AS amendment ON amendment.id = holding.superseded_by
        WHERE holding.form_id = form_row.id AND amendment.filed_day > (SELECT number FROM as_of_day)
    ) AS is_superseded
FROM main.insider_forms AS form_row
WHERE filed_day > 0 AND filed_day <= (SELECT number FROM as_of_day);

CREATE TEMP VIEW insider_form_owners AS
SELECT * FROM main.insider_form_owners WHERE filed_day > 0 AND filed_day <= (SELECT number FROM as_of_day);

-- The group of a row is the row that stands for its trade today: its same_trade_as, or that of the row that restates it.
-- Of the rows of a group that are valid on the day, that row stands for the trade, or else the first one in the order of
-- same_trades.py. The others have its id.
CREATE TEMP VIEW insider_transactions AS
SELECT {insider_transactions without same_trade_as, superseded_by}, CASE WHEN superseded_by IS NOT NULL THEN (
        SELECT amendment.id FROM main.insider_forms AS amendment
        WHERE amendment.id = trade_row.superseded_by AND amendment.filed_day <= (SELECT number FROM as_of_day)
    ) END AS superseded_by, CASE WHEN same_trade_as IS NOT NULL OR superseded_by IS NOT NULL THEN (
        WITH members AS (
            SELECT member.id, member.form_id, member.seq, member.filed_day, member.superseded_by, coalesce(
                member.same_trade_as,
                (
                    SELECT coalesce(restated.same_trade_as, restated.id) FROM main.insider_transactions AS restated
                    WHERE restated.form_id = member.superseded_by AND restated.trade = member.trade
                    ORDER BY restated.seq
                    LIMIT 1
                ),
                member.id
            ) AS trade_group
            FROM main.insider_transactions AS member
            WHERE member.trade = trade_row.trade
        )
        SELECT nullif(members.id, trade_row.id)
        FROM members
        JOIN members AS this_row ON this_row.id = trade_row.id AND this_row.trade_group = members.trade_group
        WHERE members.filed_day > 0 AND members.filed_day <= (SELECT number FROM as_of_day)
            AND NOT EXISTS (
                SELECT 1 FROM main.insider_forms AS amendment
                WHERE amendment.id = members.superseded_by AND amendment.filed_day <= (SELECT number FROM as_of_day)
            )
        ORDER BY members.id = members.trade_group DESC, NOT EXISTS (
                SELECT 1 FROM main.insider_form_owners AS owner
                JOIN main.insiders AS person ON person.cik = owner.owner_cik AND NOT person.is_entity
                WHERE owner.form_id = members.form_id AND owner.roles & 3
            ), members.filed_day, members.form_id, members.seq
        LIMIT 1
    ) END AS same_trade_as
FROM main.insider_transactions AS trade_row
WHERE filed_day > 0 AND filed_day <= (SELECT number FROM as_of_day);

-- The form that a position is listed under on the day: the one of today if it was filed by then, or else its own. Queries
-- search positions by that form, so it is a table of the view. It lists its own positions and, if it is an amendment,
-- those of other forms of its owners.
CREATE TEMP VIEW insider_positions AS
SELECT holding.form_id, holding.seq, lister.id AS under, holding.class, holding.title, holding.derivative,
    holding.ownership, holding.nature, holding.vehicle, holding.amount, holding.amount_notes, (
        SELECT amendment.id FROM main.insider_forms AS amendment
        WHERE amendment.id = holding.superseded_by AND amendment.filed_day <= (SELECT number FROM as_of_day)
    ) AS superseded_by
FROM main.insider_forms AS lister
JOIN main.insider_positions AS holding ON holding.form_id IN (
    SELECT lister.id
    UNION ALL
    SELECT listed.form_id
    FROM main.insider_form_owners AS owner
    JOIN main.insider_form_owners AS listed ON listed.owner_cik = owner.owner_cik
    WHERE owner.form_id = lister.id AND lister.is_amendment
)
WHERE lister.id = coalesce((
        SELECT visible.id FROM main.insider_forms AS visible
        WHERE visible.id = holding.under AND visible.filed_day <= (SELECT number FROM as_of_day)
    ), holding.form_id)
    AND EXISTS (
        SELECT 1 FROM main.insider_forms AS form
        WHERE form.id = holding.form_id AND form.filed_day > 0 AND form.filed_day <= (SELECT number FROM as_of_day)
    );

CREATE TEMP VIEW insider_stake_forms AS
SELECT {insider_stake_forms without amended}, amended AND EXISTS (
    SELECT 1
    FROM main.insider_forms AS form
    JOIN main.insider_stake_forms AS later ON later.stake_id = stake_form.stake_id
    JOIN main.insider_forms AS amendment ON amendment.id = later.form_id AND amendment.is_amendment
        AND (amendment.period = form.period OR amendment.original_date = form.filed_at)
    WHERE form.id = stake_form.form_id AND later.form_id <> stake_form.form_id
        AND (later.filed_day, later.form_id) > (stake_form.filed_day, stake_form.form_id)
        AND later.filed_day <= (SELECT number FROM as_of_day)
) AS amended
FROM main.insider_stake_forms AS stake_form
WHERE filed_day > 0 AND filed_day <= (SELECT number FROM as_of_day);

CREATE TEMP VIEW insider_stakes AS
SELECT * FROM main.insider_stakes AS stake
WHERE EXISTS (
    SELECT 1 FROM main.insider_stake_forms AS stake_form
    WHERE stake_form.stake_id = stake.id AND filed_day > 0 AND filed_day <= (SELECT number FROM as_of_day)
);

CREATE TEMP VIEW insiders AS
SELECT * FROM main.insiders
WHERE EXISTS (
    SELECT 1 FROM main.insider_form_owners AS owner
    WHERE owner.owner_cik = insiders.cik AND filed_day > 0 AND filed_day <= (SELECT number FROM as_of_day)
);

CREATE TEMP VIEW insider_words AS
SELECT * FROM main.insider_words AS named
WHERE CASE kind WHEN 0 THEN EXISTS (
    SELECT 1 FROM main.insider_form_owners AS owner
    WHERE owner.owner_cik = named.cik AND filed_day > 0 AND filed_day <= (SELECT number FROM as_of_day)
) ELSE EXISTS (
    SELECT 1 FROM main.insider_forms AS form
    WHERE form.issuer_cik = named.cik AND filed_day > 0 AND filed_day <= (SELECT number FROM as_of_day)
) END;

-- 16. Beneficial owners. A report is current until a later one is filed (queries update_current_persons and
-- update_latest_schedules).

CREATE TEMP VIEW schedule_persons AS
SELECT {schedule_persons without is_current},
    is_current OR (NOT EXISTS (
        SELECT 1 FROM main.schedule_persons AS later
        WHERE later.prior_id = person.id AND later.filed_day > 0
            AND later.filed_day <= (SELECT number FROM as_of_day)
    ) AND NOT EXISTS (
        SELECT 1 FROM main.schedule_persons AS later
        WHERE later.issuer_cik = person.issuer_cik AND later.holder = person.holder AND later.cusip = person.cusip
            AND (later.filed_day, later.filing_id) > (person.filed_day, person.filing_id)
            AND later.filed_day <= (SELECT number FROM as_of_day)
    )) AS is_current
FROM main.schedule_persons AS person
WHERE filed_day > 0 AND filed_day <= (SELECT number FROM as_of_day);

CREATE TEMP VIEW schedule_filings AS
SELECT {schedule_filings without is_latest},
    is_latest OR (NOT EXISTS (
        SELECT 1 FROM temp.schedule_persons AS leading
        WHERE leading.filing_id = filing.id AND leading.seq = filing.lead_seq AND NOT leading.is_current
    ) AND NOT EXISTS (
        SELECT 1 FROM main.schedule_filings AS later
        WHERE later.prior_id = filing.id AND later.is_amendment AND later.kind = filing.kind AND later.filed_day > 0
            AND later.filed_day <= (SELECT number FROM as_of_day)
    )) AS is_latest
FROM main.schedule_filings AS filing
WHERE filed_day > 0 AND filed_day <= (SELECT number FROM as_of_day);

CREATE TEMP VIEW schedule_words AS
SELECT * FROM main.schedule_words AS named
WHERE EXISTS (
    SELECT 1 FROM main.schedule_persons AS person
    WHERE person.holder = named.holder AND filed_day > 0 AND filed_day <= (SELECT number FROM as_of_day)
);

CREATE TEMP VIEW sale_notices AS
SELECT * FROM main.sale_notices WHERE filed_day > 0 AND filed_day <= (SELECT number FROM as_of_day);

CREATE TEMP VIEW holders AS
SELECT id, cik, form_4, form_13f, form_13dg, form_4 + form_13f + form_13dg AS filings
FROM (
    SELECT id, cik, (
            SELECT count(*) FROM main.insider_form_owners AS owner
            WHERE owner.owner_cik = holder.cik AND filed_day > 0 AND filed_day <= (SELECT number FROM as_of_day)
        ) AS form_4, (
            SELECT count(*) FROM main.holdings_reports AS report
            WHERE report.cik = holder.cik AND filed_at > '' AND filed_at <= (SELECT day FROM as_of_day)
        ) AS form_13f, (
            SELECT count(DISTINCT filing_id) FROM main.schedule_persons AS person
            WHERE person.holder = holder.id AND filed_day > 0 AND filed_day <= (SELECT number FROM as_of_day)
        ) AS form_13dg
    FROM main.holders AS holder
    LIMIT -1
)
WHERE form_4 + form_13f + form_13dg > 0;

-- 15. Form 13F

CREATE TEMP VIEW holdings_reports AS
SELECT * FROM main.holdings_reports WHERE filed_at > '' AND filed_at <= (SELECT day FROM as_of_day);

CREATE TEMP VIEW funds AS
SELECT {funds without filing_count, latest_period, latest_filed_at, latest_value}, (
        SELECT count(DISTINCT accession) FROM temp.holdings_reports AS report WHERE report.cik = fund.cik
    ) AS filing_count, (
        SELECT period FROM temp.fund_quarters AS quarter WHERE quarter.cik = fund.cik ORDER BY period DESC LIMIT 1
    ) AS latest_period, (
        SELECT max(filed_at) FROM temp.holdings_reports AS report WHERE report.cik = fund.cik
    ) AS latest_filed_at, (
        SELECT value FROM temp.fund_quarters AS quarter WHERE quarter.cik = fund.cik ORDER BY period DESC LIMIT 1
    ) AS latest_value
FROM main.funds AS fund
WHERE EXISTS (SELECT 1 FROM temp.holdings_reports AS report WHERE report.cik = fund.cik);

-- A quarter is stored as its newest reports and those of the quarter before say. It is visible if all of them are; calls
-- refuse the days between (funds.check_past_state).
CREATE TEMP VIEW fund_quarters AS
SELECT * FROM main.fund_quarters AS quarter
WHERE NOT EXISTS (
    SELECT 1 FROM main.holdings_reports AS report
    WHERE report.cik = quarter.cik
        AND report.period IN (quarter.period, date(quarter.period, 'start of month', '-2 months', '-1 day'))
        AND (report.filed_at = '' OR report.filed_at > (SELECT day FROM as_of_day))
);

CREATE TEMP VIEW fund_words AS
SELECT * FROM main.fund_words AS named
WHERE EXISTS (
    SELECT 1 FROM main.holdings_reports AS report
    WHERE report.cik = named.cik AND filed_at > '' AND filed_at <= (SELECT day FROM as_of_day)
);

-- 17. Funds and ETFs. A report is current until a better one of its fund and period is filed
-- (market/funds/fund_report_store.py, _rank_report and _rank_period).

CREATE TEMP VIEW fund_reports AS
SELECT {fund_reports without is_current, is_latest}, is_current, is_current AND NOT EXISTS (
        SELECT 1 FROM main.fund_reports AS other
        WHERE other.fund_id = current.fund_id AND other.filed_at <= (SELECT day FROM as_of_day)
            AND (other.period <= other.filed_at, other.period) > (current.period <= current.filed_at, current.period)
    ) AS is_latest
FROM (
    SELECT {fund_reports without is_current, is_latest}, NOT EXISTS (
        SELECT 1 FROM main.fund_reports AS other
        WHERE other.fund_id = report.fund_id AND other.period = report.period
            AND other.filed_at <= (SELECT day FROM as_of_day)
            AND (other.position_count > 0 OR coalesce(CAST(other.net_assets AS REAL), 0) = 0, other.filed_at,
                other.accession)
            > (report.position_count > 0 OR coalesce(CAST(report.net_assets AS REAL), 0) = 0, report.filed_at,
                report.accession)
    ) AS is_current
    FROM main.fund_reports AS report
    WHERE filed_at <= (SELECT day FROM as_of_day)
) AS current;
