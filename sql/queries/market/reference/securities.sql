-- name: security_ids
SELECT cusip, id FROM securities WHERE cusip IN (SELECT value FROM json_each(:cusips))

-- name: insert_securities
INSERT INTO securities (cusip, issuer, title, seen, issuer_key, class_letter, security_group)
VALUES (?, ?, ?, '', ?, ?, ?)

-- name: insert_security_words
INSERT OR IGNORE INTO security_words (word, security_id) VALUES (?, ?)

-- name: delete_security_words
DELETE FROM security_words WHERE security_id = ?

-- name: reported_names
SELECT cusip, id, issuer, title, seen FROM securities WHERE cusip IN (SELECT value FROM json_each(:cusips))

-- name: update_reported_security
UPDATE securities
SET issuer = ?1, title = ?2, issuer_key = ?3, class_letter = ?4,
    security_group = coalesce(
        (SELECT security_group FROM cusip_mappings WHERE cusip_mappings.cusip = securities.cusip), ?5
    ),
    seen = ?6
WHERE cusip = ?7

-- name: update_securities_seen
-- The same name was reported again by a later filing.
UPDATE securities SET seen = :seen WHERE cusip IN (SELECT value FROM json_each(:cusips))

-- name: recompute_securities
-- Ticker and company come from a loaded mapping, else from fails-to-deliver, else from the issuer's name.
--
-- By name: the company is the only one among those of the best rank. The ranks are 0 for the same key, 2 for the same
-- stem if one of the two names has no legal form, 4 and 6 for a name that was cut (at a word, within a word); one more
-- for a former name of the company.
--
-- The ticker of a company found by name is given to stocks only: its only ticker, else the ticker of the same share
-- class, else (a security without a class letter) its first ticker if none of its tickers has a class.
UPDATE securities
SET (ticker, cik, evidence) = (
    SELECT
        CASE WHEN mapped.cusip IS NOT NULL THEN mapped.ticker WHEN failed.cusip IS NOT NULL THEN failed.ticker
            WHEN securities.security_group = 'Stocks' THEN (
                SELECT ticker FROM share_tickers AS share
                WHERE share.cik = named.cik AND CASE
                    WHEN (SELECT count(*) FROM share_tickers AS any_share WHERE any_share.cik = share.cik) = 1 THEN 1
                    WHEN class_letter IS NULL THEN share.class IS NULL AND share.ticker = (
                        SELECT ticker FROM companies_with_ticker AS first WHERE first.cik = share.cik
                    ) AND NOT EXISTS (
                        SELECT 1 FROM share_tickers AS sister
                        WHERE sister.cik = share.cik AND sister.class_of IN (share.ticker, share.class_of)
                    )
                    WHEN EXISTS (
                        SELECT 1 FROM share_tickers AS same_class WHERE same_class.cik = share.cik AND same_class.class = class_letter
                    ) THEN share.class = class_letter
                    ELSE share.class IS NULL AND EXISTS (
                        SELECT 1 FROM share_tickers AS sister
                        WHERE sister.cik = share.cik AND sister.class_of = share.ticker
                    )
                END
                ORDER BY share.source DESC, share.last_seen DESC, share.position, share.ticker LIMIT 1
            )
        END,
        CASE WHEN mapped.cusip IS NOT NULL THEN coalesce(
            (SELECT companies.cik FROM companies WHERE companies.cik = mapped.cik),
            (SELECT CASE WHEN count(*) = 1 THEN min(cik) END FROM tickers WHERE tickers.ticker = mapped.ticker)
        ) WHEN failed.cusip IS NOT NULL THEN coalesce(
            (SELECT CASE WHEN count(*) = 1 THEN min(cik) END FROM tickers WHERE tickers.ticker = failed.ticker), named.cik
        ) ELSE named.cik END,
        CASE WHEN mapped.cusip IS NOT NULL THEN 'csv' WHEN failed.cusip IS NOT NULL THEN 'fails_to_deliver'
            WHEN named.cik IS NULL THEN NULL
            WHEN seen = '' AND EXISTS (SELECT 1 FROM listed_securities AS listed WHERE listed.cusip = securities.cusip)
            THEN '13f_list' ELSE 'name' END
    FROM (SELECT 1)
    LEFT JOIN cusip_mappings AS mapped ON mapped.cusip = securities.cusip
    LEFT JOIN failed_securities AS failed ON failed.cusip = securities.cusip AND NOT EXISTS (
        -- Another issuer's security (its CUSIP begins differently) had this symbol later.
        SELECT 1 FROM failed_securities AS later
        WHERE later.ticker = failed.ticker AND later.as_of > failed.as_of
            AND substr(later.cusip, 1, 6) <> substr(failed.cusip, 1, 6)
    )
    LEFT JOIN (
        SELECT (
            SELECT CASE WHEN count(DISTINCT cik) = 1 THEN min(cik) END
            FROM (
                SELECT cik, rank, min(rank) OVER () AS best
                FROM (
                    SELECT cik, iif(key = securities.issuer_key, 0, 2) + former AS rank
                    FROM company_keys
                    WHERE key >= substr(securities.issuer_key || ' ', 1, instr(securities.issuer_key || ' ', ' ') - 1)
                        AND key < substr(securities.issuer_key || ' ', 1, instr(securities.issuer_key || ' ', ' ') - 1)
                            || '!'
                        AND securities.issuer_key NOT GLOB '*[*]'
                        AND (key = securities.issuer_key OR instr(key, ' ') = 0 OR instr(securities.issuer_key, ' ') = 0)
                    UNION ALL
                    SELECT cik, former + CASE WHEN key || ' ' GLOB rtrim(securities.issuer_key, '*') || ' *' THEN 4 ELSE 6 END
                    FROM company_keys
                    WHERE key >= rtrim(securities.issuer_key, '*')
                        AND key < rtrim(securities.issuer_key, '*') || char(65535)
                        AND securities.issuer_key GLOB '*[*]' AND length(securities.issuer_key) > 12
                )
            )
            WHERE rank = best
        ) AS cik
    ) AS named
)
WHERE cusip IN (SELECT value FROM json_each(:cusips))

