-- name: previous_report_of_fund
SELECT accession
FROM fund_reports INDEXED BY fund_reports_by_fund
WHERE fund_id = :fund_id AND period < :period AND is_current
ORDER BY period DESC
LIMIT 1

-- name: positions_to_compare
SELECT cusip, filed_cusip, isin, name, title, asset_category, units, balance, value, percent, payoff_profile,
    derivative_category, terms
FROM fund_positions
JOIN fund_securities ON fund_securities.id = fund_positions.security_id
WHERE report_id = :report_id
ORDER BY seq

-- name: split_security_of_cusip
SELECT id FROM securities WHERE cusip = :cusip
