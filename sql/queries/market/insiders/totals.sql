-- part: market_trades
-- Purchases and sales, each once: of one company from the index of issuers, of all companies from an index of days.
-- The side of a trade whose value is doubtful is 0: it is only counted as left out.
    SELECT *, iif(value_doubt IS NULL, direction, 0) AS side
    FROM insider_transactions INDEXED BY insider_transactions_by_issuer
    WHERE superseded_by IS NULL AND same_trade_as IS NULL AND direction <> 0 AND issuer_cik = :issuer
        AND filed_day >= :since
    UNION ALL
    SELECT *, iif(value_doubt IS NULL, direction, 0) AS side
    FROM insider_transactions INDEXED BY insider_trades_by_day
    WHERE :issuer IS NULL AND NOT :by_date AND superseded_by IS NULL AND same_trade_as IS NULL AND direction <> 0
        AND filed_day >= :since AND filed_day <= :until
    UNION ALL
    SELECT *, iif(value_doubt IS NULL, direction, 0) AS side
    FROM insider_transactions INDEXED BY insider_transactions_by_date
    WHERE :issuer IS NULL AND :by_date AND superseded_by IS NULL AND same_trade_as IS NULL AND direction <> 0
        AND date >= :date_from AND date <= coalesce(:date_to, '9999')

-- name: sums_by_issuer
-- Bits of roles as in titles.py: 1 director, 2 officer, 16 C-suite.
SELECT issuer_cik, count(*) FILTER (WHERE side <> 0) AS total_transactions,
    count(*) FILTER (WHERE side = 0) AS doubtful_left_out,
    count(*) FILTER (WHERE side = 1) AS total_buys, count(*) FILTER (WHERE side = -1) AS total_sells,
    CAST(round(total(exact) FILTER (WHERE side = 1)) AS INTEGER) AS total_buy_value,
    CAST(round(total(exact) FILTER (WHERE side = -1)) AS INTEGER) AS total_sell_value,
    count(*) FILTER (WHERE side <> 0 AND value IS NULL) AS transactions_without_value,
    count(DISTINCT owner_cik) FILTER (WHERE side <> 0) AS unique_insiders,
    count(DISTINCT owner_cik) FILTER (WHERE side = 1) AS unique_buyers,
    count(DISTINCT owner_cik) FILTER (WHERE side = -1) AS unique_sellers,
    count(*) FILTER (WHERE side = 1 AND rule_10b5_1) AS rule_10b5_1_buy_count,
    count(*) FILTER (WHERE side = -1 AND rule_10b5_1) AS rule_10b5_1_sell_count,
    CAST(round(total(exact) FILTER (WHERE side = 1 AND rule_10b5_1)) AS INTEGER) AS rule_10b5_1_buy_value,
    CAST(round(total(exact) FILTER (WHERE side = -1 AND rule_10b5_1)) AS INTEGER) AS rule_10b5_1_sell_value,
    count(*) FILTER (WHERE side = 1 AND roles & 16) AS csuite_buy_count,
    count(*) FILTER (WHERE side = -1 AND roles & 16) AS csuite_sell_count,
    CAST(round(total(exact) FILTER (WHERE side = 1 AND roles & 16)) AS INTEGER) AS csuite_buy_value,
    CAST(round(total(exact) FILTER (WHERE side = -1 AND roles & 16)) AS INTEGER) AS csuite_sell_value,
    CAST(round(total(exact) FILTER (WHERE side = 1 AND roles & 2)) AS INTEGER) AS officer_buy_value,
    CAST(round(total(exact) FILTER (WHERE side = -1 AND roles & 2)) AS INTEGER) AS officer_sell_value,
    CAST(round(total(exact) FILTER (WHERE side = 1 AND roles & 1)) AS INTEGER) AS director_buy_value,
    CAST(round(total(exact) FILTER (WHERE side = -1 AND roles & 1)) AS INTEGER) AS director_sell_value,
    count(DISTINCT form_id) FILTER (WHERE side <> 0) AS filing_count,
    max(date) FILTER (WHERE side <> 0) AS latest_transaction_date
FROM ({market_trades}) AS trade
WHERE {within}
GROUP BY issuer_cik

-- name: sums_by_group
SELECT CASE WHEN :by_industry THEN industry ELSE sector END AS grouped,
    count(*) FILTER (WHERE value_doubt IS NULL) AS transaction_count,
    count(*) FILTER (WHERE value_doubt IS NOT NULL) AS doubtful_left_out,
    count(DISTINCT form_id) FILTER (WHERE value_doubt IS NULL) AS filing_count,
    count(DISTINCT owner_cik) FILTER (WHERE value_doubt IS NULL) AS unique_insiders,
    count(DISTINCT issuer_cik) FILTER (WHERE value_doubt IS NULL) AS unique_issuers,
    count(*) FILTER (WHERE side = 1) AS buy_count, count(*) FILTER (WHERE side = -1) AS sell_count,
    CAST(round(total(exact) FILTER (WHERE side = 1)) AS INTEGER) AS buy_value,
    CAST(round(total(exact) FILTER (WHERE side = -1)) AS INTEGER) AS sell_value
FROM (
    SELECT *, iif(value_doubt IS NULL, direction, 0) AS side
    FROM insider_transactions INDEXED BY insider_transactions_by_day
    WHERE NOT :by_date AND superseded_by IS NULL AND same_trade_as IS NULL AND filed_day >= :since
        AND filed_day <= :until
    UNION ALL
    SELECT *, iif(value_doubt IS NULL, direction, 0) AS side
    FROM insider_transactions INDEXED BY insider_transactions_by_date
    WHERE :by_date AND superseded_by IS NULL AND same_trade_as IS NULL AND date >= :date_from
        AND date <= coalesce(:date_to, '9999')
) AS trade
WHERE {within}
GROUP BY grouped

