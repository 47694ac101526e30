-- name: fund_name
SELECT name FROM funds WHERE cik = :cik

-- name: report_filed_later
-- A report that was filed after a day, or on an unknown day, and that the stored positions of a quarter with a report up
-- to that day depend on: one of the same quarter, or of the quarter before.
SELECT later.period, nullif(later.filed_at, '') AS filed_at
FROM holdings_reports AS report
JOIN main.holdings_reports AS later ON later.cik = report.cik
    AND later.period IN (report.period, date(report.period, 'start of month', '-2 months', '-1 day'))
    AND (later.filed_at = '' OR later.filed_at > :day)
WHERE report.cik = :cik AND (:period IS NULL OR report.period = :period)
ORDER BY later.period DESC, later.filed_at
LIMIT 1

-- name: fund_periods
-- A quarter whose reports were filed before its end comes last, so that it is not the default.
SELECT period FROM fund_quarters WHERE cik = :cik ORDER BY is_early, period DESC

-- name: latest_quarter_before
SELECT max(period) FROM fund_quarters WHERE is_early = 0 AND period < :period

-- name: fund_quarter_record
-- A table ties if it has the number of rows and the sum that its cover states. Each row in thousands was rounded by up
-- to 500 dollars.
SELECT printf('%010d', quarter.cik) AS cik, funds.name, report.signer AS signing_officer,
    nullif(funds.latest_filed_at, '') AS latest_filed_at, quarter.period, quarter.value, quarter.positions,
    quarter.new, quarter.increased, quarter.decreased, quarter.unchanged, quarter.closed, quarter.compared,
    CASE WHEN quarter.compared THEN NULL WHEN NOT quarter.complete THEN 'quarter_incomplete'
        WHEN NOT before.complete THEN 'previous_quarter_incomplete' ELSE 'previous_quarter_not_held' END AS reason,
    report.accession AS accession_no, report.form AS form_type, report.form GLOB '*/A' AS is_amendment,
    report.amendment_type, nullif(report.filed_at, '') AS filed_at,
    report.value_total * report.total_unit AS table_value_total, report.entry_total AS table_entry_total,
    report.row_count AS table_rows, report.row_value * report.value_unit AS table_rows_value,
    coalesce(report.entry_total = report.row_count
        AND abs(report.value_total * report.total_unit - report.row_value * report.value_unit)
            <= (report.total_unit <> report.value_unit) * 500 * max(1, report.row_count), 0) AS table_ties,
    report.corrected AS value_corrected, report.value_unit_rule, report.confidential_omitted,
    quarter.reports AS reports_united, report.rejected_count AS table_rows_rejected,
    quarter.is_early AS period_after_filing, quarter.retained AS positions_retained,
    CASE WHEN quarter.retained > 0 THEN 'drops_unchanged_positions' END AS restatement_doubt
FROM fund_quarters AS quarter
JOIN holdings_reports AS report ON report.id = quarter.report_id
JOIN funds ON funds.cik = quarter.cik
LEFT JOIN fund_quarters AS before ON before.cik = quarter.cik
    AND before.period = date(quarter.period, 'start of month', '-2 months', '-1 day')
WHERE quarter.cik = :cik AND (:period IS NULL OR quarter.period = :period)
ORDER BY quarter.is_early, quarter.period DESC
LIMIT 1

-- name: fund_change_counts
SELECT status, count(*) AS positions
FROM positions
WHERE cik = :cik AND period = :period AND (kind >= 2) = (:options = 'only')
GROUP BY status

-- name: values_of_positions
SELECT json_group_array(value)
FROM positions
WHERE cik = :cik AND period = :period
    AND CASE :options WHEN 'none' THEN kind < 2 WHEN 'only' THEN kind >= 2 ELSE 1 END
    AND CASE WHEN :status IS NULL THEN status <> 5 ELSE status = :status END

-- name: fund_positions
SELECT positions.security_id, kind = 0 AND status <> 5 AS in_shares, cusip, ticker, CASE WHEN ticker IS NOT NULL THEN evidence END AS ticker_evidence,
    holding_names.issuer AS name_of_issuer, holding_names.title AS title_of_class,
    CASE kind WHEN 1 THEN 'PRN' ELSE 'SH' END AS share_type, kind >= 2 AS is_option,
    CASE kind WHEN 2 THEN 'Call' WHEN 3 THEN 'Put' END AS put_call, shares, positions.value AS value_usd,
    discretion AS investment_discretion, managers AS other_managers, sole, shared, none, figi, status,
    previous_shares, previous_value AS previous_value_usd, split_factor, split_source, shares - previous_shares AS change_shares,
    value_unit_rule, positions.report_id, accession AS accession_no,
    positions.row_count AS table_rows, count(*) OVER () AS total
FROM positions
JOIN securities ON securities.id = positions.security_id
JOIN holding_names ON holding_names.id = positions.name_id
JOIN holdings_reports ON holdings_reports.id = positions.report_id
WHERE positions.cik = :cik AND positions.period = :period
    AND CASE :options WHEN 'none' THEN kind < 2 WHEN 'only' THEN kind >= 2 ELSE 1 END
    AND CASE WHEN :status IS NULL THEN status <> 5 ELSE status = :status END
    AND (:least IS NULL OR positions.value BETWEEN :least AND :most)
    AND (:search IS NULL OR ticker = :ticker
        OR instr(cusip || ' ' || coalesce(ticker, '') || ' ' || upper(holding_names.issuer), :search))
    AND (:choices IS NULL OR EXISTS (
        SELECT 1
        FROM json_each(:choices) AS choice
        WHERE NOT EXISTS (
            SELECT 1
            FROM json_each(choice.value) AS test
            WHERE (test.value ->> 'not') = CASE test.value ->> 'field'
                WHEN 'security' THEN securities.id IN (SELECT value FROM json_each(test.value, '$.values'))
                WHEN 'issuer' THEN instr(coalesce(ticker, '') || ' ' || upper(holding_names.issuer),
                    test.value ->> 'text') > 0
            END
        )
    ))
