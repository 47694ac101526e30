-- A company's facts stand together under each concept, behind those of companies that came before: by day they were
-- spread over all pages of the index, and storing a company took longer the more of them there were.
DROP INDEX facts_by_concept;
CREATE INDEX facts_by_concept ON facts (concept_id, fact_set_id, end_day) WHERE dimension_id = 0 AND hidden = 0;
