-- part: held_quarter
held.period AS day, held.report_id AS id, held.cik, held.security_id, security.title, security.cusip, held.shares,
    held.value, held.status

-- name: managers_now
-- Of the last two quarters in which any manager reports the issuer, the positions in the latest report of each.
SELECT {held_quarter}
FROM securities AS security
CROSS JOIN positions AS held INDEXED BY positions_by_security
    ON held.security_id = security.id AND held.kind = 0 AND held.status <> 5 AND held.period IN (:latest, :before)
CROSS JOIN funds ON funds.cik = held.cik AND funds.latest_period = held.period
WHERE security.cik = :issuer

-- name: manager_then
-- In the last report up to a day; 0 of a security that an earlier one had.
SELECT quarter.period AS day, coalesce(held.report_id, quarter.report_id) AS id, quarter.cik, security.id AS security_id,
    security.title, security.cusip, coalesce(held.shares, 0) AS shares, coalesce(held.value, 0) AS value
FROM fund_quarters AS quarter
CROSS JOIN securities AS security
LEFT JOIN positions AS held ON held.cik = quarter.cik AND held.period = quarter.period AND held.kind = 0
    AND held.security_id = security.id
WHERE quarter.cik = :cik AND security.cik = :issuer
    AND quarter.period = (SELECT max(period) FROM fund_quarters WHERE cik = :cik AND period <= :until)
    AND EXISTS (
        SELECT 1 FROM fund_quarters AS early
        CROSS JOIN positions ON positions.cik = early.cik AND positions.period = early.period AND positions.kind = 0
            AND positions.security_id = security.id
        WHERE early.cik = :cik AND early.period <= :until
    )

-- name: latest_quarter_of_issuer
SELECT max(quarter.period)
FROM securities AS security
CROSS JOIN security_quarters AS quarter ON quarter.security_id = security.id
WHERE security.cik = :issuer

-- part: person_told
SELECT coalesce(filing.event_date, filing.filed_at, '') AS day, person.filing_id AS id, person.holder, person.cik, person.name,
    person.shares, person.percent, person.id AS told, filing.title, nullif(filing.cusip, '') AS cusip

-- name: owners_now
{person_told}
FROM schedule_persons AS person INDEXED BY schedule_persons_current
JOIN schedule_filings AS filing ON filing.id = person.filing_id
WHERE person.issuer_cik = :issuer AND person.is_current AND filing.is_latest

-- name: owner_then
-- What no filing up to a day follows.
{person_told}
FROM schedule_persons AS person
JOIN schedule_filings AS filing ON filing.id = person.filing_id
WHERE person.issuer_cik = :issuer AND person.holder = :holder
    AND coalesce(filing.event_date, filing.filed_at, '') <= :until AND NOT EXISTS (
        SELECT 1 FROM schedule_persons AS later
        JOIN schedule_filings AS after ON after.id = later.filing_id
        WHERE later.issuer_cik = person.issuer_cik AND later.holder = person.holder
            AND (later.prior_id = person.id OR later.cusip = person.cusip)
            AND (later.filed_day, later.filing_id) > (person.filed_day, person.filing_id)
            AND coalesce(after.event_date, after.filed_at, '') <= :until
    )

-- name: insiders_now
-- Of each class of shares what the last form up to a day tells.
SELECT under.as_of AS day, under.id, stake.owner_cik AS cik, stake.class, held.title, json_group_array(held.amount) AS amounts
FROM insider_stakes AS stake
CROSS JOIN insider_positions AS held ON held.under = (
    SELECT form_id FROM insider_stake_forms
    WHERE stake_id = stake.id AND as_of <= :until AND amended = 0
    ORDER BY as_of DESC, filed_day DESC, form_id DESC
    LIMIT 1
) AND held.derivative = 0 AND held.class = stake.class
JOIN insider_forms AS under ON under.id = held.under
WHERE stake.issuer_cik = :issuer AND stake.derivative = 0 AND held.superseded_by IS NULL
    AND (:cik IS NULL OR stake.owner_cik = :cik)
GROUP BY stake.id

-- name: filings_of_figures
-- The filings of figures, by family and number.
SELECT found.source, found.id, found.form, found.accession, found.together,
    coalesce(filings.accepted_at, nullif(found.filed, '') || 'T00:00:00.000Z') AS filed
