-- name: fact_sets_of_cik
-- The sets of facts of a company's filings, the last filed first.
SELECT fact_sets.id, fact_sets.source, fact_sets.cik, filings.accession, filings.form, filings.filed_at,
    coalesce(filings.period_of_report, reports.period_of_report) AS period
FROM fact_sets
JOIN filings ON filings.id = fact_sets.filing_id
LEFT JOIN reports ON reports.id = fact_sets.report_id
WHERE fact_sets.cik = :cik AND (:as_of IS NULL OR filings.filed_at <= :as_of)
ORDER BY filings.filed_at IS NULL, filings.filed_at DESC, filings.accession DESC, fact_sets.source, fact_sets.id

-- name: fact_sets_of_filing
SELECT fact_sets.id, fact_sets.source, fact_sets.cik, filings.accession, filings.form, filings.filed_at
FROM filings
JOIN fact_sets ON fact_sets.filing_id = filings.id
WHERE filings.accession = :accession AND (:as_of IS NULL OR filings.filed_at <= :as_of)
    AND (:cik IS NULL OR fact_sets.cik = :cik)
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

-- name: conflicts_of_fact_set
SELECT dimension_id, concept_id, end_day, days, unit_id, value
FROM fact_conflicts
WHERE fact_set_id = :id
ORDER BY dimension_id, concept_id, end_day, days, unit_id, seq

-- name: count_facts
SELECT count(*)
FROM facts
WHERE fact_set_id = :id AND hidden = 0 AND unit_id <> 0
    AND (:first IS NULL OR end_day >= :first) AND (:last IS NULL OR end_day <= :last)
    AND dimension_id BETWEEN 0 AND CASE WHEN :dimensioned THEN 9223372036854775807 ELSE 0 END
    AND (:concepts IS NULL
        OR concept_id IN (SELECT id FROM concepts WHERE name IN (SELECT value FROM json_each(:concepts))))

-- name: unit_name
SELECT name FROM units WHERE id = :id

-- name: concept_name
SELECT name FROM concepts WHERE id = :id

-- name: dimension_members
SELECT members FROM dimensions WHERE id = :id

-- name: concepts_by_name
SELECT id, name FROM concepts WHERE name IN (SELECT value FROM json_each(:names)) ORDER BY name

-- name: concepts_by_name_as_of
SELECT id, name FROM concepts
WHERE name IN (SELECT value FROM json_each(:names))
    AND EXISTS (
        SELECT 1 FROM facts
        JOIN fact_sets ON fact_sets.id = facts.fact_set_id
        WHERE facts.concept_id = concepts.id AND facts.dimension_id = 0 AND facts.hidden = 0
    )
ORDER BY name

-- name: fact_counts_by_end_day
-- The number of facts that end on each day, the latest first. One pass over the concept's index gives the total and
-- the position of every page.
SELECT end_day, count(*) AS number
FROM facts
WHERE concept_id = :concept AND dimension_id = 0 AND hidden = 0
    AND end_day BETWEEN :first AND :last
GROUP BY end_day
ORDER BY end_day DESC

-- name: fact_counts_by_end_day_as_of
SELECT facts.end_day, count(*) AS number
FROM facts
JOIN fact_sets ON fact_sets.id = facts.fact_set_id
WHERE facts.concept_id = :concept AND facts.dimension_id = 0 AND facts.hidden = 0
    AND facts.end_day BETWEEN :first AND :last
GROUP BY facts.end_day
ORDER BY facts.end_day DESC

-- name: concept_facts
-- The inner query reads only the index of concepts; the facts are then looked up by their key.
SELECT fact_sets.cik, filings.accession, filings.form, filings.filed_at, companies.sic, facts.end_day, facts.days,
    facts.unit_id, facts.value
FROM (
    SELECT fact_set_id, dimension_id, concept_id, end_day, days, unit_id
    FROM facts
    WHERE concept_id = :concept AND dimension_id = 0 AND hidden = 0
        AND end_day BETWEEN :first AND :last AND days BETWEEN :shortest AND :longest
) AS fact_keys
CROSS JOIN facts USING (fact_set_id, dimension_id, concept_id, end_day, days, unit_id)
JOIN fact_sets ON fact_sets.id = facts.fact_set_id
JOIN filings ON filings.id = fact_sets.filing_id
JOIN companies ON companies.cik = fact_sets.cik
