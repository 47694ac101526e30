-- name: trades_by_group
-- ETFs are left out: their holdings belong to other industries than their issuers.
SELECT sic_group, sum(value) AS total_value, sum(compared) AS compared, sum(flow) AS flow, sum(bought) AS bought,
    sum(sold) AS sold
FROM security_quarters
JOIN securities ON securities.id = security_quarters.security_id
WHERE security_quarters.period = :period AND security_group <> 'ETFs'
GROUP BY sic_group

-- name: securities_bought_by_both
SELECT securities.id AS security_id, cusip, ticker AS symbol, issuer AS name_of_issuer, printf('%010d', securities.cik) AS issuer_cik,
    flow AS fund_flow, funds AS fund_count, new AS new_buys_count, quarter.value AS total_value,
    quarter.shares AS total_shares, insider_buyer_count, CAST(round(bought_for) AS INTEGER) AS insider_buy_value,
    first_buy_date, last_buy_date
FROM (
    SELECT issuer_cik, count(DISTINCT owner_cik) AS insider_buyer_count, sum(exact) AS bought_for,
        min(date) AS first_buy_date, max(date) AS last_buy_date
    FROM insider_transactions INDEXED BY insider_purchases_by_date
    WHERE superseded_by IS NULL AND direction = 1 AND same_trade_as IS NULL AND value_doubt IS NULL
        AND date BETWEEN :start AND :end
    GROUP BY issuer_cik
    HAVING insider_buyer_count >= :buyers
) AS buyers
CROSS JOIN securities ON securities.cik = buyers.issuer_cik
CROSS JOIN security_quarters AS quarter ON quarter.period = :period AND quarter.security_id = securities.id
WHERE compared > 0 AND flow > :flow
ORDER BY cusip

-- name: bought_security_counts
SELECT count(*) AS bought, count(cik) AS named
FROM security_quarters AS quarter
JOIN securities ON securities.id = quarter.security_id
WHERE quarter.period = :period AND compared > 0 AND flow > :flow

-- name: last_insider_purchase
SELECT max(date) FROM insider_transactions INDEXED BY insider_purchases_by_date
WHERE superseded_by IS NULL AND direction = 1 AND same_trade_as IS NULL AND value_doubt IS NULL
