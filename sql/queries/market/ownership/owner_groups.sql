-- part: groups
FROM schedule_filings AS filing INDEXED BY schedule_filings_of_groups
WHERE filing.is_group AND filing.is_latest AND filing.filed_day >= 0
    AND (:issuer IS NULL OR filing.issuer_cik = :issuer) AND NOT (:active_only AND filing.is_exit)

-- name: owner_groups
SELECT filing.id AS filing_id, person.name AS groupName, filing.issuer_cik,
    filing.issuer_name AS issuerName, filing.lead_percent AS percent, filing.lead_shares AS shares, filing.source,
    filing.is_exit, filing.accession AS latestAccessionNo,
    coalesce(filings.accepted_at, filing.filed_at || 'T00:00:00.000Z') AS latestFiledAt
FROM (SELECT filing.id {groups} ORDER BY filing.filed_day DESC, filing.id DESC LIMIT :limit OFFSET :offset) AS latest
CROSS JOIN schedule_filings AS filing ON filing.id = latest.id
JOIN schedule_persons AS person ON person.filing_id = filing.id AND person.seq = filing.lead_seq
LEFT JOIN filings ON filings.accession = filing.accession
ORDER BY filing.filed_day DESC, filing.id DESC

-- name: count_owner_groups
SELECT count(*) {groups}

-- part: lines_with_filings
-- For each latest filing, the filings that lead up to it. If several filings follow one, only one continues its line: an
-- amendment of the same kind before others, then the earliest that names the lead.
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
    CROSS JOIN schedule_persons AS prior ON prior.id = person.prior_id AND prior.filing_id = next.prior_id
    CROSS JOIN schedule_filings AS before ON before.id = prior.filing_id AND before.lead_seq = prior.seq
    WHERE person.filing_id = next.id
)

-- name: lines_of_groups
-- The first filing of each line, and the event of its first filing as a group. With max(), SQLite takes the other columns
-- from the row with the greatest depth.
{lines_with_filings}
SELECT root.latest, root.id, iif(first.is_amendment AND first.id = root.id, NULL, first.event_date) AS formationDate
FROM (SELECT latest, id, max(depth) FROM line GROUP BY latest) AS root
JOIN (
    SELECT line.latest, filing.id, filing.is_amendment, filing.event_date, max(line.depth)
    FROM line CROSS JOIN schedule_filings AS filing ON filing.id = line.id
    WHERE filing.is_group
    GROUP BY line.latest
) AS first ON first.latest = root.latest

-- name: members_of_groups
-- The members with their names in the latest filing of the line that names them. With min(), SQLite takes the other columns
-- from the row with the least depth.
{lines_with_filings}
SELECT line.latest, person.name AS memberName, person.cik, min(line.depth),
    max(line.depth = 0) AS isCurrentMember, max(line.depth = 0 AND person.seq = filing.lead_seq) AS isLeadFiler
FROM line
CROSS JOIN schedule_filings AS filing ON filing.id = line.id AND filing.is_group
CROSS JOIN schedule_persons AS person ON person.filing_id = filing.id AND coalesce(person.member, 'a') = 'a'
GROUP BY line.latest, person.holder
ORDER BY line.latest, isCurrentMember DESC, isLeadFiler DESC, person.name, person.holder
