-- name: securities_of_quarter
SELECT quarter.*, securities.cusip, securities.ticker, securities.issuer, securities.security_group, sic_group,
    count(*) OVER () AS total
FROM security_quarters AS quarter
JOIN securities ON securities.id = quarter.security_id
WHERE quarter.period = :period
    AND (:words IS NULL OR securities.ticker = :ticker OR NOT EXISTS (
        SELECT 1 FROM json_each(:words) AS wanted
        WHERE NOT EXISTS (
            SELECT 1 FROM security_words
            WHERE security_words.security_id = securities.id AND word >= wanted.value
                AND word < wanted.value || char(65535)
        )
    ))
    AND (:security_group IS NULL OR securities.security_group = :security_group)
    AND (:is_etf IS NULL OR (securities.security_group = 'ETFs') = :is_etf)
    AND (:groups IS NULL OR sic_group IN (SELECT value FROM json_each(:groups)))
    AND (:min_total_value IS NULL OR quarter.value >= :min_total_value)
    AND (:max_total_value IS NULL OR quarter.value <= :max_total_value)
    AND (:min_fund_flow IS NULL OR (compared > 0 AND flow >= :min_fund_flow))
    AND (:max_fund_flow IS NULL OR (compared > 0 AND flow <= :max_fund_flow))
    AND (:min_fund_count IS NULL OR funds >= :min_fund_count)
    AND (:max_fund_count IS NULL OR funds <= :max_fund_count)
    AND (:min_fund_change IS NULL OR (compared > 0 AND new - closed >= :min_fund_change))
    AND (:max_fund_change IS NULL OR (compared > 0 AND new - closed <= :max_fund_change))
    AND (:min_share_change IS NULL OR (compared > 0 AND compared_shares - previous_shares >= :min_share_change))
    AND (:max_share_change IS NULL OR (compared > 0 AND compared_shares - previous_shares <= :max_share_change))
ORDER BY
    CASE :sort WHEN 'flow' THEN CASE WHEN compared > 0 THEN flow END WHEN 'value' THEN quarter.value
        WHEN 'funds' THEN funds WHEN 'fund_change' THEN CASE WHEN compared > 0 THEN new - closed END
        WHEN 'share_change' THEN CASE WHEN compared > 0 THEN compared_shares - previous_shares END
        END * :direction NULLS LAST,
    CASE WHEN :direction > 0 THEN CASE :sort WHEN 'name' THEN issuer WHEN 'ticker' THEN ticker END END NULLS LAST,
    CASE WHEN :direction < 0 THEN CASE :sort WHEN 'name' THEN issuer WHEN 'ticker' THEN ticker END END DESC NULLS LAST,
    quarter.value DESC, cusip
LIMIT :limit OFFSET :offset

-- name: ranges_of_quarter
SELECT min(value) AS min_total_value, max(value) AS max_total_value, min(funds) AS min_fund_count,
    max(funds) AS max_fund_count, min(CASE WHEN compared > 0 THEN flow END) AS min_fund_flow,
    max(CASE WHEN compared > 0 THEN flow END) AS max_fund_flow, sum(CASE WHEN compared > 0 THEN bought END) AS bought,
    sum(CASE WHEN compared > 0 THEN sold END) AS sold
FROM security_quarters
WHERE period = :period

-- name: securities_of_ticker
SELECT id, cusip, issuer, title, ticker, cik, security_group, evidence, seen
FROM securities
WHERE ticker = :ticker
ORDER BY seen DESC, cusip
LIMIT 50

-- name: latest_quarter_of_securities
SELECT max(period) FROM security_quarters
WHERE security_id IN (SELECT value FROM json_each(:ids)) AND funds > 0

-- name: holders
SELECT held.cik, funds.name, securities.cusip, held.shares, held.value, held.status, held.previous_shares,
    fund_quarters.value AS whole, report.accession, report.filed_at, report.value_unit_rule
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

-- name: count_holders
SELECT count(*)
FROM positions
WHERE security_id IN (SELECT value FROM json_each(:ids)) AND period = :period AND kind = 0
    AND CASE WHEN :status IS NULL THEN status <> 5 ELSE status = :status END

-- name: trend_of_securities
SELECT period, sum(funds) AS funds, sum(shares) AS shares, sum(value) AS value, sum(compared) AS compared,
    sum(compared_shares) AS compared_shares, sum(previous_shares) AS previous_shares, sum(flow) AS flow, sum(new) AS new,
    sum(closed) AS closed
FROM security_quarters
WHERE security_id IN (SELECT value FROM json_each(:ids))
GROUP BY period
ORDER BY period DESC
LIMIT :limit

-- name: security_totals
SELECT sum(funds) AS funds, sum(shares) AS shares, sum(value) AS value
FROM security_quarters
WHERE security_id IN (SELECT value FROM json_each(:ids)) AND period = :period
HAVING count(*) > 0

-- name: fund_sums_by_industry
SELECT sic_group, securities.security_group, count(*) AS securities, sum(funds) AS positions, sum(value) AS value,
    sum(flow) AS flow, sum(compared) AS compared, sum(new) AS new, sum(increased) AS increased,
    sum(decreased) AS decreased, sum(unchanged) AS unchanged, sum(closed) AS closed
FROM security_quarters
JOIN securities ON securities.id = security_quarters.security_id
WHERE security_quarters.period = :period
GROUP BY sic_group, securities.security_group

-- name: funds_by_label
-- labels: a major group to what stands for its sector, or for its industry.
SELECT labelled.value AS label, count(DISTINCT cik) AS funds
FROM json_each(:labels) AS labelled
CROSS JOIN fund_groups ON period = :period AND sic_group = CAST(labelled.key AS INTEGER)
GROUP BY labelled.value

-- name: movers_of_quarter
-- Of each major group of SIC codes the securities with the greatest flow in, and out.
SELECT * FROM (
    SELECT quarter.*, securities.cusip, securities.ticker, securities.issuer, securities.security_group, sic_group,
        row_number() OVER (PARTITION BY sic_group, flow > 0 ORDER BY abs(flow) DESC, cusip) AS place
    FROM security_quarters AS quarter
    JOIN securities ON securities.id = quarter.security_id
    WHERE quarter.period = :period AND compared > 0 AND flow <> 0 AND sic_group IS NOT NULL
)
WHERE place <= :limit
ORDER BY abs(flow) DESC, cusip
