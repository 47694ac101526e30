-- With the column of its own condition the index has all that a search of it reads: without, SQLite looked up each fact
-- of a concept, of whatever company and day.
DROP INDEX facts_by_concept;
CREATE INDEX facts_by_concept ON facts (concept_id, fact_set_id, end_day, hidden) WHERE dimension_id = 0 AND hidden = 0;
