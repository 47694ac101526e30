-- part: move
SELECT positions.security_id, printf('%010d', positions.cik) AS cik, funds.name AS fund, cusip, ticker,
    holding_names.issuer AS name_of_issuer, holding_names.title AS title_of_class, status, shares, previous_shares,
    split_factor, split_source, positions.value AS value_usd, previous_value AS previous_value_usd, flow AS flow_usd,
    quarter.value AS portfolio_value, before.value AS previous_portfolio_value, accession AS accession_no
FROM positions
JOIN funds ON funds.cik = positions.cik
JOIN securities ON securities.id = positions.security_id
JOIN holding_names ON holding_names.id = positions.name_id
JOIN holdings_reports ON holdings_reports.id = positions.report_id
JOIN fund_quarters AS quarter ON quarter.cik = positions.cik AND quarter.period = positions.period
LEFT JOIN fund_quarters AS before ON before.cik = positions.cik AND before.period = :before
WHERE positions.kind = 0 AND flow IS NOT NULL AND positions.period = :period AND positions.status = :status

-- name: moves_of_all
{move}
ORDER BY abs(flow) DESC, positions.cik, positions.security_id
LIMIT :limit OFFSET :offset

-- name: moves_of_fund
-- The + keeps SQLite from the index of all funds' moves, which contains every other fund's moves, too. The key of the
-- fund's own positions is faster.
{move} AND positions.cik = :cik
ORDER BY +abs(flow) DESC, positions.cik, positions.security_id
LIMIT :limit OFFSET :offset

-- name: compared_fund_count
SELECT count(*) FROM fund_quarters WHERE period = :period AND compared

-- name: shared_positions
SELECT one.security_id, cusip, ticker, holding_names.issuer AS name_of_issuer, one.shares AS shares, one.value AS value,
    other.shares AS other_shares, other.value AS other_value
FROM positions AS one
CROSS JOIN positions AS other ON other.cik = :other AND other.period = :other_period AND other.kind = 0
    AND other.security_id = one.security_id AND other.status <> 5
JOIN securities ON securities.id = one.security_id
JOIN holding_names ON holding_names.id = one.name_id
WHERE one.cik = :cik AND one.period = :period AND one.kind = 0 AND one.status <> 5

-- name: names_of_managers
-- The managers that a report numbers. Its rows refer to them by these numbers.
SELECT report_id, number, name FROM json_each(:reports)
CROSS JOIN holdings_managers ON report_id = json_each.value AND included AND number IS NOT NULL
