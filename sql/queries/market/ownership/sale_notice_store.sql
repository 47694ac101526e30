-- name: held_sale_notices
SELECT id, accession, content, filed_at FROM sale_notices WHERE accession = :accession
UNION
SELECT id, accession, content, filed_at FROM sale_notices WHERE content = :content

-- name: undated_sale_notices
SELECT accession, document, body FROM sale_notices INDEXED BY sale_notices_undated WHERE filed_at IS NULL

-- name: delete_sale_notice
DELETE FROM sale_notices WHERE id = :id

-- name: insert_sale_notice
INSERT INTO sale_notices (id, accession, content, form, is_amendment, issuer_cik, issuer_name, filer_cik, seller, filed_at,
    filed_day, sale_date, document, body)
VALUES (:id, :accession, :content, :form, :is_amendment, :issuer_cik, :issuer_name, :filer_cik, :seller, :filed_at,
    :filed_day, :sale_date, :document, :body)

-- name: insert_sale_notice_lines
INSERT INTO sale_notice_lines (notice_id, seq, title, broker, units, value, outstanding, date, exchange)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)

-- name: sale_notice_by_accession
SELECT id FROM sale_notices WHERE accession = :accession

-- name: sale_notices_to_pack
SELECT notice.accession, notice.filed_at, filings.accepted_at, notice.document, notice.body
FROM sale_notices AS notice
LEFT JOIN filings ON filings.accession = notice.accession
ORDER BY notice.id

-- part: notices_within
notice.filed_day >= :since AND notice.filed_day <= :until
    AND (:amendment IS NULL OR notice.is_amendment = :amendment)

-- part: notices_newest
ORDER BY notice.filed_day DESC, notice.id DESC LIMIT :limit OFFSET :offset

-- part: notices_of_all
SELECT notice.id FROM sale_notices AS notice INDEXED BY sale_notices_by_day WHERE {notices_within}

-- part: notices_of_issuer
SELECT notice.id FROM sale_notices AS notice INDEXED BY sale_notices_by_issuer
WHERE notice.issuer_cik = :issuer AND {notices_within}

-- part: notices_of_filer
SELECT notice.id FROM sale_notices AS notice INDEXED BY sale_notices_by_filer
WHERE notice.filer_cik = :filer AND (:issuer IS NULL OR notice.issuer_cik = :issuer) AND {notices_within}

-- name: sale_notices_of_all
{notices_of_all} {notices_newest}

-- name: sale_notices_of_all_count
SELECT count(*) FROM ({notices_of_all})

-- name: sale_notices_of_issuer
{notices_of_issuer} {notices_newest}

-- name: sale_notices_of_issuer_count
SELECT count(*) FROM ({notices_of_issuer})

-- name: sale_notices_of_filer
{notices_of_filer} {notices_newest}

-- name: sale_notices_of_filer_count
SELECT count(*) FROM ({notices_of_filer})

-- name: sale_notices_shown
SELECT notice.id, notice.accession AS accession_number, notice.form AS form_type, notice.is_amendment,
    coalesce(filings.accepted_at, notice.filed_at || 'T00:00:00.000Z') AS filed_at, filings.accepted_at,
    notice.issuer_cik AS cik, issuer.ticker, notice.issuer_name AS company_name, notice.seller AS seller_name,
    notice.filer_cik, notice.sale_date AS approximate_sale_date, notice.document, notice.body
FROM json_each(:ids) AS wanted
CROSS JOIN sale_notices AS notice ON notice.id = wanted.value
JOIN companies_with_ticker AS issuer ON issuer.cik = notice.issuer_cik
LEFT JOIN filings ON filings.accession = notice.accession
