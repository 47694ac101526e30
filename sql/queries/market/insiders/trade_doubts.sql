-- part: is_compared
-- The rows whose prices are judged and compared, as in the index insider_prices.
superseded_by IS NULL AND derivative = 0 AND code IN ('P', 'S', 'F', 'D') AND price > '0' AND shares > '0'

-- name: priced_days_of_forms
-- The forms come first, because SQLite would else read all stored rows with one of the codes.
SELECT min(date) AS first, max(date) AS last, min(CAST(price AS REAL)) AS lowest, max(CAST(price AS REAL)) AS highest
FROM (SELECT value AS form_id FROM json_each(:forms)) AS form
CROSS JOIN insider_transactions USING (form_id)
WHERE {is_compared}

-- part: priced_row
SELECT id, form_id, seq, date, code, direction, title, price, shares, value_doubt

-- name: price_spread
-- This reads only the index, for each form that is stored.
SELECT min(CAST(price AS REAL)) AS lowest, max(CAST(price AS REAL)) AS highest, count(value_doubt) > 0 AS has_doubts
FROM insider_transactions INDEXED BY insider_prices
WHERE {is_compared} AND issuer_cik = :issuer AND date BETWEEN :first AND :last

-- name: priced_rows_of_issuer
{priced_row}
FROM insider_transactions INDEXED BY insider_prices
WHERE {is_compared} AND issuer_cik = :issuer AND date BETWEEN :first AND :last
ORDER BY id

-- name: priced_rows_of_forms
{priced_row}
FROM (SELECT value AS form_id FROM json_each(:forms)) AS form
CROSS JOIN insider_transactions USING (form_id)
WHERE {is_compared} AND date IS NOT NULL
ORDER BY id

-- name: bodies_of_forms
SELECT id, body FROM insider_forms WHERE id IN (SELECT value FROM json_each(:forms))

-- name: stored_closes
-- The last closes on or before some days, of each ticker of a company.
SELECT day.value AS day, price_series.ticker, price_series.acted, (
        SELECT prices.close FROM prices
        WHERE prices.series_id = price_series.id AND prices.date BETWEEN date(day.value, :max_age) AND day.value
            AND prices.doubt IS NULL
        ORDER BY prices.date DESC
        LIMIT 1
    ) AS close
FROM tickers
CROSS JOIN price_series ON price_series.ticker = tickers.ticker AND price_series.synthetic = 0
CROSS JOIN json_each(:days) AS day
WHERE tickers.cik = :issuer AND close IS NOT NULL

-- name: issuers_of_ticker
SELECT DISTINCT tickers.cik
FROM tickers
WHERE tickers.ticker = :ticker AND EXISTS (SELECT 1 FROM insider_forms WHERE insider_forms.issuer_cik = tickers.cik)

-- name: update_value_doubt
UPDATE insider_transactions SET value_doubt = ? WHERE id = ?
