-- name: names_of_funds
SELECT cik, name FROM funds WHERE cik IN (SELECT value FROM json_each(:ciks))

-- name: quarters_of_funds
SELECT cik, complete, positions FROM fund_quarters WHERE cik IN (SELECT value FROM json_each(:ciks)) AND period = :period

-- name: sums_of_basket
-- The sums of each security, the most valuable first: the holdings of all funds, and the holdings of the common funds
-- in both quarters. :funds is a JSON list of pairs: a CIK, and true for a common fund.
WITH fund (cik, is_common) AS MATERIALIZED (SELECT value ->> 0, value ->> 1 FROM json_each(:funds))
SELECT summed.*
FROM (
    SELECT security_id, sum(period = :period) AS funds_holding,
        sum(value * (period = :period)) AS value_usd, sum(shares * (period = :period)) AS shares,
        max(period = :period AND is_common) AS is_common, max(period = :earlier AND is_common) AS was_common,
        sum(shares * (period = :period AND is_common)) AS common_shares,
        sum(shares * (period = :earlier AND is_common)) AS previous_shares,
        sum(value * (period = :period AND is_common)) AS common_value,
        sum(value * (period = :earlier AND is_common)) AS previous
    FROM fund
    CROSS JOIN positions ON positions.cik = fund.cik AND period IN (:period, :earlier) AND kind = 0
    WHERE status <> 5 AND (period = :period OR is_common)
    GROUP BY security_id
) AS summed
JOIN securities ON securities.id = security_id
ORDER BY value_usd DESC, securities.cusip

-- name: names_of_basket
-- The names of some securities, and the funds that hold them at the end of the quarter. :funds is as above.
SELECT securities.id AS security_id, securities.cusip, securities.ticker, securities.issuer AS name_of_issuer,
    securities.title AS class_title, ifnull(ciks, '[]') AS ciks
FROM json_each(:securities) AS wanted
JOIN securities ON securities.id = wanted.value
LEFT JOIN (
    SELECT security_id, json_group_array(positions.cik) AS ciks
    FROM json_each(:funds) AS fund
    CROSS JOIN positions ON positions.cik = fund.value ->> 0 AND period = :period AND kind = 0
    WHERE status <> 5 AND security_id IN (SELECT value FROM json_each(:securities))
    GROUP BY security_id
) ON security_id = securities.id
