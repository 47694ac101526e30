-- The dimension whose figures are the company as a whole: none (0), but for a filing in which nothing is told without
-- dimensions, whose consolidated figures stand under the parent, the successor or a column of totals.
ALTER TABLE fact_sets ADD COLUMN whole INTEGER NOT NULL DEFAULT 0;

UPDATE fact_sets
SET whole = coalesce((
    SELECT facts.dimension_id
    FROM facts
    JOIN dimensions ON dimensions.id = facts.dimension_id
    CROSS JOIN json_each(dimensions.members) AS pair
    WHERE facts.fact_set_id = fact_sets.id
        AND facts.unit_id <> 0
        AND json(dimensions.members) = json_object(pair.key, pair.value)
        AND replace(substr(pair.value, instr(pair.value, ':') + 1), 'Member', '')
            IN ('ParentCompany', 'SuccessorCompany', 'Successor', 'SegmentConsolidated', 'Consolidated')
    GROUP BY facts.dimension_id
    ORDER BY count(*) DESC, facts.dimension_id
    LIMIT 1
), 0)
WHERE NOT EXISTS (
    SELECT 1
    FROM facts
    JOIN concepts ON concepts.id = facts.concept_id
    WHERE facts.fact_set_id = fact_sets.id
        AND facts.dimension_id = 0
        AND facts.unit_id <> 0
        AND concepts.name NOT GLOB 'dei:*'
);
