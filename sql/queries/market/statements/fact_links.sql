-- name: elements_of_facts
-- The elements of facts: each is a JSON array of accession number, concept, unit, last day and number of days.
SELECT question.key AS position, reports.pages, fact_elements.page, fact_elements.element_id
FROM json_each(:facts) AS question
JOIN filings ON filings.accession = question.value ->> 0
JOIN concepts ON concepts.name = question.value ->> 1
JOIN units ON units.name = question.value ->> 2
JOIN fact_sets ON fact_sets.filing_id = filings.id AND fact_sets.cik = :cik AND fact_sets.source = 0
JOIN reports ON reports.id = fact_sets.report_id
JOIN fact_elements ON fact_elements.fact_set_id = fact_sets.id
    AND fact_elements.dimension_id = fact_sets.whole
    AND fact_elements.concept_id = concepts.id
    AND fact_elements.end_day = question.value ->> 3
    AND fact_elements.days = question.value ->> 4
    AND fact_elements.unit_id = units.id
ORDER BY position, reports.documents, reports.sha256

-- name: conflicts_of_facts
-- The further values of facts: each fact is a JSON array as in elements_of_facts.
SELECT DISTINCT question.key AS position, fact_conflicts.value, fact_conflicts.seq
FROM json_each(:facts) AS question
JOIN filings ON filings.accession = question.value ->> 0
JOIN concepts ON concepts.name = question.value ->> 1
JOIN units ON units.name = question.value ->> 2
JOIN fact_sets ON fact_sets.filing_id = filings.id AND fact_sets.cik = :cik AND fact_sets.source = 0
JOIN fact_conflicts ON fact_conflicts.fact_set_id = fact_sets.id
    AND fact_conflicts.dimension_id = fact_sets.whole
    AND fact_conflicts.concept_id = concepts.id
    AND fact_conflicts.end_day = question.value ->> 3
    AND fact_conflicts.days = question.value ->> 4
    AND fact_conflicts.unit_id = units.id
ORDER BY position, fact_conflicts.seq
