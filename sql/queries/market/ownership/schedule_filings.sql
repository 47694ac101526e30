-- part: schedule_matches
(:forms IS NULL OR filing.form IN (SELECT value FROM json_each(:forms)))
    AND (:amendment IS NULL OR filing.is_amendment = :amendment)
    AND (:conversion IS NULL OR coalesce(filing.kind <> filing.prior_kind, 0) = :conversion)
    AND (:intent IS NULL OR filing.intents & :intent)
    AND filing.filed_day >= :since AND filing.filed_day <= :until

-- part: all_schedules
SELECT filing.id, filing.lead_seq AS seq
FROM schedule_filings AS filing
WHERE (:min_percent IS NULL OR filing.percent >= :min_percent) AND {schedule_matches}

-- part: schedule_page
LIMIT :limit OFFSET :offset

-- name: all_schedules_newest_first
{all_schedules} ORDER BY filing.filed_day DESC, filing.id DESC {schedule_page}

-- name: all_schedules_oldest_first
{all_schedules} ORDER BY filing.filed_day, filing.id {schedule_page}

-- part: all_schedules_by_percent
SELECT filing.id, filing.lead_seq AS seq
FROM schedule_filings AS filing INDEXED BY schedule_filings_by_percent
WHERE (:min_percent IS NULL OR filing.percent >= :min_percent) AND {schedule_matches}

-- name: all_schedules_greatest_first
{all_schedules_by_percent} ORDER BY filing.percent DESC, filing.filed_day DESC, filing.id DESC {schedule_page}

-- name: all_schedules_smallest_first
{all_schedules_by_percent} ORDER BY filing.percent, filing.filed_day, filing.id {schedule_page}

-- name: count_all_schedules
SELECT count(*) FROM ({all_schedules})

-- part: schedules_of_issuer
SELECT filing.id, filing.lead_seq AS seq
FROM schedule_filings AS filing INDEXED BY schedule_filings_by_issuer
WHERE filing.issuer_cik = :issuer AND (:min_percent IS NULL OR filing.percent >= :min_percent) AND {schedule_matches}

-- name: schedules_of_issuer_newest_first
{schedules_of_issuer} ORDER BY filing.filed_day DESC, filing.id DESC {schedule_page}

-- name: schedules_of_issuer_oldest_first
{schedules_of_issuer} ORDER BY filing.filed_day, filing.id {schedule_page}

-- name: schedules_of_issuer_greatest_first
{schedules_of_issuer} ORDER BY filing.percent DESC, filing.filed_day DESC, filing.id DESC {schedule_page}

-- name: schedules_of_issuer_smallest_first
{schedules_of_issuer} ORDER BY filing.percent, filing.filed_day, filing.id {schedule_page}

-- name: count_schedules_of_issuer
SELECT count(*) FROM ({schedules_of_issuer})

-- part: schedules_of_holders
-- SQLite takes the other columns from the row with the minimum: of each filing, the first of the requested persons.
SELECT filing.id, min(person.seq) AS seq, CAST(person.percent AS REAL) AS percent, filing.filed_day
FROM json_each(:holders) AS requested
CROSS JOIN schedule_persons AS person ON person.holder = requested.value
CROSS JOIN schedule_filings AS filing ON filing.id = person.filing_id
WHERE (:issuer IS NULL OR filing.issuer_cik = :issuer)
    AND (:min_percent IS NULL OR CAST(person.percent AS REAL) >= :min_percent) AND {schedule_matches}
GROUP BY filing.id

-- name: schedules_of_holders_newest_first
{schedules_of_holders} ORDER BY filing.filed_day DESC, filing.id DESC {schedule_page}

-- name: schedules_of_holders_oldest_first
{schedules_of_holders} ORDER BY filing.filed_day, filing.id {schedule_page}

-- name: schedules_of_holders_greatest_first
{schedules_of_holders} ORDER BY 3 DESC, filing.filed_day DESC, filing.id DESC {schedule_page}

-- name: schedules_of_holders_smallest_first
{schedules_of_holders} ORDER BY 3, filing.filed_day, filing.id {schedule_page}

-- name: count_schedules_of_holders
SELECT count(*) FROM ({schedules_of_holders})

-- name: holders_with_words
-- Holders whose names contain, for each of the words, a word that begins with it.
SELECT name_word.holder
FROM json_each(:words) AS beginning
CROSS JOIN schedule_words AS name_word
    ON name_word.word >= beginning.value AND name_word.word < beginning.value || char(1114111)
GROUP BY name_word.holder
HAVING count(DISTINCT beginning.key) = :count
ORDER BY name_word.holder
LIMIT :limit

-- name: schedule_lead
SELECT id, lead_seq FROM schedule_filings WHERE accession = :accession

-- name: schedules_by_persons
-- Filings with the figures of one person each and those of the person's previous filing.
SELECT filing.id AS filing_id, person.seq, filing.accession AS accessionNumber, filing.form AS formType, filing.kind,
    coalesce(filings.accepted_at, filing.filed_at || 'T00:00:00.000Z') AS filedAt, filing.issuer_cik,
    issuer.ticker AS issuerTicker, filing.issuer_name AS nameOfIssuer, person.cik, person.name AS filerName,
    person.percent, person.shares, prior.percent AS prior_percent, prior.shares AS prior_shares,
    before.accession AS priorAccessionNumber, before.kind AS prior_kind, before.source AS prior_source,
    coalesce(before.event_date, before.filed_at) AS prior_day, coalesce(filing.event_date, filing.filed_at) AS day,
    filing.purpose, filing.intents, filing.event_date AS dateOfEvent, filing.is_amendment AS isAmendment, filing.source,
    nullif(filing.cusip, '') AS cusip, filing.title AS titleOfClass, filing.person_count AS reportingPersonCount,
    person.holder AS holderUuid, person.sole_voting AS soleVotingPower, person.shared_voting AS sharedVotingPower
FROM json_each(:persons) AS requested
CROSS JOIN schedule_filings AS filing ON filing.id = requested.value ->> 0
CROSS JOIN schedule_persons AS person ON person.filing_id = filing.id AND person.seq = requested.value ->> 1
JOIN companies_with_ticker AS issuer ON issuer.cik = filing.issuer_cik
LEFT JOIN schedule_persons AS prior ON prior.id = person.prior_id
LEFT JOIN schedule_filings AS before ON before.id = prior.filing_id
LEFT JOIN filings ON filings.accession = filing.accession
