-- name: stored_sale_notices
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

-- name: insert_sale_notice_line
INSERT INTO sale_notice_lines (notice_id, seq, title, broker, units, value, outstanding, date, exchange)
VALUES (:notice_id, :seq, :title, :broker, :units, :value, :outstanding, :date, :exchange)

-- name: sale_notice_by_accession
SELECT id FROM sale_notices WHERE accession = :accession

-- name: sale_notices_to_pack
SELECT notice.accession, notice.filed_at, filings.accepted_at, notice.document, notice.body
FROM sale_notices AS notice
LEFT JOIN filings ON filings.accession = notice.accession
ORDER BY notice.id
