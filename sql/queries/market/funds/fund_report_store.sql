-- name: stored_fund_reports
SELECT id, accession, content, filed_at, fund_id FROM fund_reports WHERE accession = :accession
UNION
SELECT id, accession, content, filed_at, fund_id FROM fund_reports WHERE content = :content

-- name: undated_fund_reports
SELECT id, accession, document, body FROM fund_reports INDEXED BY fund_reports_undated WHERE filed_at IS NULL

-- name: delete_fund_report
DELETE FROM fund_reports WHERE id = :id

-- name: insert_fund_report
INSERT INTO fund_reports (id, accession, content, form, is_amendment, cik, registrant_name, fund_id, series_id,
    series_name, period, fiscal_year_end, is_final, filed_at, document, total_assets, total_liabilities, net_assets, sales,
    reinvestment, redemption, class_return, position_count, doubts, parsed_at, body)
VALUES (:id, :accession, :content, :form, :is_amendment, :cik, :registrant_name, :fund_id, :series_id,
    :series_name, :period, :fiscal_year_end, :is_final, :filed_at, :document, :total_assets, :total_liabilities, :net_assets,
    :sales, :reinvestment, :redemption, :class_return, :position_count, :doubts, :now, :body)

-- name: insert_fund_securities
INSERT OR IGNORE INTO fund_securities (id, cusip, filed_cusip, isin, ticker, name, title, lei, asset_category,
    asset_description, issuer_category, issuer_description, country, identifiers)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)

-- name: insert_fund_positions
INSERT INTO fund_positions (report_id, seq, security_id, balance, units, currency, exchange_rate, value, percent,
    payoff_profile, is_restricted, fair_value_level, derivative_category, terms)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)

-- name: fund_report_flags
SELECT id, accession, period, filed_at, position_count, net_assets, is_current, is_latest
FROM fund_reports
WHERE fund_id = :fund_id

-- name: update_fund_report_flags
UPDATE fund_reports SET is_current = :is_current, is_latest = :is_latest WHERE id = :id

-- name: fund_reports_to_pack
SELECT fund_reports.id, fund_reports.accession, fund_reports.filed_at, filings.accepted_at, document, body
FROM fund_reports
LEFT JOIN filings ON filings.accession = fund_reports.accession
ORDER BY fund_reports.accession

-- name: positions_to_pack
SELECT fund_securities.*, fund_positions.*
FROM fund_positions
JOIN fund_securities ON fund_securities.id = fund_positions.security_id
WHERE report_id = :report_id
ORDER BY seq