ORDER BY
    CASE :sort WHEN 'value' THEN positions.value WHEN 'shares' THEN shares WHEN 'change' THEN shares - previous_shares
        WHEN 'flow' THEN abs(coalesce(flow, 0)) END * :direction NULLS LAST,
    CASE WHEN :direction > 0 THEN CASE :sort WHEN 'name' THEN holding_names.issuer WHEN 'ticker' THEN ticker END
        END NULLS LAST,
    CASE WHEN :direction < 0 THEN CASE :sort WHEN 'name' THEN holding_names.issuer WHEN 'ticker' THEN ticker END
        END DESC NULLS LAST,
    positions.value DESC, cusip, kind
LIMIT :limit OFFSET :offset

-- name: fund_value_by_group
SELECT securities.sic_group, sum(positions.value) AS value, count(*) AS positions
FROM positions
JOIN securities ON securities.id = positions.security_id
WHERE positions.cik = :cik AND positions.period = :period AND kind < 2 AND status <> 5
GROUP BY securities.sic_group

-- name: position_history
SELECT fund_quarters.period AS quarter_date, shares AS shares_raw, positions.value, status, split_factor, split_source,
    shares - previous_shares AS shares_delta, value_unit_rule, accession AS accession_no
FROM fund_quarters
JOIN positions ON positions.cik = fund_quarters.cik AND positions.period = fund_quarters.period
    AND positions.kind = 0 AND positions.security_id = :security_id
JOIN holdings_reports ON holdings_reports.id = positions.report_id
WHERE fund_quarters.cik = :cik
ORDER BY fund_quarters.period DESC
LIMIT 400

-- name: funds_by_word
-- The index finds the longest word, and a GLOB pattern over the sorted words of the name the others. The largest funds
-- come first.
SELECT printf('%010d', funds.cik) AS cik, funds.name, company.ticker AS symbol, filing_count, latest_period,
    nullif(latest_filed_at, '') AS latest_filed_at, latest_value AS latest_aum_usd, count(*) OVER () AS total
FROM funds
CROSS JOIN companies_with_ticker AS company ON company.cik = funds.cik
WHERE funds.cik IN (SELECT fund_words.cik FROM fund_words WHERE word >= :word AND word < :end)
    AND (SELECT ' ' || group_concat(word, ' ') FROM fund_words WHERE fund_words.cik = funds.cik) GLOB :rest
ORDER BY latest_value DESC, funds.cik
LIMIT :limit OFFSET :offset

-- name: funds_by_value
SELECT printf('%010d', funds.cik) AS cik, funds.name, company.ticker AS symbol, filing_count, latest_period,
    nullif(latest_filed_at, '') AS latest_filed_at, latest_value AS latest_aum_usd,
    (SELECT count(*) FROM funds WHERE cik > 0) AS total
FROM funds
CROSS JOIN companies_with_ticker AS company ON company.cik = funds.cik
ORDER BY latest_value DESC, funds.cik
LIMIT :limit OFFSET :offset

-- name: funds_by_cik
SELECT printf('%010d', funds.cik) AS cik, funds.name, company.ticker AS symbol, filing_count, latest_period,
    nullif(latest_filed_at, '') AS latest_filed_at, latest_value AS latest_aum_usd
FROM funds
CROSS JOIN companies_with_ticker AS company ON company.cik = funds.cik
WHERE funds.cik > :after
ORDER BY funds.cik
LIMIT :limit OFFSET :offset

-- name: latest_holdings_reports
SELECT *
FROM fund_filings
WHERE filed_day >= :since
ORDER BY filed_day DESC, accession_no DESC, id
LIMIT :limit OFFSET :offset

-- name: latest_holdings_reports_of_fund
SELECT *
FROM fund_filings
WHERE fund_cik = :cik AND filed_day >= :since
ORDER BY filed_day DESC, accession_no DESC, id
LIMIT :limit OFFSET :offset

-- name: latest_holdings_report_of_filing
SELECT * FROM fund_filings WHERE accession_no = :accession ORDER BY id DESC LIMIT 1

-- name: holdings_report_count
SELECT count(*) FROM holdings_reports WHERE filed_at >= :since

-- name: holdings_report_count_of_fund
SELECT count(*) FROM holdings_reports WHERE cik = :cik AND filed_at >= :since

-- name: undated_holdings_report_count
SELECT count(*) FROM holdings_reports WHERE filed_at = '' AND (:cik IS NULL OR cik = :cik)

-- name: managers_of_report
SELECT number, name, substr('000000000' || cik, -10) AS cik, file_number, included
FROM holdings_managers
WHERE report_id = :report_id
ORDER BY seq

-- name: report_counts_of_quarter
SELECT count(DISTINCT cik) FILTER (WHERE form GLOB '13F-HR*') AS filers,
    count(DISTINCT cik) FILTER (WHERE form GLOB '13F-NT*') AS late_notice_filers,
    count(DISTINCT accession) AS total_filings,
    (SELECT sum(value) FROM fund_quarters WHERE fund_quarters.period = :period) AS total_aum
FROM holdings_reports
WHERE period = :period

-- name: filer_count_of_quarter
SELECT count(DISTINCT cik) FROM holdings_reports WHERE period = :period AND form GLOB '13F-HR*'
