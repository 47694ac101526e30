-- part: notice_matches
notice.filed_day >= :since AND notice.filed_day <= :until
    AND (:amendment IS NULL OR notice.is_amendment = :amendment)

-- part: newest_notices
ORDER BY notice.filed_day DESC, notice.id DESC LIMIT :limit OFFSET :offset

-- part: all_notices
SELECT notice.id FROM sale_notices AS notice INDEXED BY sale_notices_by_day WHERE {notice_matches}

-- part: notices_of_issuer
SELECT notice.id FROM sale_notices AS notice INDEXED BY sale_notices_by_issuer
WHERE notice.issuer_cik = :issuer AND {notice_matches}

-- part: notices_of_filer
SELECT notice.id FROM sale_notices AS notice INDEXED BY sale_notices_by_filer
WHERE notice.filer_cik = :filer AND (:issuer IS NULL OR notice.issuer_cik = :issuer) AND {notice_matches}

-- name: ids_of_all_notices
{all_notices} {newest_notices}

-- name: count_of_all_notices
SELECT count(*) FROM ({all_notices})

-- name: ids_of_notices_of_issuer
{notices_of_issuer} {newest_notices}

-- name: count_of_notices_of_issuer
SELECT count(*) FROM ({notices_of_issuer})

-- name: ids_of_notices_of_filer
{notices_of_filer} {newest_notices}

-- name: count_of_notices_of_filer
SELECT count(*) FROM ({notices_of_filer})

-- name: sale_notices_by_ids
SELECT notice.id, notice.accession AS accession_number, notice.form AS form_type, notice.is_amendment,
    coalesce(filings.accepted_at, notice.filed_at || 'T00:00:00.000Z') AS filed_at, filings.accepted_at,
    notice.issuer_cik AS cik, issuer.ticker, notice.issuer_name AS company_name, notice.seller AS seller_name,
    notice.filer_cik, notice.sale_date AS approximate_sale_date, notice.document, notice.body
FROM json_each(:ids) AS requested
CROSS JOIN sale_notices AS notice ON notice.id = requested.value
JOIN companies_with_ticker AS issuer ON issuer.cik = notice.issuer_cik
LEFT JOIN filings ON filings.accession = notice.accession
