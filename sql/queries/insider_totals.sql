-- name: sums_of_issuer
SELECT
    count(*) AS transactions,
    coalesce(sum(direction = 1), 0) AS buys,
    coalesce(sum(direction = -1), 0) AS sells,
    coalesce(sum(CASE WHEN direction = 1 THEN value END), 0) AS buy_value,
    coalesce(sum(CASE WHEN direction = -1 THEN value END), 0) AS sell_value,
    coalesce(sum(value IS NULL), 0) AS unvalued,
    count(DISTINCT owner_cik) AS insiders,
    count(DISTINCT CASE WHEN direction = 1 THEN owner_cik END) AS buyers,
    count(DISTINCT CASE WHEN direction = -1 THEN owner_cik END) AS sellers,
    coalesce(sum(direction = 1 AND rule_10b5_1), 0) AS plan_buys,
    coalesce(sum(direction = -1 AND rule_10b5_1), 0) AS plan_sells,
    coalesce(sum(CASE WHEN direction = 1 AND rule_10b5_1 THEN value END), 0) AS plan_buy_value,
    coalesce(sum(CASE WHEN direction = -1 AND rule_10b5_1 THEN value END), 0) AS plan_sell_value,
    coalesce(sum(direction = 1 AND roles & 16), 0) AS csuite_buys,
    coalesce(sum(direction = -1 AND roles & 16), 0) AS csuite_sells,
    coalesce(sum(CASE WHEN direction = 1 AND roles & 16 THEN value END), 0) AS csuite_buy_value,
    coalesce(sum(CASE WHEN direction = -1 AND roles & 16 THEN value END), 0) AS csuite_sell_value,
    coalesce(sum(CASE WHEN direction = 1 AND roles & 2 THEN value END), 0) AS officer_buy_value,
    coalesce(sum(CASE WHEN direction = -1 AND roles & 2 THEN value END), 0) AS officer_sell_value,
    coalesce(sum(CASE WHEN direction = 1 AND roles & 1 THEN value END), 0) AS director_buy_value,
    coalesce(sum(CASE WHEN direction = -1 AND roles & 1 THEN value END), 0) AS director_sell_value,
    count(DISTINCT form_id) AS filings,
    max(date) AS latest
FROM insider_transactions
WHERE superseded_by IS NULL AND direction <> 0 AND issuer_cik = :issuer AND filed_day >= :since
    AND (:date_from IS NULL OR date >= :date_from)
    AND NOT (:no_plan AND rule_10b5_1) AND NOT (:no_cashless AND is_cashless)
    AND NOT (:no_cover AND is_sell_to_cover) AND roles & :with_roles = :with_roles

-- name: sums_by_issuer
SELECT issuer_cik,
    count(*) AS transactions,
    coalesce(sum(direction = 1), 0) AS buys,
    coalesce(sum(direction = -1), 0) AS sells,
    coalesce(sum(CASE WHEN direction = 1 THEN value END), 0) AS buy_value,
    coalesce(sum(CASE WHEN direction = -1 THEN value END), 0) AS sell_value,
    coalesce(sum(value IS NULL), 0) AS unvalued,
    count(DISTINCT owner_cik) AS insiders,
    count(DISTINCT CASE WHEN direction = 1 THEN owner_cik END) AS buyers,
    count(DISTINCT CASE WHEN direction = -1 THEN owner_cik END) AS sellers,
    coalesce(sum(direction = 1 AND rule_10b5_1), 0) AS plan_buys,
    coalesce(sum(direction = -1 AND rule_10b5_1), 0) AS plan_sells,
    coalesce(sum(CASE WHEN direction = 1 AND rule_10b5_1 THEN value END), 0) AS plan_buy_value,
    coalesce(sum(CASE WHEN direction = -1 AND rule_10b5_1 THEN value END), 0) AS plan_sell_value,
    coalesce(sum(direction = 1 AND roles & 16), 0) AS csuite_buys,
    coalesce(sum(direction = -1 AND roles & 16), 0) AS csuite_sells,
    coalesce(sum(CASE WHEN direction = 1 AND roles & 16 THEN value END), 0) AS csuite_buy_value,
    coalesce(sum(CASE WHEN direction = -1 AND roles & 16 THEN value END), 0) AS csuite_sell_value,
    coalesce(sum(CASE WHEN direction = 1 AND roles & 2 THEN value END), 0) AS officer_buy_value,
    coalesce(sum(CASE WHEN direction = -1 AND roles & 2 THEN value END), 0) AS officer_sell_value,
    coalesce(sum(CASE WHEN direction = 1 AND roles & 1 THEN value END), 0) AS director_buy_value,
    coalesce(sum(CASE WHEN direction = -1 AND roles & 1 THEN value END), 0) AS director_sell_value,
    count(DISTINCT form_id) AS filings,
    max(date) AS latest
FROM insider_transactions INDEXED BY insider_trades_by_day
WHERE superseded_by IS NULL AND direction <> 0 AND filed_day >= :since
    AND (:date_from IS NULL OR date >= :date_from)
    AND NOT (:no_plan AND rule_10b5_1) AND NOT (:no_cashless AND is_cashless)
    AND NOT (:no_cover AND is_sell_to_cover) AND roles & :with_roles = :with_roles
    AND (:sector IS NULL OR sector = :sector) AND (:industry IS NULL OR industry = :industry)
