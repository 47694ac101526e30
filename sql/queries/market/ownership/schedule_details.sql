-- name: schedule_detail
SELECT filing.id, filing.accession AS accessionNumber, filing.form AS formType, filing.source, filing.issuer_cik,
    filing.issuer_name, filing.intents, filing.lead_seq, filing.event_date AS dateOfEvent,
    filing.is_amendment AS isAmendment, filing.amendment AS amendmentNumber, filing.title AS titleOfClass,
    filing.is_exit AS isExit, coalesce(filings.accepted_at, filing.filed_at || 'T00:00:00.000Z') AS filedAt,
    issuer.ticker, issuer.sic, stored.body
FROM schedule_filings AS filing
JOIN schedule_bodies AS stored ON stored.filing_id = filing.id
JOIN companies_with_ticker AS issuer ON issuer.cik = filing.issuer_cik
LEFT JOIN filings ON filings.accession = filing.accession
WHERE filing.accession = :accession

-- name: persons_of_filing
SELECT person.seq, person.holder AS holderUuid, person.cik, person.name, person.member, person.citizenship, person.types,
    person.shares, person.percent, person.sole_voting, person.shared_voting, person.sole_dispositive,
    person.shared_dispositive, filing.source
FROM schedule_persons AS person
JOIN schedule_filings AS filing ON filing.id = person.filing_id
WHERE person.filing_id = :filing_id
ORDER BY person.seq

-- name: persons_of_filings
SELECT filing.accession, filing.source, person.cik, person.name, person.shares, person.percent, person.sole_voting,
    person.shared_voting, person.sole_dispositive, person.shared_dispositive
FROM json_each(:accessions) AS requested
CROSS JOIN schedule_filings AS filing ON filing.accession = requested.value
CROSS JOIN schedule_persons AS person ON person.filing_id = filing.id
ORDER BY requested.key, person.seq
