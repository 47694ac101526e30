-- name: funds_named
SELECT cik, name FROM funds WHERE cik IN (SELECT value FROM json_each(:ciks))

-- name: quarters_of_funds
SELECT cik, complete FROM fund_quarters WHERE cik IN (SELECT value FROM json_each(:ciks)) AND period = :period

-- name: positions_of_funds
SELECT security_id, sum(shares) AS shares, sum(value) AS value, json_group_array(cik) AS ciks
FROM positions
WHERE cik IN (SELECT value FROM json_each(:ciks)) AND period = :period AND kind = 0 AND status <> 5
GROUP BY security_id

-- name: securities_by_id
SELECT id, cusip, ticker, issuer, title FROM securities WHERE id IN (SELECT value FROM json_each(:ids))
