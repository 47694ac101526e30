-- name: fund_by_cik
SELECT funds.cik, name, filing_count, latest_period, latest_filed_at, latest_value, 1 AS total, (
    SELECT ticker FROM tickers WHERE tickers.cik = funds.cik
    ORDER BY source DESC, last_seen DESC, position, ticker LIMIT 1
) AS ticker
FROM funds
WHERE cik = :cik

-- name: funds_by_word
-- The longest word by its index, the rest in the name; the largest funds first.
SELECT funds.cik, name, filing_count, latest_period, latest_filed_at, latest_value, count(*) OVER () AS total, (
    SELECT ticker FROM tickers WHERE tickers.cik = funds.cik
    ORDER BY source DESC, last_seen DESC, position, ticker LIMIT 1
) AS ticker
FROM funds
WHERE cik IN (SELECT fund_words.cik FROM fund_words WHERE word >= :word AND word < :end)
    AND (SELECT ' ' || group_concat(word, ' ') FROM fund_words WHERE fund_words.cik = funds.cik) GLOB :rest
ORDER BY latest_value DESC, cik
LIMIT :limit

-- name: funds_by_value
SELECT funds.cik, name, filing_count, latest_period, latest_filed_at, latest_value,
    (SELECT count(*) FROM funds WHERE cik > 0) AS total, (
    SELECT ticker FROM tickers WHERE tickers.cik = funds.cik
    ORDER BY source DESC, last_seen DESC, position, ticker LIMIT 1
) AS ticker
FROM funds
ORDER BY latest_value DESC, cik
LIMIT :limit

-- name: funds_by_cik
SELECT funds.cik, name, filing_count, latest_period, latest_filed_at, latest_value, (
    SELECT ticker FROM tickers WHERE tickers.cik = funds.cik
    ORDER BY source DESC, last_seen DESC, position, ticker LIMIT 1
) AS ticker
FROM funds
WHERE cik > :after
ORDER BY cik
LIMIT :limit

-- name: latest_holdings_reports
SELECT report.accession, report.name, report.cik, report.period, report.filed_at, report.value_total,
    report.total_unit, report.row_count, report.form, quarter.compared, quarter.new, quarter.increased,
    quarter.decreased, quarter.unchanged, quarter.closed, filings.first_seen_at
FROM holdings_reports AS report
JOIN filings ON filings.id = report.filing_id
LEFT JOIN fund_quarters AS quarter ON quarter.cik = report.cik AND quarter.period = report.period
WHERE report.filed_at >= :since
ORDER BY report.filed_at DESC, report.accession DESC, report.id
LIMIT :limit OFFSET :offset

-- name: latest_holdings_reports_of_fund
SELECT report.accession, report.name, report.cik, report.period, report.filed_at, report.value_total,
    report.total_unit, report.row_count, report.form, quarter.compared, quarter.new, quarter.increased,
    quarter.decreased, quarter.unchanged, quarter.closed, filings.first_seen_at
FROM holdings_reports AS report
JOIN filings ON filings.id = report.filing_id
LEFT JOIN fund_quarters AS quarter ON quarter.cik = report.cik AND quarter.period = report.period
WHERE report.cik = :cik AND report.filed_at >= :since
ORDER BY report.filed_at DESC, report.accession DESC, report.id
LIMIT :limit OFFSET :offset

-- name: cover_pages
SELECT id, cik, accession, form, amendment_type, period, filed_at, name, address, report_type, file_number, signer,
    signer_title, value_total, total_unit, entry_total, row_count, value_unit_rule
FROM holdings_reports
WHERE (:cik IS NULL OR cik = :cik) AND (:accession IS NULL OR accession = :accession)
    AND (:period IS NULL OR period = :period) AND (:form IS NULL OR form = :form)
    AND filed_at BETWEEN :since AND :until
ORDER BY filed_at DESC, accession DESC, id
LIMIT :limit OFFSET :offset

-- name: managers_of_report
SELECT number, name, cik, file_number, included FROM holdings_managers WHERE report_id = :report_id ORDER BY seq

-- name: quarter_counts
SELECT count(DISTINCT cik) FILTER (WHERE form GLOB '13F-HR*') AS filers,
    count(DISTINCT cik) FILTER (WHERE form GLOB '13F-NT*') AS notices,
    count(DISTINCT accession) AS filings,
    (SELECT sum(value) FROM fund_quarters WHERE fund_quarters.period = :period) AS value
FROM holdings_reports
WHERE period = :period

-- name: count_holdings_reports
SELECT count(*) FROM holdings_reports WHERE filed_at >= :since

-- name: count_holdings_reports_of_fund
SELECT count(*) FROM holdings_reports WHERE cik = :cik AND filed_at >= :since

-- name: fund_quarter_before
SELECT max(period) FROM fund_quarters WHERE period < :period

-- name: latest_holdings_report_of_filing
SELECT report.accession, report.name, report.cik, report.period, report.filed_at, report.value_total,
    report.total_unit, report.row_count, report.form, quarter.compared, quarter.new, quarter.increased,
    quarter.decreased, quarter.unchanged, quarter.closed, filings.first_seen_at, filings.accepted_at
FROM holdings_reports AS report
JOIN filings ON filings.id = report.filing_id
LEFT JOIN fund_quarters AS quarter ON quarter.cik = report.cik AND quarter.period = report.period
WHERE report.accession = :accession
ORDER BY report.id DESC
LIMIT 1
