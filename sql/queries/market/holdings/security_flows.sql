-- name: securities_of_quarter
SELECT *, count(*) OVER () AS total
FROM (
    SELECT securities.id AS security_id, cusip, ticker, issuer AS name, security_group, security_group = 'ETFs' AS is_etf, sic_group,
        value AS total_value, shares AS total_shares, funds AS fund_count, compared AS fund_count_compared,
        previous_shares, CASE WHEN compared > 0 THEN flow END AS fund_flow,
        CASE WHEN compared > 0 THEN increased + decreased + unchanged + closed END AS fund_count_prev,
        CASE WHEN compared > 0 THEN new - closed END AS fund_change,
        CASE WHEN compared > 0 THEN compared_shares - previous_shares END AS share_change,
        CASE WHEN compared > 0 THEN new END AS new_buys_count,
        CASE WHEN compared > 0 THEN increased END AS increased_count,
        CASE WHEN compared > 0 THEN decreased END AS decreased_count,
        CASE WHEN compared > 0 THEN unchanged END AS unchanged_count,
        CASE WHEN compared > 0 THEN closed END AS closed_count
    FROM security_quarters AS quarter
    JOIN securities ON securities.id = quarter.security_id
    WHERE quarter.period = :period
        AND (:words IS NULL OR ticker = :ticker OR NOT EXISTS (
            SELECT 1 FROM json_each(:words) AS wanted
            WHERE NOT EXISTS (
                SELECT 1 FROM security_words
                WHERE security_words.security_id = securities.id AND word >= wanted.value
                    AND word < wanted.value || char(65535)
            )
        ))
        AND (:sic_ranges IS NULL OR EXISTS (
            SELECT 1 FROM companies
            JOIN json_each(:sic_ranges)
                ON companies.sic BETWEEN json_each.value ->> 0 AND json_each.value ->> 1
            WHERE companies.cik = securities.cik
        ))
)
WHERE (:security_group IS NULL OR security_group = :security_group) AND (:is_etf IS NULL OR is_etf = :is_etf)
    AND (:groups IS NULL OR sic_group IN (SELECT value FROM json_each(:groups)))
    AND (:min_total_value IS NULL OR total_value >= :min_total_value)
    AND (:max_total_value IS NULL OR total_value <= :max_total_value)
    AND (:min_fund_flow IS NULL OR fund_flow >= :min_fund_flow)
    AND (:max_fund_flow IS NULL OR fund_flow <= :max_fund_flow)
    AND (:min_fund_count IS NULL OR fund_count >= :min_fund_count)
    AND (:max_fund_count IS NULL OR fund_count <= :max_fund_count)
    AND (:min_fund_change IS NULL OR fund_change >= :min_fund_change)
    AND (:max_fund_change IS NULL OR fund_change <= :max_fund_change)
    AND (:min_share_change IS NULL OR share_change >= :min_share_change)
    AND (:max_share_change IS NULL OR share_change <= :max_share_change)
ORDER BY
    CASE :sort_by WHEN 'fund_flow' THEN fund_flow WHEN 'total_value' THEN total_value WHEN 'fund_count' THEN fund_count
        WHEN 'fund_change' THEN fund_change WHEN 'share_change' THEN share_change END * :direction NULLS LAST,
    CASE WHEN :direction > 0 THEN CASE :sort_by WHEN 'name' THEN name WHEN 'ticker' THEN ticker END END NULLS LAST,
    CASE WHEN :direction < 0 THEN CASE :sort_by WHEN 'name' THEN name WHEN 'ticker' THEN ticker END END DESC NULLS LAST,
    total_value DESC, cusip
LIMIT :limit OFFSET :offset

-- name: ranges_of_quarter
SELECT min(value) AS min_total_value, max(value) AS max_total_value, min(funds) AS min_fund_count,
    max(funds) AS max_fund_count, min(CASE WHEN compared > 0 THEN flow END) AS min_fund_flow,
    max(CASE WHEN compared > 0 THEN flow END) AS max_fund_flow, sum(CASE WHEN compared > 0 THEN bought END) AS buy,
    sum(CASE WHEN compared > 0 THEN sold END) AS sell
FROM security_quarters
WHERE period = :period

-- name: latest_quarter_of_securities
SELECT max(period) FROM security_quarters
WHERE security_id IN (SELECT value FROM json_each(:ids)) AND funds > 0
    AND period <= (SELECT max(period) FROM fund_quarters WHERE is_early = 0)

-- name: holders
SELECT printf('%010d', held.cik) AS cik, held.security_id, funds.name, securities.cusip, held.shares, held.value, held.status,
    held.previous_shares, held.split_factor, held.split_source, held.shares - held.previous_shares AS chg_shares, fund_quarters.value AS portfolio_value,
    report.accession AS accession_number, nullif(report.filed_at, '') AS filed_at, report.value_unit_rule
FROM (
    SELECT cik, security_id
    FROM positions
    WHERE security_id IN (SELECT value FROM json_each(:ids)) AND period = :period AND kind = 0
        AND CASE WHEN :status IS NULL THEN status <> 5 ELSE status = :status END
    ORDER BY value DESC, previous_value DESC, cik, security_id
    LIMIT :limit OFFSET :offset
) AS page
JOIN positions AS held ON held.cik = page.cik AND held.period = :period AND held.kind = 0
    AND held.security_id = page.security_id
JOIN funds ON funds.cik = held.cik
JOIN securities ON securities.id = held.security_id
JOIN fund_quarters ON fund_quarters.cik = held.cik AND fund_quarters.period = :period
JOIN holdings_reports AS report ON report.id = held.report_id
ORDER BY held.value DESC, held.previous_value DESC, held.cik, held.security_id

-- name: holder_histories
-- A security that a complete report does not list is not held: zero instead of null.
SELECT quarter.cik, pair.value ->> 1 AS security_id, quarter.period,
    coalesce(held.shares, CASE WHEN quarter.complete THEN 0 END) AS shares,
    coalesce(held.value, CASE WHEN quarter.complete THEN 0 END) AS value
FROM json_each(:pairs) AS pair
CROSS JOIN fund_quarters AS quarter ON quarter.cik = pair.value ->> 0 AND quarter.period BETWEEN :first AND :last
LEFT JOIN positions AS held ON held.cik = quarter.cik AND held.period = quarter.period AND held.kind = 0
    AND held.security_id = pair.value ->> 1
ORDER BY quarter.period DESC

-- name: holder_count
SELECT count(*)
FROM positions
WHERE security_id IN (SELECT value FROM json_each(:ids)) AND period = :period AND kind = 0
    AND CASE WHEN :status IS NULL THEN status <> 5 ELSE status = :status END

-- name: trend_quarters
SELECT period AS date, sum(shares) AS total_shares, sum(value) AS total_value, sum(funds) AS fund_count,
    sum(compared) AS fund_count_compared, sum(previous_shares) AS previous_shares,
    CASE WHEN sum(compared) > 0 THEN sum(compared_shares) - sum(previous_shares) END AS share_change,
    CASE WHEN sum(compared) > 0 THEN sum(flow) END AS fund_flow,
    CASE WHEN sum(compared) > 0 THEN sum(new) - sum(closed) END AS fund_count_change
FROM security_quarters
WHERE security_id IN (SELECT value FROM json_each(:ids))
GROUP BY period
ORDER BY period DESC
LIMIT :limit OFFSET :offset

-- name: security_totals
SELECT sum(shares) AS total_shares, sum(value) AS total_value, sum(funds) AS total_holders
FROM security_quarters
WHERE security_id IN (SELECT value FROM json_each(:ids)) AND period = :period
HAVING count(*) > 0
