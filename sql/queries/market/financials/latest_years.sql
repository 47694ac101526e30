-- name: latest_years
-- The companies with facts, by CIK. The figures of the latest year are NULL if they are to be computed: if facts were added
-- since, or if they were computed by another version of the rules.
SELECT cik, stamp, iif(made_of = stamp AND made_by = :rules, figures, NULL) FROM latest_years ORDER BY cik

-- name: latest_years_by_cik
SELECT cik, stamp, iif(made_of = stamp AND made_by = :rules, figures, NULL) FROM latest_years
WHERE cik IN (SELECT value FROM json_each(:ciks)) ORDER BY cik

-- name: latest_years_due
SELECT cik, stamp, NULL FROM latest_years WHERE made_of IS NOT stamp OR made_by IS NOT :rules ORDER BY cik LIMIT :limit

-- name: count_latest_years_due
SELECT count(*) FROM latest_years
WHERE (made_of IS NOT stamp OR made_by IS NOT :rules)
    AND (:ciks IS NULL OR cik IN (SELECT value FROM json_each(:ciks)))

-- name: update_latest_year
-- Unless the facts of the company changed while it was computed.
UPDATE latest_years SET made_of = stamp, made_by = :rules, figures = :figures WHERE cik = :cik AND stamp = :stamp

-- name: upsert_stored_book
INSERT INTO kept_books (cik, made_by, book, made_of)
SELECT cik, ?, ?, stamp FROM latest_years WHERE cik = ? AND stamp = ?
ON CONFLICT (cik) DO UPDATE SET made_by = excluded.made_by, book = excluded.book, made_of = excluded.made_of