GROUP BY issuer_cik

-- name: sums_by_group
SELECT CASE WHEN :by_industry THEN industry ELSE sector END AS grouped, count(*) AS transactions,
    count(DISTINCT form_id) AS filings, count(DISTINCT owner_cik) AS insiders,
    count(DISTINCT issuer_cik) AS issuers,
    coalesce(sum(direction = 1), 0) AS buys,
    coalesce(sum(direction = -1), 0) AS sells,
    coalesce(sum(CASE WHEN direction = 1 THEN value END), 0) AS buy_value,
    coalesce(sum(CASE WHEN direction = -1 THEN value END), 0) AS sell_value
FROM insider_transactions
WHERE superseded_by IS NULL AND filed_day >= :since
    AND (:date_from IS NULL OR date >= :date_from)
    AND NOT (:no_plan AND rule_10b5_1) AND NOT (:no_cashless AND is_cashless)
    AND NOT (:no_cover AND is_sell_to_cover) AND roles & :with_roles = :with_roles
    AND roles & :without_roles = 0
    AND (:code IS NULL OR code = :code) AND (:acquired IS NULL OR acquired_disposed = :acquired)
    AND (:min_value IS NULL OR value >= :min_value) AND (:max_value IS NULL OR value <= :max_value)
    AND (:sector IS NULL OR sector = :sector) AND (:industry IS NULL OR industry = :industry)
GROUP BY grouped

-- name: clusters
-- Companies in which several insiders bought, or several sold; the date is that of the trade.
SELECT issuer_cik, direction, count(DISTINCT owner_cik) AS insiders, coalesce(sum(value), 0) AS value,
    count(*) AS transactions, min(date) AS first_date, max(date) AS last_date, max(filed_day) AS last_day,
    max(roles & 1) AS director, max(roles & 2) AS officer, max(roles & 4) AS ten_percent, max(roles & 16) AS c_suite
FROM insider_transactions INDEXED BY insider_trades_by_day
WHERE superseded_by IS NULL AND direction <> 0 AND filed_day >= :since
    AND (:sector IS NULL OR sector = :sector) AND (:industry IS NULL OR industry = :industry)
    AND NOT (:no_plan AND rule_10b5_1) AND NOT (:no_cashless AND is_cashless)
    AND NOT (:no_cover AND is_sell_to_cover)
GROUP BY issuer_cik, direction
-- Not "value": in HAVING that is the column, of any row of the group.
HAVING insiders >= :min_insiders AND (:min_value IS NULL OR coalesce(sum(value), 0) >= :min_value)
ORDER BY insiders DESC, value DESC, issuer_cik, direction DESC
LIMIT :limit

-- name: trades_of_cluster
SELECT DISTINCT trade.id, trade.shares, trade.value, insiders.name
FROM insider_transactions AS trade
JOIN insiders ON insiders.cik = trade.owner_cik
WHERE trade.superseded_by IS NULL AND trade.issuer_cik = :issuer AND trade.filed_day >= :since
    AND trade.direction = :direction
    AND NOT (:no_plan AND trade.rule_10b5_1) AND NOT (:no_cashless AND trade.is_cashless)
    AND NOT (:no_cover AND trade.is_sell_to_cover)
ORDER BY insiders.name

-- name: issuers_named
SELECT companies.cik, companies.name, companies.sic, (
    SELECT ticker FROM tickers WHERE tickers.cik = companies.cik ORDER BY source DESC, last_seen DESC, position, ticker LIMIT 1
) AS ticker
FROM json_each(:ciks)
CROSS JOIN companies ON companies.cik = json_each.value

-- name: trade_days
SELECT filed_day, coalesce(sum(CASE WHEN direction = 1 THEN value END), 0) AS buy_value,
    coalesce(sum(CASE WHEN direction = -1 THEN value END), 0) AS sell_value,
    coalesce(sum(direction = 1), 0) AS buys, coalesce(sum(direction = -1), 0) AS sells
FROM insider_transactions INDEXED BY insider_trades_by_day
WHERE superseded_by IS NULL AND direction <> 0 AND filed_day >= :since
GROUP BY filed_day
ORDER BY filed_day DESC

-- name: top_issuers
SELECT issuer_cik, sum(value) AS value
FROM insider_transactions INDEXED BY insider_trades_by_day
WHERE superseded_by IS NULL AND direction <> 0 AND filed_day >= :since AND value IS NOT NULL
GROUP BY issuer_cik
ORDER BY value DESC, issuer_cik
LIMIT :limit

-- name: top_insiders
SELECT owner_cik, issuer_cik, sum(value) AS value
FROM insider_transactions INDEXED BY insider_trades_by_day
WHERE superseded_by IS NULL AND direction <> 0 AND filed_day >= :since AND value IS NOT NULL
GROUP BY owner_cik, issuer_cik
ORDER BY value DESC, owner_cik, issuer_cik
LIMIT :limit

-- name: largest_trades
SELECT id
FROM insider_transactions INDEXED BY insider_trades_by_day
WHERE superseded_by IS NULL AND direction <> 0 AND filed_day >= :since AND value IS NOT NULL
ORDER BY value DESC, filed_day DESC, form_id DESC, seq DESC
LIMIT :limit
