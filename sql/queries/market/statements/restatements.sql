-- name: values_of_other_filings
-- The values that other filings of the company report for the facts of a set, the latest filing first. The join begins
-- with the set's own facts, so that few rows are read.
SELECT concepts.name AS concept, units.name AS unit, new.end_day, new.days, new.value, new.decimals,
    old.value AS previous_value, old.decimals AS previous_decimals, filings.accession, filings.filed_at
FROM facts AS new
CROSS JOIN fact_sets AS others ON others.cik = :cik AND others.filing_id <> :filing_id
CROSS JOIN facts AS old ON old.fact_set_id = others.id AND old.dimension_id = 0 AND old.concept_id = new.concept_id
    AND old.end_day = new.end_day AND old.days = new.days AND old.unit_id = new.unit_id
JOIN filings ON filings.id = others.filing_id
JOIN concepts ON concepts.id = new.concept_id
JOIN units ON units.id = new.unit_id
WHERE new.fact_set_id = :set_id AND new.dimension_id = 0 AND new.hidden = 0 AND new.unit_id <> 0
    AND new.value IS NOT NULL AND old.hidden = 0 AND old.value IS NOT NULL AND filings.filed_at IS NOT NULL
ORDER BY concepts.name, units.name, new.end_day, new.days, filings.filed_at DESC, filings.accession DESC
