-- The fiscal year that a filing calls its own, where its source tells it: how a company names its years.

ALTER TABLE fact_sets ADD COLUMN fiscal_year INTEGER;
