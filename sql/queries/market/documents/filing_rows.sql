-- name: filings_by_accession
SELECT id, accession, form, filed_at, accepted_at, period_of_report, primary_document, description, items, size,
    is_xbrl, nullif(first_seen_at, '') AS first_seen_at, nullif(updated_at, '') AS updated_at
FROM filings
WHERE accession IN (SELECT value FROM json_each(:accessions))

-- name: parties_by_accession
SELECT filings.id AS filing_id, filing_parties.cik, filing_parties.rank, companies.name, companies.sic, companies.ticker
FROM filings
JOIN filing_parties ON filing_parties.filing_id = filings.id
JOIN companies_with_ticker AS companies ON companies.cik = filing_parties.cik
WHERE filings.accession IN (SELECT value FROM json_each(:accessions))

-- name: documents_by_accession
SELECT filing_documents.filing_id, filing_documents.type, filing_documents.filename AS document,
    filing_documents.description, CAST(filing_documents.size AS TEXT) AS size, filing_documents.seq AS sequence,
    filing_bodies.id IS NOT NULL AS is_stored
FROM filings
JOIN filing_documents ON filing_documents.filing_id = filings.id
LEFT JOIN filing_bodies
    ON filing_bodies.filing_id = filing_documents.filing_id AND filing_bodies.seq = filing_documents.seq
WHERE filings.accession IN (SELECT value FROM json_each(:accessions))
ORDER BY filing_documents.filing_id, filing_documents.seq

-- name: has_primary_text
SELECT EXISTS (
    SELECT 1 FROM filings JOIN filing_bodies ON filing_bodies.filing_id = filings.id
    WHERE filings.accession = :accession AND filing_bodies.is_primary
)
