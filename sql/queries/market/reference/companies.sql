-- name: company_by_cik
SELECT cik, name AS company_name, ticker FROM companies_with_ticker WHERE cik = :cik

-- name: ticker_holders
-- Every company that any source gave the ticker to. It is current unless a later document of the same source, or a later
-- submissions file, lists the company's tickers without it.
SELECT printf('%010d', companies.cik) AS cik, companies.name AS company_name, tickers.ticker, tickers.source,
    nullif(tickers.last_seen, '') AS as_of,
    tickers.last_seen >= coalesce((
        SELECT max(other.last_seen) FROM tickers AS other
        WHERE other.cik = tickers.cik AND other.source = tickers.source
    ), '') AND (tickers.source <> 1 OR tickers.last_seen >= companies.attributes_as_of) AS current
FROM tickers
JOIN companies ON companies.cik = tickers.cik
WHERE tickers.ticker = :ticker
ORDER BY current DESC, tickers.source DESC, tickers.last_seen DESC, companies.name_as_of DESC, companies.cik

-- name: is_known_cik
SELECT EXISTS (SELECT 1 FROM companies WHERE cik = :cik)

-- name: is_known_ticker
SELECT EXISTS (SELECT 1 FROM tickers WHERE ticker = :ticker)
    OR EXISTS (SELECT 1 FROM price_series WHERE ticker = :ticker)
    OR EXISTS (SELECT 1 FROM securities WHERE ticker = :ticker)
    OR EXISTS (SELECT 1 FROM fund_classes WHERE ticker = :ticker)
    OR EXISTS (SELECT 1 FROM tickers WHERE replace(ticker, '-', '') = :ticker)

-- name: tickers_without_hyphens
-- Tickers that equal the given text once their hyphens are removed. Two are enough to know that the text is ambiguous.
SELECT DISTINCT ticker FROM tickers WHERE replace(ticker, '-', '') = :ticker ORDER BY ticker LIMIT 2

-- name: similar_tickers
-- Tickers of companies whose name begins with the key, then tickers that are one typo away. They are in the order of
-- the SEC's list, then of the typos.
SELECT ticker
FROM (
    SELECT companies_with_ticker.ticker, -1 AS typo_index, 0 AS position
    FROM company_keys
    JOIN companies_with_ticker ON companies_with_ticker.cik = company_keys.cik
    WHERE :key <> '' AND company_keys.key >= :key AND company_keys.key < :end
        AND companies_with_ticker.ticker IS NOT NULL
    UNION ALL
    SELECT tickers.ticker, typo.key, tickers.position
    FROM json_each(:typos) AS typo
    CROSS JOIN tickers ON tickers.ticker = typo.value
)
GROUP BY ticker
ORDER BY min(typo_index) >= 0, min(position), min(typo_index)
LIMIT 3

-- name: former_names
SELECT name, min(from_date) AS from_date, max(to_date) AS to_date
FROM former_names
WHERE cik = :cik
GROUP BY name
ORDER BY max(to_date) DESC, name

-- name: upsert_company_name
INSERT INTO companies (cik, name, name_rank, name_as_of)
VALUES (:cik, :name, :rank, :as_of)
ON CONFLICT (cik) DO UPDATE
SET name = excluded.name, name_rank = excluded.name_rank, name_as_of = excluded.name_as_of
WHERE (excluded.name_rank, excluded.name_as_of, excluded.name)
    > (companies.name_rank, companies.name_as_of, companies.name)

-- name: upsert_company_key
-- A key stays former only while no current name has it.
INSERT INTO company_keys (key, cik, former) VALUES (:key, :cik, :former)
ON CONFLICT (key, cik) DO UPDATE SET former = 0 WHERE former AND NOT excluded.former

-- name: update_company_attributes
-- Of two sources that are equally good and of the same day, the one that states more decides.
UPDATE companies
SET attributes = :attributes,
    sic = :sic,
    fiscal_year_end = :fiscal_year_end,
    state = :state,
    entity_type = :entity_type,
    attributes_rank = :rank,
    attributes_as_of = :as_of
WHERE cik = :cik
    AND (:rank, :as_of, length(:attributes), :attributes)
        > (attributes_rank, attributes_as_of, length(attributes), attributes)

-- name: upsert_ticker
-- The best source, and of equal ones the latest, decides about a ticker's position. An exchange stays until a better
-- source gives another.
INSERT INTO tickers (ticker, cik, exchange, source, position, last_seen)
VALUES (:ticker, :cik, :exchange, :source, :position, :as_of)
ON CONFLICT (ticker, cik) DO UPDATE
SET exchange = CASE WHEN (excluded.source, excluded.last_seen, -excluded.position) > (source, last_seen, -position)
        THEN coalesce(excluded.exchange, exchange) ELSE coalesce(exchange, excluded.exchange) END,
    source = max(excluded.source, source),
    last_seen = CASE WHEN (excluded.source, excluded.last_seen, -excluded.position) > (source, last_seen, -position)
        THEN excluded.last_seen ELSE last_seen END,
    position = CASE WHEN (excluded.source, excluded.last_seen, -excluded.position) > (source, last_seen, -position)
        THEN excluded.position ELSE position END
WHERE (excluded.source, excluded.last_seen, -excluded.position) > (source, last_seen, -position)
    OR (exchange IS NULL AND excluded.exchange IS NOT NULL)

-- name: insert_former_name
INSERT INTO former_names (cik, name, from_date, to_date)
SELECT :cik, :name, :from_date, :to_date
WHERE NOT EXISTS (
    SELECT 1 FROM former_names
    WHERE cik = :cik AND name = :name AND from_date IS :from_date AND to_date IS :to_date
)

-- name: company_attributes
SELECT attributes FROM companies WHERE cik = :cik

-- name: company_exchange
SELECT exchange FROM tickers WHERE cik = :cik AND exchange IS NOT NULL ORDER BY source DESC, position LIMIT 1
