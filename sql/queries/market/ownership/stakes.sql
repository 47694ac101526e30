-- part: stake_record
SELECT person.cik, person.name, person.percent, person.shares, person.holder AS holderUuid, filing.source,
    coalesce(filings.accepted_at, filing.filed_at || 'T00:00:00.000Z') AS latestFiledAt,
    substr(filing.purpose, 1, 500) AS purpose, filing.accession AS accessionNumber, filing.form AS formType,
    filing.title AS titleOfClass, nullif(filing.cusip, '') AS cusip, filing.is_exit AS isExit,
    filing.is_latest AS isNamedInLatest, person.seq = filing.lead_seq AS isLead,
    filing.person_count AS reportedTogether, filing.issuer_cik, filing.issuer_name AS nameOfIssuer,
    issuer.ticker AS issuerTicker

-- part: stake_joins
JOIN schedule_filings AS filing ON filing.id = person.filing_id
JOIN companies_with_ticker AS issuer ON issuer.cik = filing.issuer_cik
LEFT JOIN filings ON filings.accession = filing.accession

-- name: stakes_in_issuer
{stake_record}
FROM schedule_persons AS person INDEXED BY schedule_persons_current
{stake_joins}
WHERE person.issuer_cik = :cik AND person.is_current
ORDER BY person.filed_day DESC, person.filing_id DESC, person.seq
LIMIT :limit

-- name: stakes_of_holder
{stake_record}
FROM schedule_persons AS person INDEXED BY schedule_persons_by_cik
{stake_joins}
WHERE person.cik = :cik AND person.is_current
ORDER BY person.filed_day DESC, person.filing_id DESC, person.seq
LIMIT :limit OFFSET :offset

-- name: count_stakes_of_holder
SELECT count(*) FROM schedule_persons INDEXED BY schedule_persons_by_cik WHERE cik = :cik AND is_current

-- name: schedule_holder_name
SELECT name FROM schedule_persons WHERE cik = :cik ORDER BY filed_day DESC, filing_id DESC LIMIT 1
