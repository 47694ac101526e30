-- name: held_schedules
SELECT id, accession, content, source, filed_at FROM schedule_filings WHERE accession = :accession
UNION
SELECT id, accession, content, source, filed_at FROM schedule_filings WHERE content = :content

-- name: undated_schedules
SELECT filing.accession, filing.source, held.document, held.body
FROM schedule_filings AS filing INDEXED BY schedule_filings_undated
JOIN schedule_bodies AS held ON held.filing_id = filing.id
WHERE filing.filed_at IS NULL

-- name: delete_schedule
DELETE FROM schedule_filings WHERE id = :id

-- name: insert_schedule
INSERT INTO schedule_filings (id, accession, content, source, form, kind, is_amendment, amendment, issuer_cik, issuer_name,
    cusip, title, event_date, filed_at, filed_day, person_count, is_group, is_exit, purpose, intents, lead_seq,
    lead_percent, lead_shares)
VALUES (:id, :accession, :content, :source, :form, :kind, :is_amendment, :amendment, :issuer_cik, :issuer_name,
    :cusip, :title, :event_date, :filed_at, :filed_day, :person_count, :is_group, :is_exit, :purpose, :intents, :lead_seq,
    :lead_percent, :lead_shares)

-- name: insert_schedule_body
INSERT INTO schedule_bodies (filing_id, document, body) VALUES (:filing_id, :document, :body)

-- name: insert_schedule_person
INSERT INTO schedule_persons (filing_id, seq, holder, cik, name, member, citizenship, types, shares, percent,
    sole_voting, shared_voting, sole_dispositive, shared_dispositive, issuer_cik, cusip, filed_day)
VALUES (:filing_id, :seq, :holder, :cik, :name, :member, :citizenship, :types, :shares, :percent,
    :sole_voting, :shared_voting, :sole_dispositive, :shared_dispositive, :issuer_cik, :cusip, :filed_day)

-- name: insert_schedule_words
INSERT OR IGNORE INTO schedule_words (word, holder) VALUES (?, ?)

-- name: persons_of_schedule
SELECT holder, issuer_cik, filed_day FROM schedule_persons WHERE filing_id = :filing_id

-- name: schedule_chain_from
SELECT person.id, person.filing_id, person.seq, filing.lead_seq
FROM schedule_persons AS person
JOIN schedule_filings AS filing ON filing.id = person.filing_id
WHERE person.issuer_cik = :issuer_cik AND person.holder = :holder
    AND (person.filed_day, person.filing_id) >= (:filed_day, :filing_id)
ORDER BY person.filed_day, person.filing_id
LIMIT :limit

-- name: link_schedule_person
-- Of the same securities, as far as both filings tell which.
UPDATE schedule_persons AS mine
SET prior_id = (
    SELECT other.id
    FROM schedule_persons AS other
    WHERE other.issuer_cik = mine.issuer_cik AND other.holder = mine.holder
        AND (other.filed_day, other.filing_id) < (mine.filed_day, mine.filing_id)
        AND (other.cusip = mine.cusip OR other.cusip = '' OR mine.cusip = '')
    ORDER BY other.filed_day DESC, other.filing_id DESC
    LIMIT 1
)
WHERE mine.id = :id

-- name: link_schedule
UPDATE schedule_filings AS mine
SET (prior_id, prior_kind, prior_source, prior_percent, prior_shares) = (
    SELECT before.id, before.kind, before.source, prior.percent, prior.shares
    FROM schedule_persons AS person
    LEFT JOIN schedule_persons AS prior ON prior.id = person.prior_id
    LEFT JOIN schedule_filings AS before ON before.id = prior.filing_id
    WHERE person.filing_id = mine.id AND person.seq = mine.lead_seq
)
WHERE mine.id = :id

-- name: mark_current_persons
-- A filing that tells no CUSIP may come between two of the same securities.
UPDATE schedule_persons AS mine
SET is_current = NOT EXISTS (SELECT 1 FROM schedule_persons AS later WHERE later.prior_id = mine.id)
    AND NOT EXISTS (
        SELECT 1 FROM schedule_persons AS later
        WHERE later.issuer_cik = mine.issuer_cik AND later.holder = mine.holder AND later.cusip = mine.cusip
            AND (later.filed_day, later.filing_id) > (mine.filed_day, mine.filing_id)
    )
WHERE mine.issuer_cik = :issuer_cik AND mine.holder = :holder

-- name: mark_latest_schedules
-- Latest is a filing whose lead filed nothing later, and that no amendment of the same schedule follows. One who files
-- another schedule alone leaves the joint one to the others.
UPDATE schedule_filings AS mine
SET is_latest = NOT EXISTS (
        SELECT 1 FROM schedule_persons AS leading
        WHERE leading.filing_id = mine.id AND leading.seq = mine.lead_seq AND NOT leading.is_current
    ) AND NOT EXISTS (
        SELECT 1 FROM schedule_filings AS later
        WHERE later.prior_id = mine.id AND later.is_amendment AND later.kind = mine.kind
    )
WHERE mine.id IN (SELECT filing_id FROM schedule_persons WHERE issuer_cik = :issuer_cik AND holder = :holder)
