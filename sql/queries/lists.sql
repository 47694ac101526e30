-- name: put_page
INSERT INTO submission_pages (name, cik, filings, first, last)
VALUES (:name, :cik, :filings, :first, :last)
ON CONFLICT (name) DO UPDATE
SET filings = excluded.filings, first = excluded.first, last = excluded.last
WHERE coalesce(excluded.filings, 0) > coalesce(filings, 0)

-- name: mark_page
INSERT INTO submission_pages (name, cik, ingested) VALUES (:name, :cik, 1)
ON CONFLICT (name) DO UPDATE SET ingested = 1 WHERE ingested = 0

-- name: pages_missing
SELECT name, filings, first, last FROM submission_pages WHERE cik = :cik AND NOT ingested ORDER BY name
