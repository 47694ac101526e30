-- name: cover_pages
-- The reports of some funds and filings, or the newest :looked reports, that match one of the alternatives in :choices.
-- An alternative matches if no condition fails. A condition fails if its result equals its "not". A report without a day
-- is in no range of days.
SELECT report.id, printf('%010d', report.cik) AS cik, accession AS accession_number, form AS form_type, amendment_type,
    period AS period_of_report, nullif(filed_at, '') AS filed_date, name AS filer_name, address, report_type,
    file_number, signer AS signing_officer, signer_title AS signing_officer_title,
    value_total * total_unit AS total_value_usd, entry_total AS holdings_count, row_count AS table_rows, value_unit_rule
FROM holdings_reports AS report
WHERE report.id IN (
    SELECT id FROM holdings_reports WHERE cik IN (SELECT value FROM json_each(:ciks))
    UNION ALL
    SELECT id FROM holdings_reports WHERE accession IN (SELECT value FROM json_each(:accessions))
    UNION ALL
    SELECT id FROM (
        SELECT id FROM holdings_reports WHERE filed_at >= '' ORDER BY filed_at DESC, accession DESC LIMIT :looked
    )
) AND EXISTS (
    SELECT 1
    FROM json_each(:choices) AS choice
    WHERE NOT EXISTS (
        SELECT 1
        FROM json_each(choice.value) AS test
        WHERE (test.value ->> 'not') = CASE test.value ->> 'field'
            WHEN 'period' THEN period BETWEEN coalesce(test.value ->> 'low', '') AND coalesce(test.value ->> 'high', 'a')
            WHEN 'filed' THEN filed_at BETWEEN coalesce(test.value ->> 'low', '0')
                AND coalesce(test.value ->> 'high', 'a')
            WHEN 'security' THEN EXISTS (
                SELECT 1 FROM positions AS held
                WHERE held.cik = report.cik AND held.period = report.period AND held.kind IN (0, 1, 2, 3)
                    AND held.security_id IN (SELECT value FROM json_each(test.value, '$.values')) AND held.status <> 5
            )
            ELSE CASE test.value ->> 'field' WHEN 'cik' THEN report.cik WHEN 'form' THEN form ELSE accession END
                IN (SELECT value FROM json_each(test.value, '$.values'))
        END
    )
)
ORDER BY filed_at DESC, accession DESC, report.id
LIMIT :limit OFFSET :offset

-- name: cover_page_beyond
SELECT 1 FROM holdings_reports WHERE filed_at >= '' ORDER BY filed_at DESC LIMIT 1 OFFSET :looked

-- name: fund_quarters_to_test
SELECT quarter.cik, quarter.period, report.accession, report.form, report.filed_at AS filed
FROM fund_quarters AS quarter
JOIN holdings_reports AS report ON report.id = quarter.report_id
WHERE quarter.cik = :cik
ORDER BY quarter.period DESC

-- name: fund_of_accession
SELECT cik FROM holdings_reports WHERE accession = :accession

-- name: positions_of_query
-- The positions at the end of a quarter, of the funds in :ciks and in the securities in :securities, that match one of
-- the alternatives in :choices. An alternative matches if no condition fails. A condition fails if its result equals its
-- "not".
SELECT printf('%010d', position.cik) AS cik, funds.name AS fund_name, position.security_id, position.kind = 0 AS in_shares,
    cusip, ticker, holding_names.issuer AS issuer_name, holding_names.title AS title_of_class,
    CASE position.kind WHEN 2 THEN 'Call' WHEN 3 THEN 'Put' END AS put_call, shares, position.value AS value_usd,
    position.status, previous_shares, shares - previous_shares AS change_shares, value_unit_rule,
    count(*) OVER () AS total
FROM (
    SELECT cik, kind, security_id FROM positions
    WHERE cik IN (SELECT value FROM json_each(:ciks)) AND period = :period
    UNION
    SELECT cik, kind, security_id FROM positions INDEXED BY positions_by_security
    WHERE security_id IN (SELECT value FROM json_each(:securities)) AND period = :period
) AS searched
JOIN positions AS position ON position.cik = searched.cik AND position.period = :period
    AND position.kind = searched.kind AND position.security_id = searched.security_id
JOIN securities ON securities.id = position.security_id
JOIN holding_names ON holding_names.id = position.name_id
JOIN holdings_reports AS report ON report.id = position.report_id
JOIN funds ON funds.cik = position.cik
WHERE position.status <> 5 AND EXISTS (
    SELECT 1
    FROM json_each(:choices) AS choice
    WHERE NOT EXISTS (
        SELECT 1
        FROM json_each(choice.value) AS test
        WHERE (test.value ->> 'not') = CASE test.value ->> 'field'
            WHEN 'period' THEN 1
            WHEN 'filed' THEN report.filed_at BETWEEN coalesce(test.value ->> 'low', '0')
                AND coalesce(test.value ->> 'high', 'a')
            ELSE CASE test.value ->> 'field' WHEN 'cik' THEN position.cik WHEN 'form' THEN report.form
                WHEN 'security' THEN position.security_id ELSE report.accession END
                IN (SELECT value FROM json_each(test.value, '$.values'))
        END
    )
)
ORDER BY
    CASE :sort WHEN 'value' THEN position.value WHEN 'shares' THEN shares WHEN 'change' THEN shares - previous_shares
        WHEN 'flow' THEN abs(coalesce(flow, 0)) END * :direction NULLS LAST,
    CASE WHEN :direction > 0 THEN CASE :sort WHEN 'name' THEN holding_names.issuer WHEN 'ticker' THEN ticker END
        END NULLS LAST,
    CASE WHEN :direction < 0 THEN CASE :sort WHEN 'name' THEN holding_names.issuer WHEN 'ticker' THEN ticker END
        END DESC NULLS LAST,
    position.value DESC, position.cik, cusip, position.kind
LIMIT :limit OFFSET :offset

-- name: ids_of_words
-- The securities of a ticker, and those whose issuer's name has words that begin with :words.
SELECT id FROM securities WHERE ticker = :ticker
UNION
SELECT named.security_id FROM security_words AS named
WHERE named.word >= :longest AND named.word < :longest || char(65535) AND NOT EXISTS (
    SELECT 1 FROM json_each(:words) AS wanted
    WHERE NOT EXISTS (
        SELECT 1 FROM security_words AS other
        WHERE other.security_id = named.security_id AND other.word >= wanted.value
            AND other.word < wanted.value || char(65535)
    )
)
LIMIT :limit

-- name: ids_of_ticker_or_cusip
SELECT id FROM securities WHERE ticker = :ticker
UNION ALL
SELECT id FROM securities WHERE cusip = :cusip
