-- name: upsert_submission_page
INSERT INTO submission_pages (name, cik, filings, first, last)
VALUES (:name, :cik, :filings, :first, :last)
ON CONFLICT (name) DO UPDATE
SET filings = excluded.filings, first = excluded.first, last = excluded.last
WHERE coalesce(excluded.filings, 0) > coalesce(filings, 0)

-- name: upsert_ingested_page
INSERT INTO submission_pages (name, cik, ingested) VALUES (:name, :cik, 1)
ON CONFLICT (name) DO UPDATE SET ingested = 1 WHERE ingested = 0

-- name: missing_submission_pages
SELECT name AS page, filings, first AS first_filed, last AS last_filed FROM submission_pages WHERE cik = :cik AND NOT ingested ORDER BY name

-- name: update_list_place
UPDATE companies SET list_place = :place WHERE cik = :cik AND list_place IS NOT :place
