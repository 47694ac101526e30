-- part: some_choice_holds
-- True if all conditions of one of the alternatives in choices hold. A condition fails if its test equals its "not".
SELECT 1
FROM json_each(:choices) AS choice
WHERE NOT EXISTS (
    SELECT 1
    FROM json_each(choice.value) AS test
    WHERE (test.value ->> 'not') = CASE test.value ->> 'field'
        WHEN 'party' THEN form.issuer_cik IN (SELECT value FROM json_each(test.value, '$.issuers'))
            OR EXISTS (
                SELECT 1 FROM insider_form_owners AS owner
                WHERE owner.form_id = form.id
                    AND owner.owner_cik IN (SELECT value FROM json_each(test.value, '$.insiders'))
            )
        WHEN 'filed' THEN form.filed_day BETWEEN coalesce(test.value ->> 'low', 1)
            AND coalesce(test.value ->> 'high', 1000000000)
        WHEN 'period' THEN form.period BETWEEN coalesce(test.value ->> 'low', '')
            AND coalesce(test.value ->> 'high', 'a')
        WHEN 'form' THEN form.form IN (SELECT value FROM json_each(test.value, '$.forms'))
        WHEN 'accession' THEN form.accession IN (SELECT value FROM json_each(test.value, '$.accessions'))
        WHEN 'amendment' THEN form.is_amendment = (test.value ->> 'truth')
        WHEN 'code' THEN EXISTS (
            SELECT 1 FROM insider_transactions AS trade
            -- Without the plus sign, SQLite would read all stored trades with the code for each form.
            WHERE trade.form_id = form.id AND +trade.code = (test.value ->> 'code')
        )
    END
)

-- name: forms_by_query
-- The newest forms filed in a range of days for which an alternative holds.
SELECT form.id, form.filed_day
FROM insider_forms AS form
WHERE form.filed_day BETWEEN :since AND :until AND EXISTS (
    {some_choice_holds}
)
ORDER BY form.filed_day DESC, form.id DESC
LIMIT :limit

-- name: forms_of_parties_by_query
-- The newest forms of some issuers and insiders, or with some accession numbers, for which an alternative holds.
SELECT form.id, form.filed_day
FROM insider_forms AS form
WHERE form.id IN (
    SELECT id FROM insider_forms WHERE accession IN (SELECT value FROM json_each(:accessions))
    UNION ALL
    SELECT id FROM insider_forms WHERE issuer_cik IN (SELECT value FROM json_each(:issuers))
    UNION ALL
    SELECT form_id FROM insider_form_owners WHERE owner_cik IN (SELECT value FROM json_each(:insiders))
) AND EXISTS (
    {some_choice_holds}
)
ORDER BY form.filed_day DESC, form.id DESC
LIMIT :limit

-- name: oldest_searched_day
-- The filing day of the oldest form that is tested; no row if there are no more than max_forms forms.
SELECT filed_day
FROM insider_forms
WHERE filed_day BETWEEN :since AND :until
ORDER BY filed_day DESC
LIMIT 1 OFFSET :max_forms
