-- name: stored_schedules
SELECT id, accession, content, source, filed_at FROM schedule_filings WHERE accession = :accession
UNION
SELECT id, accession, content, source, filed_at FROM schedule_filings WHERE content = :content

-- name: undated_schedules
SELECT filing.accession, filing.source, stored.document, stored.body
FROM schedule_filings AS filing INDEXED BY schedule_filings_undated
JOIN schedule_bodies AS stored ON stored.filing_id = filing.id
WHERE filing.filed_at IS NULL

-- name: delete_schedule_filing
DELETE FROM schedule_filings WHERE id = :id

-- name: insert_schedule_filing
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

-- name: insert_schedule_word
INSERT OR IGNORE INTO schedule_words (word, holder) VALUES (?, ?)

-- name: chains_of_schedule
SELECT holder, issuer_cik, filed_day FROM schedule_persons WHERE filing_id = :filing_id

-- name: chain_rows
-- The filings of a holder about an issuer, from one filing on, the earliest first.
SELECT person.id, person.filing_id, person.seq, filing.lead_seq
FROM schedule_persons AS person
JOIN schedule_filings AS filing ON filing.id = person.filing_id
WHERE person.issuer_cik = :issuer_cik AND person.holder = :holder
    AND (person.filed_day, person.filing_id) >= (:filed_day, :filing_id)
ORDER BY person.filed_day, person.filing_id
LIMIT :limit

-- name: update_prior_of_person
-- The previous filing is about the same securities, as far as both filings state a CUSIP.
UPDATE schedule_persons AS updated
SET prior_id = (
    SELECT other.id
    FROM schedule_persons AS other
    WHERE other.issuer_cik = updated.issuer_cik AND other.holder = updated.holder
        AND (other.filed_day, other.filing_id) < (updated.filed_day, updated.filing_id)
        AND (other.cusip = updated.cusip OR other.cusip = '' OR updated.cusip = '')
    ORDER BY other.filed_day DESC, other.filing_id DESC
    LIMIT 1
)
WHERE updated.id = :id

-- name: update_prior_of_schedule
-- Copies the values of the lead's previous filing.
UPDATE schedule_filings AS updated
SET (prior_id, prior_kind, prior_source, prior_percent, prior_shares) = (
    SELECT before.id, before.kind, before.source, prior.percent, prior.shares
    FROM schedule_persons AS person
    LEFT JOIN schedule_persons AS prior ON prior.id = person.prior_id
    LEFT JOIN schedule_filings AS before ON before.id = prior.filing_id
    WHERE person.filing_id = updated.id AND person.seq = updated.lead_seq
)
WHERE updated.id = :id

-- name: update_current_persons
-- A row is current if no later row is linked to it and no later row has its CUSIP. The second condition is needed because
-- a later row may be linked to a filing without a CUSIP that lies in between.
UPDATE schedule_persons AS updated
SET is_current = NOT EXISTS (SELECT 1 FROM schedule_persons AS later WHERE later.prior_id = updated.id)
    AND NOT EXISTS (
        SELECT 1 FROM schedule_persons AS later
        WHERE later.issuer_cik = updated.issuer_cik AND later.holder = updated.holder AND later.cusip = updated.cusip
            AND (later.filed_day, later.filing_id) > (updated.filed_day, updated.filing_id)
    )
WHERE updated.issuer_cik = :issuer_cik AND updated.holder = :holder

-- name: update_latest_schedules
-- A filing is the latest if its lead filed nothing later and no amendment of the same kind follows it. A person who later
-- files a schedule of another kind alone does not end the joint schedule of the others.
UPDATE schedule_filings AS updated
SET is_latest = NOT EXISTS (
        SELECT 1 FROM schedule_persons AS leading
        WHERE leading.filing_id = updated.id AND leading.seq = updated.lead_seq AND NOT leading.is_current
    ) AND NOT EXISTS (
        SELECT 1 FROM schedule_filings AS later
        WHERE later.prior_id = updated.id AND later.is_amendment AND later.kind = updated.kind
    )
WHERE updated.id IN (SELECT filing_id FROM schedule_persons WHERE issuer_cik = :issuer_cik AND holder = :holder)
