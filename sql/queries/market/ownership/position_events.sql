-- part: forms_in_window
FROM insider_forms AS form INDEXED BY insider_forms_by_event
WHERE form.issuer_cik = :issuer AND form.is_superseded = 0 AND form.as_of >= :first AND form.as_of <= :last
    AND (:holder IS NULL OR EXISTS (
        SELECT 1 FROM insider_form_owners AS owner WHERE owner.form_id = form.id AND owner.owner_cik = :cik
    ))

-- name: form_4_events
-- With the holdings after a form, which are only used if they are of one class of shares.
SELECT event.*, coalesce(:cik, (
        SELECT owner_cik FROM insider_form_owners WHERE form_id = event.id ORDER BY position LIMIT 1
    )) AS cik, count(DISTINCT holding.class) AS classes, holding.title, json_group_array(holding.amount) AS amounts
FROM (SELECT form.as_of AS day, form.id {forms_in_window} ORDER BY form.as_of DESC, form.id DESC LIMIT :max_rows) AS event
LEFT JOIN insider_positions AS holding INDEXED BY insider_positions_under
    ON holding.under = event.id AND holding.derivative = 0 AND holding.superseded_by IS NULL
GROUP BY event.id

-- name: form_4_events_as_of
-- The view insider_positions joins tables, so that a LEFT JOIN would read all of it.
SELECT event.*, coalesce(:cik, (
        SELECT owner_cik FROM insider_form_owners WHERE form_id = event.id ORDER BY position LIMIT 1
    )) AS cik, (
        SELECT count(DISTINCT class) FROM insider_positions
        WHERE under = event.id AND derivative = 0 AND superseded_by IS NULL
    ) AS classes, (
        SELECT title FROM insider_positions
        WHERE under = event.id AND derivative = 0 AND superseded_by IS NULL
        ORDER BY class, form_id, seq
        LIMIT 1
    ) AS title, (
        SELECT json_group_array(amount)
        FROM (
            SELECT amount FROM insider_positions
            WHERE under = event.id AND derivative = 0 AND superseded_by IS NULL
            ORDER BY class, form_id, seq
        )
    ) AS amounts
FROM (SELECT form.as_of AS day, form.id {forms_in_window} ORDER BY form.as_of DESC, form.id DESC LIMIT :max_rows) AS event
ORDER BY event.id

-- name: count_form_4_events
SELECT count(*) {forms_in_window}

-- part: schedules_in_window
-- Of each filing the row of the holder or, for all holders, the row of the lead.
FROM schedule_filings AS filing INDEXED BY schedule_filings_by_event
JOIN schedule_persons AS person ON person.filing_id = filing.id AND person.seq = coalesce((
    SELECT min(seq) FROM schedule_persons AS requested WHERE requested.filing_id = filing.id AND requested.holder = :holder
), iif(:holder IS NULL, filing.lead_seq, NULL))
WHERE filing.issuer_cik = :issuer AND coalesce(filing.event_date, filing.filed_at, '') >= :first
    AND coalesce(filing.event_date, filing.filed_at, '') <= :last AND (:schedule IS NULL OR filing.kind = :schedule)

-- name: form_13dg_events
{stake_columns} {schedules_in_window}
ORDER BY coalesce(filing.event_date, filing.filed_at, '') DESC, filing.id DESC
LIMIT :max_rows

-- name: count_form_13dg_events
SELECT count(*) {schedules_in_window}

-- part: notices_in_window
FROM sale_notices AS notice INDEXED BY sale_notices_by_event
WHERE notice.issuer_cik = :issuer AND coalesce(notice.sale_date, notice.filed_at, '') >= :first
    AND coalesce(notice.sale_date, notice.filed_at, '') <= :last AND (:holder IS NULL OR notice.filer_cik = :cik)

-- name: form_144_events
SELECT coalesce(notice.sale_date, notice.filed_at, '') AS day, notice.id, notice.filer_cik AS cik, notice.seller AS name
{notices_in_window}
ORDER BY coalesce(notice.sale_date, notice.filed_at, '') DESC, notice.id DESC
LIMIT :max_rows

-- name: count_form_144_events
SELECT count(*) {notices_in_window}

-- name: fund_event_counts
-- The number of changed positions of all managers, by quarter and security.
SELECT quarter.period, quarter.security_id, quarter.funds + quarter.closed - quarter.unchanged AS events
FROM securities AS security
CROSS JOIN security_quarters AS quarter ON quarter.security_id = security.id
WHERE security.cik = :issuer AND quarter.period >= :first AND quarter.period <= :last
    AND quarter.funds + quarter.closed > quarter.unchanged
ORDER BY quarter.period DESC, quarter.security_id

-- name: fund_events_of_security
SELECT {fund_position_columns}
FROM positions AS position INDEXED BY positions_by_security
JOIN securities AS security ON security.id = position.security_id
WHERE position.security_id = :security_id AND position.period = :period AND position.kind = 0 AND position.status <> 4
ORDER BY position.value DESC, position.cik
LIMIT :max_rows

-- name: fund_events_of_holder
SELECT {fund_position_columns}
FROM fund_quarters AS quarter
CROSS JOIN securities AS security
CROSS JOIN positions AS position ON position.cik = quarter.cik AND position.period = quarter.period AND position.kind = 0
    AND position.security_id = security.id
WHERE quarter.cik = :cik AND security.cik = :issuer AND quarter.period >= :first AND quarter.period <= :last
