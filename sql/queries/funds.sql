-- name: fund
SELECT name, latest_filed_at FROM funds WHERE cik = :cik

-- name: fund_periods
SELECT period FROM fund_quarters WHERE cik = :cik ORDER BY period DESC

-- name: fund_quarter_shown
SELECT quarter.cik, quarter.period, quarter.value, quarter.positions, quarter.complete, quarter.compared,
    quarter.new, quarter.increased, quarter.decreased, quarter.unchanged, quarter.closed, quarter.reports,
    report.accession, report.form, report.amendment_type, report.filed_at, report.value_total, report.total_unit,
    report.entry_total, report.row_count, report.row_value, report.value_unit, report.value_unit_rule,
    report.corrected, report.confidential_omitted, report.signer, funds.latest_filed_at, funds.name AS fund_name,
    (
        SELECT before.complete FROM fund_quarters AS before
        WHERE before.cik = quarter.cik AND before.period = date(quarter.period, 'start of month', '-2 months', '-1 day')
    ) AS previous_complete
FROM fund_quarters AS quarter
JOIN holdings_reports AS report ON report.id = quarter.report_id
JOIN funds ON funds.cik = quarter.cik
WHERE quarter.cik = :cik AND (:period IS NULL OR quarter.period = :period)
ORDER BY quarter.period DESC
LIMIT 1

-- name: fund_positions
SELECT securities.cusip, securities.ticker, securities.evidence, holding_names.issuer, holding_names.title, kind, shares,
    positions.value, status, previous_shares, previous_value, flow, figi, discretion, managers, sole, shared, none,
    positions.row_count, holdings_reports.value_unit_rule, holdings_reports.accession, count(*) OVER () AS total
FROM positions
JOIN securities ON securities.id = positions.security_id
JOIN holding_names ON holding_names.id = positions.name_id
JOIN holdings_reports ON holdings_reports.id = positions.report_id
WHERE positions.cik = :cik AND positions.period = :period
    AND CASE :options WHEN 'none' THEN kind < 2 WHEN 'only' THEN kind >= 2 ELSE 1 END
    AND CASE WHEN :status IS NULL THEN status <> 5 ELSE status = :status END
    AND (:search IS NULL OR securities.ticker = :ticker
        OR instr(securities.cusip || ' ' || coalesce(securities.ticker, '') || ' ' || upper(holding_names.issuer), :search))
ORDER BY
    CASE :sort WHEN 'value' THEN positions.value WHEN 'shares' THEN shares WHEN 'change' THEN shares - previous_shares
        WHEN 'flow' THEN abs(coalesce(flow, 0)) END * :direction NULLS LAST,
    CASE WHEN :direction > 0 THEN CASE :sort WHEN 'name' THEN holding_names.issuer WHEN 'ticker' THEN securities.ticker END
        END NULLS LAST,
    CASE WHEN :direction < 0 THEN CASE :sort WHEN 'name' THEN holding_names.issuer WHEN 'ticker' THEN securities.ticker END
        END DESC NULLS LAST,
    positions.value DESC, securities.cusip, kind
LIMIT :limit OFFSET :offset

-- name: fund_value_by_group
SELECT securities.sic_group, sum(positions.value) AS value, count(*) AS positions
FROM positions
JOIN securities ON securities.id = positions.security_id
WHERE positions.cik = :cik AND positions.period = :period AND kind < 2 AND status <> 5
GROUP BY securities.sic_group

-- name: security
SELECT id, cusip, issuer, title, ticker, cik, security_group, evidence, seen FROM securities WHERE cusip = :cusip

-- name: position_history
SELECT fund_quarters.period, shares, positions.value, status, previous_shares, value_unit_rule, accession
FROM fund_quarters
JOIN positions ON positions.cik = fund_quarters.cik AND positions.period = fund_quarters.period
    AND positions.kind = 0 AND positions.security_id = :security_id
JOIN holdings_reports ON holdings_reports.id = positions.report_id
WHERE fund_quarters.cik = :cik
ORDER BY fund_quarters.period DESC
LIMIT 400
