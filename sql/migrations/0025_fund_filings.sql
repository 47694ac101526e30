-- 13F filings as lists, feeds and webhooks show them, with what they changed in their quarter.
CREATE VIEW fund_filings AS
SELECT report.id, report.cik AS fund_cik, report.filed_at AS filed_day, report.accession AS accession_no,
    report.name AS fund_name, printf('%010d', report.cik) AS cik, report.period AS period_of_report,
    nullif(report.filed_at, '') AS filed_at, report.value_total * report.total_unit AS table_value_total,
    report.row_count AS holdings_count,
    report.form AS form_type, report.form GLOB '*/A' AS is_amendment,
    coalesce(quarter.compared, 0) AS prior_quarter_available, quarter.new, quarter.increased, quarter.decreased,
    quarter.unchanged, quarter.closed, nullif(filings.first_seen_at, '') AS parsed_at
FROM holdings_reports AS report
JOIN filings ON filings.id = report.filing_id
LEFT JOIN fund_quarters AS quarter ON quarter.cik = report.cik AND quarter.period = report.period;