-- name: clusters
-- Companies in which several insiders bought, or several sold. Only for these companies, the sums are computed in a
-- second step. The dates are those of the trades, the days those of filing.
WITH several AS MATERIALIZED (
    SELECT issuer_cik, direction, min(filed_day) AS first_day, max(filed_day) AS last_day
    FROM ({market_trades}) AS trade
    WHERE side <> 0 AND {within}
    GROUP BY issuer_cik, direction
    HAVING count(DISTINCT owner_cik) >= :min_insiders
)
SELECT trade.issuer_cik, trade.direction, count(DISTINCT owner_cik) AS insider_count,
    CAST(round(total(exact)) AS INTEGER) AS total_value, count(*) AS transaction_count, min(date) AS first_date,
    max(date) AS last_date, first_day, last_day, max(roles & 1) AS has_director, max(roles & 2) AS has_officer,
    max(roles & 4) AS has_ten_percent_owner, max(roles & 16) AS has_c_suite
FROM several
CROSS JOIN insider_transactions AS trade INDEXED BY insider_transactions_by_issuer
    ON trade.issuer_cik = several.issuer_cik AND trade.direction = several.direction
    AND trade.filed_day BETWEEN first_day AND last_day
WHERE {is_ranked} AND {within}
GROUP BY trade.issuer_cik, trade.direction
HAVING :min_total_value IS NULL OR total_value >= :min_total_value
ORDER BY insider_count DESC, total_value DESC, trade.issuer_cik, trade.direction DESC
LIMIT :limit OFFSET :offset

-- name: trades_of_clusters
-- The trades of each cluster with its index in clusters, a list of company, direction, first and last filing day.
SELECT cluster.key AS cluster_index, trade.shares, trade.exact, insiders.name
FROM json_each(:clusters) AS cluster
CROSS JOIN insider_transactions AS trade INDEXED BY insider_transactions_by_issuer
    ON trade.issuer_cik = cluster.value ->> 0 AND trade.direction = cluster.value ->> 1
    AND trade.filed_day BETWEEN cluster.value ->> 2 AND cluster.value ->> 3
JOIN insiders ON insiders.cik = trade.owner_cik
WHERE {is_ranked} AND {within}
ORDER BY cluster_index, insiders.name, trade.id

-- name: issuers_with_sic
SELECT cik, printf('%010d', cik) AS issuer_cik, name AS company_name, sic, ticker
FROM json_each(:ciks)
CROSS JOIN companies_with_ticker ON cik = json_each.value

-- name: count_doubtful_trades
-- Purchases and sales that sums and rankings leave out because their values are doubtful.
SELECT count(*)
FROM insider_transactions AS trade INDEXED BY insider_doubted_trades
WHERE superseded_by IS NULL AND value_doubt IS NOT NULL AND same_trade_as IS NULL AND direction <> 0
    AND (:direction IS NULL OR direction = :direction) AND (:issuer IS NULL OR issuer_cik = :issuer) AND {within}

-- name: trade_days
SELECT filed_day, CAST(round(total(exact) FILTER (WHERE direction = 1)) AS INTEGER) AS buy,
    CAST(round(total(exact) FILTER (WHERE direction = -1)) AS INTEGER) AS sell,
    count(*) FILTER (WHERE direction = 1) AS buys, count(*) FILTER (WHERE direction = -1) AS sells
FROM insider_transactions INDEXED BY insider_trades_by_day
WHERE superseded_by IS NULL AND direction <> 0 AND same_trade_as IS NULL AND value_doubt IS NULL AND filed_day >= :since
GROUP BY filed_day
ORDER BY filed_day DESC

-- name: top_issuers
SELECT companies.ticker, companies.name AS company_name, top.total_value
FROM (
    SELECT issuer_cik, CAST(round(sum(exact)) AS INTEGER) AS total_value
    FROM insider_transactions INDEXED BY insider_trades_by_day
    WHERE superseded_by IS NULL AND direction <> 0 AND same_trade_as IS NULL AND value_doubt IS NULL
        AND filed_day >= :since AND value IS NOT NULL
    GROUP BY issuer_cik
    ORDER BY total_value DESC, issuer_cik
    LIMIT :limit
) AS top
CROSS JOIN companies_with_ticker AS companies ON companies.cik = top.issuer_cik
ORDER BY top.total_value DESC, top.issuer_cik

-- name: top_insiders
SELECT insiders.name AS insider, printf('%010d', top.owner_cik) AS insider_cik, companies.ticker, top.total_value
FROM (
    SELECT owner_cik, issuer_cik, CAST(round(sum(exact)) AS INTEGER) AS total_value
    FROM insider_transactions INDEXED BY insider_trades_by_day
    WHERE superseded_by IS NULL AND direction <> 0 AND same_trade_as IS NULL AND value_doubt IS NULL
        AND filed_day >= :since AND value IS NOT NULL
    GROUP BY owner_cik, issuer_cik
    ORDER BY total_value DESC, owner_cik, issuer_cik
    LIMIT :limit
) AS top
CROSS JOIN insiders ON insiders.cik = top.owner_cik
CROSS JOIN companies_with_ticker AS companies ON companies.cik = top.issuer_cik
ORDER BY top.total_value DESC, top.owner_cik, top.issuer_cik

-- name: largest_trades
SELECT id
FROM insider_transactions INDEXED BY insider_trades_by_day
WHERE superseded_by IS NULL AND direction <> 0 AND same_trade_as IS NULL AND value_doubt IS NULL AND filed_day >= :since
    AND value IS NOT NULL
ORDER BY value DESC, filed_day DESC, form_id DESC, seq DESC
LIMIT :limit
