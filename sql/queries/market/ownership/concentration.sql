-- name: joint_filers
-- The persons of each latest schedule, and the owners of each Form 3, 4 or 5, that has several of them.
SELECT filing.id AS id, person.holder
FROM schedule_persons AS current INDEXED BY schedule_persons_current
JOIN schedule_filings AS filing ON filing.id = current.filing_id AND filing.is_latest AND filing.person_count > 1
JOIN schedule_persons AS person ON person.filing_id = filing.id
WHERE current.issuer_cik = :issuer AND current.is_current
UNION
SELECT form.id, printf('f1a9c1c0-0000-8000-8000-%012d', owner.owner_cik)
FROM insider_forms AS form INDEXED BY insider_forms_by_event
JOIN insider_form_owners AS owner ON owner.form_id = form.id
WHERE form.issuer_cik = :issuer AND form.is_superseded = 0 AND form.owner_count > 1
ORDER BY 1, 2
