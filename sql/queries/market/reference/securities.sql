-- name: security_ids
SELECT cusip, id FROM securities WHERE cusip IN (SELECT value FROM json_each(:cusips))

-- name: insert_securities
INSERT INTO securities (cusip, issuer, title, seen, issuer_key, class_letter, security_group)
VALUES (?, ?, ?, '', ?, ?, ?)

-- name: insert_security_words
INSERT OR IGNORE INTO security_words (word, security_id) VALUES (?, ?)

-- name: delete_security_words
DELETE FROM security_words WHERE security_id = ?

-- name: report_security
UPDATE securities
SET issuer = :issuer, title = :title, seen = :seen, issuer_key = :issuer_key, class_letter = :class_letter,
    security_group = coalesce(
        (SELECT security_group FROM cusip_mappings WHERE cusip_mappings.cusip = securities.cusip), :security_group
    )
WHERE cusip = :cusip AND (:seen, :issuer, :title) > (seen, issuer, title)

-- name: settle_securities
-- From the mapping first; else the one company of the issuer's name, and for its shares the one ticker, or the one that
-- ends in the letter of the class.
UPDATE securities
SET (ticker, cik, evidence) = (
    SELECT
        CASE WHEN mapped.cusip IS NOT NULL THEN mapped.ticker
            WHEN securities.security_group = 'Stocks' THEN (
                SELECT CASE WHEN count(*) = 1 THEN min(ticker) END FROM tickers WHERE tickers.cik = named.cik
                    AND (class_letter IS NULL OR ticker GLOB '*-' || class_letter
                        OR (SELECT count(*) FROM tickers AS every WHERE every.cik = named.cik) = 1)
            )
        END,
        CASE WHEN mapped.cusip IS NOT NULL THEN coalesce(
            (SELECT companies.cik FROM companies WHERE companies.cik = mapped.cik),
            (SELECT CASE WHEN count(*) = 1 THEN min(cik) END FROM tickers WHERE tickers.ticker = mapped.ticker)
        ) ELSE named.cik END,
        CASE WHEN mapped.cusip IS NOT NULL THEN 'cusip_mapping' WHEN named.cik IS NOT NULL THEN 'issuer_name' END
    FROM (SELECT 1)
    LEFT JOIN cusip_mappings AS mapped ON mapped.cusip = securities.cusip
    LEFT JOIN (
        SELECT (
            SELECT CASE WHEN count(*) = 1 THEN min(cik) END FROM company_keys WHERE key = securities.issuer_key
        ) AS cik
    ) AS named
)
WHERE cusip IN (SELECT value FROM json_each(:cusips))

-- name: securities_of_company
SELECT securities.cusip
FROM company_keys
JOIN securities ON securities.issuer_key = company_keys.key
WHERE company_keys.cik = :cik
UNION
SELECT cusip FROM cusip_mappings WHERE cik = :cik
UNION
SELECT cusip_mappings.cusip
FROM tickers
JOIN cusip_mappings ON cusip_mappings.ticker = tickers.ticker
WHERE tickers.cik = :cik

-- name: name_unseen_security
UPDATE securities
SET issuer = :issuer, issuer_key = :key
WHERE cusip = :cusip AND seen = ''

-- name: group_security
UPDATE securities SET security_group = :security_group WHERE cusip = :cusip

-- name: security
SELECT * FROM securities WHERE cusip = :cusip

-- name: securities_of_ticker
SELECT * FROM securities WHERE ticker = :ticker ORDER BY seen DESC, cusip LIMIT 50

-- name: securities_of_cik
SELECT * FROM securities WHERE cik = :cik ORDER BY cusip LIMIT :limit OFFSET :offset

-- name: securities_of_cusip6
SELECT * FROM securities WHERE cusip >= :first AND cusip < :end ORDER BY cusip LIMIT :limit OFFSET :offset

-- name: securities_of_cusips
SELECT * FROM securities WHERE cusip IN (SELECT value FROM json_each(:cusips))