FROM (
    SELECT 'form_4' AS source, id, form, accession, owner_count AS together, filed_at AS filed
    FROM insider_forms WHERE id IN (SELECT value FROM json_each(:form_4))
    UNION ALL
    SELECT 'form_13f', id, form, accession, 1, filed_at
    FROM holdings_reports WHERE id IN (SELECT value FROM json_each(:form_13f))
    UNION ALL
    SELECT 'form_13dg', id, form, accession, person_count, filed_at
    FROM schedule_filings WHERE id IN (SELECT value FROM json_each(:form_13dg))
    UNION ALL
    SELECT 'form_144', id, form, accession, 1, filed_at
    FROM sale_notices WHERE id IN (SELECT value FROM json_each(:form_144))
) AS found
LEFT JOIN filings ON filings.accession = found.accession

-- part: forms_within
FROM insider_forms AS form INDEXED BY insider_forms_by_event
WHERE form.issuer_cik = :issuer AND form.is_superseded = 0 AND form.as_of >= :first AND form.as_of <= :last
    AND (:holder IS NULL OR EXISTS (
        SELECT 1 FROM insider_form_owners AS owner WHERE owner.form_id = form.id AND owner.owner_cik = :cik
    ))

-- name: form_4_events
-- With what is held after a form, where it tells of one class of shares.
SELECT found.*, coalesce(:cik, (
        SELECT owner_cik FROM insider_form_owners WHERE form_id = found.id ORDER BY position LIMIT 1
    )) AS cik, count(DISTINCT held.class) AS classes, held.title, json_group_array(held.amount) AS amounts
FROM (SELECT form.as_of AS day, form.id {forms_within} ORDER BY form.as_of DESC, form.id DESC LIMIT :upto) AS found
LEFT JOIN insider_positions AS held INDEXED BY insider_positions_under
    ON held.under = found.id AND held.derivative = 0 AND held.superseded_by IS NULL
GROUP BY found.id

-- name: form_4_events_count
SELECT count(*) {forms_within}

-- part: schedules_within
FROM schedule_filings AS filing INDEXED BY schedule_filings_by_event
JOIN schedule_persons AS person ON person.filing_id = filing.id AND person.seq = coalesce((
    SELECT min(seq) FROM schedule_persons AS mine WHERE mine.filing_id = filing.id AND mine.holder = :holder
), iif(:holder IS NULL, filing.lead_seq, NULL))
WHERE filing.issuer_cik = :issuer AND coalesce(filing.event_date, filing.filed_at, '') >= :first
    AND coalesce(filing.event_date, filing.filed_at, '') <= :last

-- name: form_13dg_events
{person_told} {schedules_within}
ORDER BY coalesce(filing.event_date, filing.filed_at, '') DESC, filing.id DESC
LIMIT :upto

-- name: form_13dg_events_count
SELECT count(*) {schedules_within}

-- part: notices_told
FROM sale_notices AS notice INDEXED BY sale_notices_by_event
WHERE notice.issuer_cik = :issuer AND coalesce(notice.sale_date, notice.filed_at, '') >= :first
    AND coalesce(notice.sale_date, notice.filed_at, '') <= :last AND (:holder IS NULL OR notice.filer_cik = :cik)

-- name: form_144_events
SELECT coalesce(notice.sale_date, notice.filed_at, '') AS day, notice.id, notice.filer_cik AS cik, notice.seller AS name
{notices_told}
ORDER BY coalesce(notice.sale_date, notice.filed_at, '') DESC, notice.id DESC
LIMIT :upto

-- name: form_144_events_count
SELECT count(*) {notices_told}

-- name: quarters_with_events
SELECT quarter.period, quarter.security_id, quarter.funds + quarter.closed - quarter.unchanged AS events
FROM securities AS security
CROSS JOIN security_quarters AS quarter ON quarter.security_id = security.id
WHERE security.cik = :issuer AND quarter.period >= :first AND quarter.period <= :last
    AND quarter.funds + quarter.closed > quarter.unchanged
ORDER BY quarter.period DESC, quarter.security_id

-- name: managers_events
SELECT {held_quarter}
FROM positions AS held INDEXED BY positions_by_security
JOIN securities AS security ON security.id = held.security_id
WHERE held.security_id = :security_id AND held.period = :period AND held.kind = 0 AND held.status <> 4
ORDER BY held.value DESC, held.cik
LIMIT :upto

-- name: manager_events
SELECT {held_quarter}
FROM fund_quarters AS quarter
CROSS JOIN securities AS security
CROSS JOIN positions AS held ON held.cik = quarter.cik AND held.period = quarter.period AND held.kind = 0
    AND held.security_id = security.id
WHERE quarter.cik = :cik AND security.cik = :issuer AND quarter.period >= :first AND quarter.period <= :last
