-- name: group_sums
SELECT sums FROM group_sums WHERE period = :period

-- name: unsummed_quarter
SELECT period FROM group_sums WHERE sums IS NULL ORDER BY period DESC LIMIT 1

-- name: next_summed_quarter
SELECT period, sums FROM group_sums WHERE period > :period AND sums IS NOT NULL ORDER BY period LIMIT 1

-- name: update_group_sums
UPDATE group_sums SET sums = :sums WHERE period = :period

-- name: security_sums_by_group
SELECT sic_group, count(*) AS cusip_count, sum(funds) AS total_positions, sum(value) AS total_value,
    sum(CASE security_group WHEN 'ETFs' THEN value ELSE 0 END) AS etf_value, sum(flow) AS flow,
    sum(compared) AS compared, sum(new) AS new_buys_count, sum(closed) AS closed_count,
    sum(increased) AS increased_count, sum(decreased) AS decreased_count
FROM security_quarters
JOIN securities ON securities.id = security_quarters.security_id
WHERE security_quarters.period = :period
GROUP BY sic_group

-- name: fund_counts_by_label
-- :labels is a JSON object with the label of each major group: its sector, or its sector and industry.
SELECT labelled.value AS label, count(DISTINCT cik) AS funds
FROM json_each(:labels) AS labelled
CROSS JOIN fund_groups ON period = :period AND sic_group = CAST(labelled.key AS INTEGER)
GROUP BY labelled.value

-- name: movers_of_quarter
-- The securities of each major group of SIC codes with the largest inflows, and those with the largest outflows.
SELECT security_id, sic_group, fund_flow, total_value, fund_count FROM (
    SELECT security_id, cusip, sic_group, flow AS fund_flow, value AS total_value, funds AS fund_count,
        row_number() OVER (PARTITION BY sic_group, flow > 0 ORDER BY abs(flow) DESC, cusip) AS place
    FROM security_quarters AS quarter
    JOIN securities ON securities.id = quarter.security_id
    WHERE quarter.period = :period AND compared > 0 AND flow <> 0 AND sic_group IS NOT NULL
)
WHERE place <= :limit
ORDER BY abs(fund_flow) DESC, cusip

-- name: names_of_securities
SELECT id, cusip, ticker, issuer AS name FROM securities WHERE id IN (SELECT value FROM json_each(:ids))
