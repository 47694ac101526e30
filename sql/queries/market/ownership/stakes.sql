-- part: stake
SELECT person.cik, person.name, person.percent, person.shares, person.holder AS holderUuid, filing.source,
    coalesce(filings.accepted_at, filing.filed_at || 'T00:00:00.000Z') AS latestFiledAt,
    substr(filing.purpose, 1, 500) AS purpose, filing.accession AS accessionNumber, filing.form AS formType,
    filing.title AS titleOfClass, nullif(filing.cusip, '') AS cusip, filing.is_exit AS isExit,
    filing.is_latest AS isNamedInLatest, person.seq = filing.lead_seq AS isLead,
    filing.person_count AS reportedTogether, filing.issuer_cik, filing.issuer_name AS nameOfIssuer,
    issuer.ticker AS issuerTicker

-- part: stake_joined
JOIN schedule_filings AS filing ON filing.id = person.filing_id
JOIN companies_with_ticker AS issuer ON issuer.cik = filing.issuer_cik
LEFT JOIN filings ON filings.accession = filing.accession

-- name: stakes_of_issuer
{stake}
FROM schedule_persons AS person INDEXED BY schedule_persons_current
{stake_joined}
WHERE person.issuer_cik = :cik AND person.is_current
ORDER BY person.filed_day DESC, person.filing_id DESC, person.seq
LIMIT :limit

-- name: stakes_of_holder
{stake}
FROM schedule_persons AS person INDEXED BY schedule_persons_by_cik
{stake_joined}
WHERE person.cik = :cik AND person.is_current
ORDER BY person.filed_day DESC, person.filing_id DESC, person.seq
LIMIT :limit OFFSET :offset

-- name: stakes_of_holder_count
SELECT count(*) FROM schedule_persons INDEXED BY schedule_persons_by_cik WHERE cik = :cik AND is_current

-- name: schedule_holder_name
SELECT name FROM schedule_persons WHERE cik = :cik ORDER BY filed_day DESC, filing_id DESC LIMIT 1

-- part: converted
FROM schedule_filings AS filing INDEXED BY schedule_filings_converted
JOIN schedule_filings AS before ON before.id = filing.prior_id
WHERE filing.kind <> filing.prior_kind AND filing.filed_day >= :since

-- name: schedule_conversions
SELECT person.cik, person.name AS filerName, filing.issuer_cik, issuer.ticker AS issuerTicker,
    before.form AS priorFormType, filing.form AS currentFormType, before.kind || '_TO_' || filing.kind AS direction,
    before.accession AS priorAccession, filing.accession AS currentAccession,
    coalesce(filings.accepted_at, filing.filed_at || 'T00:00:00.000Z') AS convertedAt
FROM (SELECT filing.id {converted} ORDER BY filing.filed_day DESC, filing.id DESC LIMIT :limit OFFSET :offset) AS found
CROSS JOIN schedule_filings AS filing ON filing.id = found.id
JOIN schedule_filings AS before ON before.id = filing.prior_id
JOIN schedule_persons AS person ON person.filing_id = filing.id AND person.seq = filing.lead_seq
JOIN companies_with_ticker AS issuer ON issuer.cik = filing.issuer_cik
LEFT JOIN filings ON filings.accession = filing.accession
ORDER BY filing.filed_day DESC, filing.id DESC

-- name: schedule_conversions_count
SELECT count(*) {converted}

-- name: schedule_conversions_undated
SELECT count(*) FROM schedule_filings INDEXED BY schedule_filings_converted
WHERE kind <> prior_kind AND filed_day = 0

-- part: moved
-- Filings by which a lead may have come over a threshold, or under one.
SELECT id, filed_day, percent, CAST(prior_percent AS REAL) AS prior, prior_id IS NULL AND NOT is_amendment AS is_first
FROM schedule_filings INDEXED BY schedule_filings_by_day
WHERE filed_day >= :since AND filed_day <= :until AND (:issuer IS NULL OR issuer_cik = :issuer)
    AND (percent <> CAST(prior_percent AS REAL) OR (prior_id IS NULL AND percent >= 5))

-- part: crossed
-- A LIMIT keeps SQLite from reading the JSON once more for every filing.
AS filing
CROSS JOIN (SELECT value FROM json_each(:thresholds) LIMIT -1) AS passed
WHERE (passed.value = 5 OR NOT filing.is_first) AND CASE coalesce(:direction, '')
    WHEN 'up' THEN {crossed_up} WHEN 'down' THEN {crossed_down} ELSE {crossed_up} OR {crossed_down} END

-- part: crossed_up
(filing.percent >= passed.value AND (filing.prior < passed.value OR (filing.is_first AND passed.value = 5)))

-- part: crossed_down
(filing.percent < passed.value AND filing.prior >= passed.value)

