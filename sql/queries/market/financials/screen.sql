-- name: latest_years
-- Companies with facts by CIK; figures of the latest year where they were made of all that is known, by these rules.
SELECT latest_years.cik, company.name, company.ticker, latest_years.stamp,
    iif(latest_years.made_of = latest_years.stamp AND latest_years.made_by = :rules, latest_years.figures, NULL) AS figures
FROM latest_years
JOIN companies_with_ticker AS company ON company.cik = latest_years.cik
WHERE :ciks IS NULL OR latest_years.cik IN (SELECT value FROM json_each(:ciks))
ORDER BY latest_years.cik

-- name: latest_years_due
SELECT cik FROM latest_years WHERE made_of IS NOT stamp OR made_by IS NOT :rules ORDER BY cik LIMIT :limit

-- name: keep_latest_year
-- Unless something changed while it was made.
UPDATE latest_years SET made_of = stamp, made_by = :rules, figures = :figures WHERE cik = :cik AND stamp = :stamp

-- name: keep_book
INSERT INTO kept_books (cik, made_by, book, made_of)
SELECT cik, ?, ?, stamp FROM latest_years WHERE cik = ? AND stamp = ?
ON CONFLICT (cik) DO UPDATE SET made_by = excluded.made_by, book = excluded.book, made_of = excluded.made_of
