-- part: schedule_alike
(:forms IS NULL OR filing.form IN (SELECT value FROM json_each(:forms)))
    AND (:amendment IS NULL OR filing.is_amendment = :amendment)
    AND (:conversion IS NULL OR coalesce(filing.kind <> filing.prior_kind, 0) = :conversion)
    AND (:intent IS NULL OR filing.intents & :intent)
    AND filing.filed_day >= :since AND filing.filed_day <= :until

-- part: schedule_of_all
SELECT filing.id, filing.lead_seq AS seq
FROM schedule_filings AS filing
WHERE (:min_percent IS NULL OR filing.percent >= :min_percent) AND {schedule_alike}

-- part: schedule_page
LIMIT :limit OFFSET :offset

-- name: schedules_of_all_newest
{schedule_of_all} ORDER BY filing.filed_day DESC, filing.id DESC {schedule_page}

-- name: schedules_of_all_oldest
{schedule_of_all} ORDER BY filing.filed_day, filing.id {schedule_page}

-- part: schedule_by_percent
SELECT filing.id, filing.lead_seq AS seq
FROM schedule_filings AS filing INDEXED BY schedule_filings_by_percent
WHERE (:min_percent IS NULL OR filing.percent >= :min_percent) AND {schedule_alike}

-- name: schedules_of_all_greatest
{schedule_by_percent} ORDER BY filing.percent DESC, filing.filed_day DESC, filing.id DESC {schedule_page}

-- name: schedules_of_all_least
{schedule_by_percent} ORDER BY filing.percent, filing.filed_day, filing.id {schedule_page}

-- name: schedules_of_all_count
SELECT count(*) FROM ({schedule_of_all})

-- part: schedule_of_issuer
SELECT filing.id, filing.lead_seq AS seq
FROM schedule_filings AS filing INDEXED BY schedule_filings_by_issuer
WHERE filing.issuer_cik = :issuer AND (:min_percent IS NULL OR filing.percent >= :min_percent) AND {schedule_alike}

-- name: schedules_of_issuer_newest
{schedule_of_issuer} ORDER BY filing.filed_day DESC, filing.id DESC {schedule_page}

-- name: schedules_of_issuer_oldest
{schedule_of_issuer} ORDER BY filing.filed_day, filing.id {schedule_page}

-- name: schedules_of_issuer_greatest
{schedule_of_issuer} ORDER BY filing.percent DESC, filing.filed_day DESC, filing.id DESC {schedule_page}

-- name: schedules_of_issuer_least
{schedule_of_issuer} ORDER BY filing.percent, filing.filed_day, filing.id {schedule_page}

-- name: schedules_of_issuer_count
SELECT count(*) FROM ({schedule_of_issuer})

-- part: schedule_of_holders
-- Of each filing the first of the persons asked for; what is least is of that person.
SELECT filing.id, min(person.seq) AS seq, CAST(person.percent AS REAL) AS percent, filing.filed_day
FROM json_each(:holders) AS wanted
CROSS JOIN schedule_persons AS person ON person.holder = wanted.value
CROSS JOIN schedule_filings AS filing ON filing.id = person.filing_id
WHERE (:issuer IS NULL OR filing.issuer_cik = :issuer)
    AND (:min_percent IS NULL OR CAST(person.percent AS REAL) >= :min_percent) AND {schedule_alike}
GROUP BY filing.id

-- name: schedules_of_holders_newest
{schedule_of_holders} ORDER BY filing.filed_day DESC, filing.id DESC {schedule_page}

-- name: schedules_of_holders_oldest
{schedule_of_holders} ORDER BY filing.filed_day, filing.id {schedule_page}

-- name: schedules_of_holders_greatest
{schedule_of_holders} ORDER BY 3 DESC, filing.filed_day DESC, filing.id DESC {schedule_page}

-- name: schedules_of_holders_least
{schedule_of_holders} ORDER BY 3, filing.filed_day, filing.id {schedule_page}

-- name: schedules_of_holders_count
SELECT count(*) FROM ({schedule_of_holders})

-- name: holders_of_words
SELECT found.holder
FROM json_each(:words) AS wanted
CROSS JOIN schedule_words AS found ON found.word >= wanted.value AND found.word < wanted.value || char(1114111)
GROUP BY found.holder
HAVING count(DISTINCT wanted.key) = :count
ORDER BY found.holder
LIMIT :limit

-- name: schedule_lead
SELECT id, lead_seq FROM schedule_filings WHERE accession = :accession

-- name: schedules_shown
SELECT filing.id AS filing_id, person.seq, filing.accession AS accessionNumber, filing.form AS formType, filing.kind,
    coalesce(filings.accepted_at, filing.filed_at || 'T00:00:00.000Z') AS filedAt, filing.issuer_cik,
    issuer.ticker AS issuerTicker, filing.issuer_name AS nameOfIssuer, person.cik, person.name AS filerName,
    person.percent, person.shares, prior.percent AS prior_percent, prior.shares AS prior_shares,
    before.accession AS priorAccessionNumber, before.kind AS prior_kind, before.source AS prior_source,
    coalesce(before.event_date, before.filed_at) AS prior_day, coalesce(filing.event_date, filing.filed_at) AS day,
    filing.purpose, filing.intents, filing.event_date AS dateOfEvent, filing.is_amendment AS isAmendment, filing.source,
    nullif(filing.cusip, '') AS cusip, filing.title AS titleOfClass, filing.person_count AS reportingPersonCount,
    person.holder AS holderUuid, person.sole_voting AS soleVotingPower, person.shared_voting AS sharedVotingPower
FROM json_each(:places) AS place
CROSS JOIN schedule_filings AS filing ON filing.id = place.value ->> 0
CROSS JOIN schedule_persons AS person ON person.filing_id = filing.id AND person.seq = place.value ->> 1
JOIN companies_with_ticker AS issuer ON issuer.cik = filing.issuer_cik
LEFT JOIN schedule_persons AS prior ON prior.id = person.prior_id
LEFT JOIN schedule_filings AS before ON before.id = prior.filing_id
LEFT JOIN filings ON filings.accession = filing.accession

-- name: schedule_detail
SELECT filing.id, filing.accession AS accessionNumber, filing.form AS formType, filing.source, filing.issuer_cik,
    filing.issuer_name, filing.intents, filing.lead_seq, filing.event_date AS dateOfEvent,
    filing.is_amendment AS isAmendment, filing.amendment AS amendmentNumber, filing.title AS titleOfClass,
    filing.is_exit AS isExit, coalesce(filings.accepted_at, filing.filed_at || 'T00:00:00.000Z') AS filedAt,
    issuer.ticker, issuer.sic, held.body
FROM schedule_filings AS filing
JOIN schedule_bodies AS held ON held.filing_id = filing.id
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
FROM json_each(:accessions) AS wanted
CROSS JOIN schedule_filings AS filing ON filing.accession = wanted.value
CROSS JOIN schedule_persons AS person ON person.filing_id = filing.id
ORDER BY wanted.key, person.seq