-- name: keys_of_company
SELECT key FROM company_keys WHERE cik = :cik

-- name: candidate_securities_of_company
-- The securities whose ticker or company may depend on this company: by name, loaded mapping or symbol.
SELECT securities.cusip
FROM json_each(:stems) AS stem
CROSS JOIN securities ON securities.issuer_key >= stem.value AND securities.issuer_key < stem.value || '!'
UNION
SELECT cusip FROM securities WHERE issuer_key IN (SELECT value FROM json_each(:cut_keys))
UNION
SELECT cusip FROM cusip_mappings WHERE cik = :cik
UNION
SELECT cusip_mappings.cusip
FROM tickers
JOIN cusip_mappings ON cusip_mappings.ticker = tickers.ticker
WHERE tickers.cik = :cik
UNION
SELECT failed_securities.cusip
FROM tickers
JOIN failed_securities ON failed_securities.ticker = tickers.ticker
WHERE tickers.cik = :cik

-- name: upsert_failed_security
INSERT INTO failed_securities (cusip, ticker, name, as_of) VALUES (:cusip, :ticker, :name, :as_of)
ON CONFLICT (cusip) DO UPDATE SET ticker = excluded.ticker, name = excluded.name, as_of = excluded.as_of
WHERE (excluded.as_of, excluded.ticker) > (as_of, ticker)

-- name: upsert_listed_security
INSERT INTO listed_securities (cusip, status) VALUES (:cusip, :status)
ON CONFLICT (cusip) DO UPDATE SET status = excluded.status WHERE status IS NOT excluded.status

-- name: failed_securities_of_tickers
SELECT cusip FROM failed_securities WHERE ticker IN (SELECT value FROM json_each(:tickers))

-- name: unique_hyphenated_tickers
-- BRK-B by BRKB, unless another ticker equals BRKB without its hyphens too.
SELECT replace(ticker, '-', '') AS squeezed, min(ticker) AS ticker FROM tickers
WHERE ticker LIKE '%-%' GROUP BY squeezed HAVING count(DISTINCT ticker) = 1

-- name: update_unreported_issuer
UPDATE securities
SET issuer = :issuer, issuer_key = :key
WHERE cusip = :cusip AND seen = '' AND :issuer <> ''
    AND NOT EXISTS (SELECT 1 FROM listed_securities AS listed WHERE listed.cusip = securities.cusip)

-- name: update_listed_security
UPDATE securities
SET issuer = :issuer, title = :title, issuer_key = :issuer_key, class_letter = :class_letter,
    security_group = coalesce(
        (SELECT security_group FROM cusip_mappings WHERE cusip_mappings.cusip = securities.cusip), :security_group
    )
WHERE cusip = :cusip AND seen = ''

-- name: update_security_group
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

-- name: matching_securities
SELECT securities.*, matches.score, count(*) OVER () AS total
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
        WHERE word >= :word AND word < :word_end AND ' ' || upper(issuer) GLOB :other_words_glob
    )
    GROUP BY id
) AS matches
JOIN securities ON securities.id = matches.id
ORDER BY score DESC, issuer, cusip
LIMIT :limit OFFSET :offset

-- name: upsert_cusip_mapping
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

-- name: security_group_counts
SELECT security_group, count(*) AS securities FROM securities WHERE id > 0 GROUP BY security_group

-- name: security_counts
SELECT (SELECT count(*) FROM securities WHERE id > 0) AS total,
    (SELECT count(*) FROM securities WHERE ticker > '') AS mapped,
    (SELECT count(*) FROM securities WHERE cik > 0) AS with_cik,
    (SELECT max(as_of) FROM cusip_mappings WHERE cusip > '') AS mapping_as_of

-- name: matching_tickers
SELECT tickers.ticker AS symbol, printf('%010d', tickers.cik) AS cik, tickers.exchange, companies.name,
    max(matches.score) AS score, count(*) OVER () AS total
FROM (
    SELECT ticker, cik, CASE ticker WHEN :ticker THEN 100 ELSE 80 END AS score
    FROM tickers WHERE ticker >= :ticker AND ticker < :ticker_end
    UNION ALL
    SELECT tickers.ticker, tickers.cik, 50
    FROM company_keys
    JOIN tickers ON tickers.cik = company_keys.cik
    WHERE key >= :key AND key < :key_end
    UNION ALL
    SELECT ticker, cik, 100 FROM tickers WHERE cik = :cik
) AS matches
JOIN tickers ON tickers.ticker = matches.ticker AND tickers.cik = matches.cik
JOIN companies ON companies.cik = matches.cik
GROUP BY tickers.ticker, tickers.cik
ORDER BY score DESC, companies.list_place IS NULL, companies.list_place, tickers.source DESC, tickers.position,
    length(tickers.ticker), tickers.ticker, tickers.cik
LIMIT :limit OFFSET :offset