-- name: threshold_crossings
SELECT filing.accession AS accessionNumber, filing.issuer_cik, issuer.ticker AS issuerTicker, person.cik,
    coalesce(filings.accepted_at, filing.filed_at || 'T00:00:00.000Z') AS filedAt, person.name AS filerName,
    found.threshold, iif(filing.percent >= found.threshold, 'up', 'down') AS direction,
    filing.prior_percent AS priorPercent, filing.lead_percent AS currentPercent
FROM (
    SELECT filing.id, passed.value AS threshold FROM ({moved}) {crossed}
    ORDER BY filing.filed_day DESC, filing.id DESC, passed.value DESC LIMIT :limit OFFSET :offset
) AS found
CROSS JOIN schedule_filings AS filing ON filing.id = found.id
JOIN schedule_persons AS person ON person.filing_id = filing.id AND person.seq = filing.lead_seq
JOIN companies_with_ticker AS issuer ON issuer.cik = filing.issuer_cik
LEFT JOIN filings ON filings.accession = filing.accession
ORDER BY filing.filed_day DESC, filing.id DESC, found.threshold DESC

-- name: threshold_crossings_count
-- Here the other LIMIT keeps it from making the figures of a filing for every threshold.
SELECT count(*) FROM ({moved} LIMIT -1) {crossed}

-- part: grouped
FROM schedule_filings AS filing INDEXED BY schedule_filings_of_groups
WHERE filing.is_group AND filing.is_latest AND filing.filed_day >= 0
    AND (:issuer IS NULL OR filing.issuer_cik = :issuer) AND NOT (:active AND filing.is_exit)

-- name: owner_groups
SELECT filing.id AS filing_id, person.name AS groupName, filing.issuer_cik,
    filing.issuer_name AS issuerName, filing.lead_percent AS percent, filing.lead_shares AS shares, filing.source,
    filing.is_exit, filing.accession AS latestAccessionNo,
    coalesce(filings.accepted_at, filing.filed_at || 'T00:00:00.000Z') AS latestFiledAt
FROM (SELECT filing.id {grouped} ORDER BY filing.filed_day DESC, filing.id DESC LIMIT :limit OFFSET :offset) AS found
CROSS JOIN schedule_filings AS filing ON filing.id = found.id
JOIN schedule_persons AS person ON person.filing_id = filing.id AND person.seq = filing.lead_seq
LEFT JOIN filings ON filings.accession = filing.accession
ORDER BY filing.filed_day DESC, filing.id DESC

-- name: owner_groups_count
SELECT count(*) {grouped}

-- part: lines
-- The filings that lead up to each latest one. Where several follow one filing, one carries its line on and the others
-- begin their own: an amendment of the same schedule before others, of filings that name its lead the first.
WITH RECURSIVE line (latest, depth, id) AS (
    SELECT value, 0, value FROM json_each(:ids)
    UNION ALL
    SELECT line.latest, line.depth + 1, filing.prior_id
    FROM line
    CROSS JOIN schedule_filings AS filing ON filing.id = line.id
    WHERE filing.id = (
        SELECT next.id FROM schedule_filings AS next
        WHERE next.prior_id = filing.prior_id AND ({amends} OR EXISTS {names_lead})
        ORDER BY {amends} DESC, next.filed_day, next.id LIMIT 1
    )
)

-- part: amends
(next.is_amendment AND next.kind = next.prior_kind)

-- part: names_lead
(
    SELECT 1 FROM schedule_persons AS person
    CROSS JOIN schedule_persons AS told ON told.id = person.prior_id AND told.filing_id = next.prior_id
    CROSS JOIN schedule_filings AS before ON before.id = told.filing_id AND before.lead_seq = told.seq
    WHERE person.filing_id = next.id
)

-- name: lines_of_groups
-- Where each begins, and with which event as a group; SQLite takes the row of the greatest depth.
{lines}
SELECT root.latest, root.id, iif(first.is_amendment AND first.id = root.id, NULL, first.event_date) AS formationDate
FROM (SELECT latest, id, max(depth) FROM line GROUP BY latest) AS root
JOIN (
    SELECT line.latest, filing.id, filing.is_amendment, filing.event_date, max(line.depth)
    FROM line CROSS JOIN schedule_filings AS filing ON filing.id = line.id
    WHERE filing.is_group
    GROUP BY line.latest
) AS first ON first.latest = root.latest

-- name: members_of_groups
-- Each under the name of its latest filing in the line; SQLite takes the row of the least depth.
{lines}
SELECT line.latest, person.name AS memberName, person.cik, min(line.depth),
    max(line.depth = 0) AS isCurrentMember, max(line.depth = 0 AND person.seq = filing.lead_seq) AS isLeadFiler
FROM line
CROSS JOIN schedule_filings AS filing ON filing.id = line.id AND filing.is_group
CROSS JOIN schedule_persons AS person ON person.filing_id = filing.id AND coalesce(person.member, 'a') = 'a'
GROUP BY line.latest, person.holder
ORDER BY line.latest, isCurrentMember DESC, isLeadFiler DESC, person.name, person.holder
