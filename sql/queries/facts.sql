-- name: fact_sets_filed
SELECT fact_sets.id, fact_sets.source, filings.accession, filings.form, filings.filed_at
FROM fact_sets
JOIN filings ON filings.id = fact_sets.filing_id
WHERE fact_sets.cik = :cik AND (:as_of IS NULL OR filings.filed_at <= :as_of)
ORDER BY filings.filed_at IS NULL, filings.filed_at, filings.accession, fact_sets.source, fact_sets.id

-- name: fact_sets_of_filing
SELECT fact_sets.id, fact_sets.source, filings.accession, filings.form, filings.filed_at
FROM fact_sets
JOIN filings ON filings.id = fact_sets.filing_id
WHERE filings.accession = :accession
ORDER BY fact_sets.cik, fact_sets.source, fact_sets.id

-- name: plain_facts
SELECT dimension_id, concept_id, end_day, days, unit_id, value, decimals
FROM facts
WHERE fact_set_id = :id AND dimension_id = 0 AND hidden = 0 AND unit_id <> 0

-- name: plain_facts_of_concepts
SELECT dimension_id, concept_id, end_day, days, unit_id, value, decimals
FROM facts
WHERE fact_set_id = :id AND dimension_id = 0 AND hidden = 0 AND unit_id <> 0
    AND concept_id IN (SELECT id FROM concepts WHERE name IN (SELECT value FROM json_each(:concepts)))

-- name: dimensioned_facts
SELECT dimension_id, concept_id, end_day, days, unit_id, value, decimals
FROM facts
WHERE fact_set_id = :id AND dimension_id > 0 AND hidden = 0 AND unit_id <> 0
    AND (:concepts IS NULL
        OR concept_id IN (SELECT id FROM concepts WHERE name IN (SELECT value FROM json_each(:concepts))))

-- name: unit_name
SELECT name FROM units WHERE id = :id

-- name: concept_name
SELECT name FROM concepts WHERE id = :id

-- name: dimension_members
SELECT members FROM dimensions WHERE id = :id
