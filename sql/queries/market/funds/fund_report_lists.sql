-- part: of_form
(:form IS NULL OR fund_reports.form = :form)

-- part: last_filed_first
ORDER BY fund_reports.filed_at DESC, fund_reports.accession DESC LIMIT :limit OFFSET :offset

-- part: reports_of_funds
FROM json_each(:funds) AS requested
CROSS JOIN fund_reports INDEXED BY fund_reports_by_fund ON fund_reports.fund_id = requested.value
WHERE (:cik IS NULL OR fund_reports.cik = :cik) AND {of_form}

-- part: reports_of_registrant
FROM fund_reports INDEXED BY fund_reports_by_registrant WHERE fund_reports.cik = :cik AND {of_form}

-- part: all_reports
FROM fund_reports INDEXED BY fund_reports_by_day WHERE {of_form}

-- name: ids_of_latest_reports_of_funds
SELECT fund_reports.id {reports_of_funds} {last_filed_first}

-- name: ids_of_reports_of_funds_by_period
SELECT fund_reports.id {reports_of_funds}
ORDER BY fund_reports.period DESC, fund_reports.filed_at DESC, fund_reports.accession DESC LIMIT :limit OFFSET :offset

-- name: count_of_reports_of_funds
SELECT count(*) {reports_of_funds}

-- name: ids_of_latest_reports_of_registrant
SELECT fund_reports.id {reports_of_registrant} {last_filed_first}

-- name: count_of_reports_of_registrant
SELECT count(*) {reports_of_registrant}

-- name: ids_of_latest_reports
SELECT fund_reports.id {all_reports} {last_filed_first}

-- name: count_of_reports
SELECT count(*) {all_reports}

-- part: report_columns
fund_reports.id, fund_reports.accession AS accession_number, fund_reports.form AS submission_type, is_amendment,
    fund_reports.cik, registrant_name AS reg_name, series_id, series_name, period AS as_of,
    fiscal_year_end AS rep_pd_end, net_assets, total_assets AS tot_assets,
    coalesce(filings.accepted_at, fund_reports.filed_at || 'T00:00:00.000Z') AS filed_at,
    position_count AS holdings_count, is_current, doubts, parsed_at, fund_id, body
FROM fund_reports
LEFT JOIN filings ON filings.accession = fund_reports.accession

-- name: fund_reports_by_ids
SELECT {report_columns} WHERE fund_reports.id IN (SELECT value FROM json_each(:ids))

-- name: fund_report_by_accession
SELECT {report_columns} WHERE fund_reports.accession = :accession

-- name: fund_assets
SELECT period AS as_of, fund_id, series_id, series_name, cik, net_assets, total_assets AS tot_assets,
    total_liabilities AS tot_liabs, accession AS accession_number, doubts
FROM json_each(:funds) AS requested
CROSS JOIN fund_reports INDEXED BY fund_reports_by_fund ON fund_reports.fund_id = requested.value
WHERE is_current AND (:after_period IS NULL OR (period, fund_id) < (:after_period, :after_fund))
ORDER BY period DESC, fund_id DESC
LIMIT :limit

-- name: report_of_funds
SELECT accession
FROM fund_reports
WHERE fund_id IN (SELECT value FROM json_each(:funds))
    AND CASE WHEN :month IS NULL THEN is_latest ELSE is_current AND substr(period, 1, 7) = :month END
ORDER BY period DESC, filed_at DESC, accession DESC
LIMIT 1