-- name: search_securities
SELECT securities.*, found.score, count(*) OVER () AS total
FROM (
    SELECT id, max(score) AS score
    FROM (
        SELECT id, CASE ticker WHEN :ticker THEN 100 ELSE 90 END AS score
        FROM securities WHERE ticker >= :ticker AND ticker < :ticker_end
        UNION ALL
        SELECT id, CASE cusip WHEN :text THEN 100 ELSE 80 END
        FROM securities WHERE cusip >= :text AND cusip < :text_end
        UNION ALL
        SELECT security_id, CASE WHEN upper(issuer) GLOB :name || '*' THEN 70 ELSE 50 END
        FROM security_words
        JOIN securities ON securities.id = security_words.security_id
        WHERE word >= :word AND word < :word_end AND ' ' || upper(issuer) GLOB :rest
    )
    GROUP BY id
) AS found
JOIN securities ON securities.id = found.id
ORDER BY score DESC, issuer, cusip
LIMIT :limit OFFSET :offset

-- name: put_cusip_mapping
INSERT INTO cusip_mappings (cusip, ticker, cik, issuer, security_group, figi, successor, effective_date, reason, as_of)
VALUES (:cusip, :ticker, :cik, :issuer, :security_group, :figi, :successor, :effective_date, :reason, :as_of)
ON CONFLICT (cusip) DO UPDATE
SET ticker = excluded.ticker, cik = excluded.cik, issuer = excluded.issuer, security_group = excluded.security_group,
    figi = excluded.figi, successor = excluded.successor, effective_date = excluded.effective_date,
    reason = excluded.reason, as_of = excluded.as_of
WHERE (excluded.as_of, coalesce(excluded.ticker, ''), coalesce(excluded.cik, 0), coalesce(excluded.issuer, ''),
        coalesce(excluded.security_group, ''), coalesce(excluded.figi, ''), coalesce(excluded.successor, ''),
        coalesce(excluded.effective_date, ''), coalesce(excluded.reason, ''))
    > (cusip_mappings.as_of, coalesce(cusip_mappings.ticker, ''), coalesce(cusip_mappings.cik, 0),
        coalesce(cusip_mappings.issuer, ''), coalesce(cusip_mappings.security_group, ''),
        coalesce(cusip_mappings.figi, ''), coalesce(cusip_mappings.successor, ''),
        coalesce(cusip_mappings.effective_date, ''), coalesce(cusip_mappings.reason, ''))

-- name: cusip_mapping
SELECT effective_date, reason FROM cusip_mappings WHERE cusip = :cusip

-- name: predecessor_of_cusip
SELECT cusip FROM cusip_mappings WHERE successor = :cusip ORDER BY effective_date DESC, cusip LIMIT 1

-- name: successor_of_cusip
SELECT successor FROM cusip_mappings WHERE cusip = :cusip

-- name: count_security_groups
SELECT security_group, count(*) AS securities FROM securities WHERE id > 0 GROUP BY security_group

-- name: count_securities
SELECT (SELECT count(*) FROM securities WHERE id > 0) AS total,
    (SELECT count(*) FROM securities WHERE ticker > '') AS mapped,
    (SELECT count(*) FROM securities WHERE cik > 0) AS with_cik,
    (SELECT max(as_of) FROM cusip_mappings WHERE cusip > '') AS mapping_as_of

-- name: complete_tickers
SELECT tickers.ticker AS symbol, printf('%010d', tickers.cik) AS cik, tickers.exchange, companies.name,
    max(found.score) AS score, count(*) OVER () AS total
FROM (
    SELECT ticker, cik, CASE ticker WHEN :ticker THEN 100 ELSE 80 END AS score
    FROM tickers WHERE ticker >= :ticker AND ticker < :ticker_end
    UNION ALL
    SELECT tickers.ticker, tickers.cik, 50
    FROM company_keys
    JOIN tickers ON tickers.cik = company_keys.cik
    WHERE key >= :key AND key < :key_end
) AS found
JOIN tickers ON tickers.ticker = found.ticker AND tickers.cik = found.cik
JOIN companies ON companies.cik = found.cik
GROUP BY tickers.ticker, tickers.cik
ORDER BY score DESC, length(tickers.ticker), tickers.ticker, tickers.cik
LIMIT :limit OFFSET :offset
