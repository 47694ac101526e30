-- Facts of every source by the filing that says them.

-- What one source says of one company in one filing. source: 0 its XBRL documents, 1 companyfacts,
-- 2 the Financial Statement Data Sets. report_id is NULL where the source has no statements.
CREATE TABLE fact_sets (
    id        INTEGER PRIMARY KEY,
    filing_id INTEGER NOT NULL REFERENCES filings (id),
    cik       INTEGER NOT NULL REFERENCES companies (cik),
    source    INTEGER NOT NULL CHECK (source IN (0, 1, 2)),
    report_id INTEGER UNIQUE REFERENCES reports (id) ON DELETE CASCADE
) STRICT;

CREATE UNIQUE INDEX fact_sets_by_company ON fact_sets (cik, filing_id, source, coalesce(report_id, 0));
CREATE INDEX fact_sets_by_filing ON fact_sets (filing_id);

INSERT INTO fact_sets (id, filing_id, cik, source, report_id) SELECT id, filing_id, cik, 0, id FROM reports;

-- The exact text as tagged; NULL is nil. end_day counts days since 1970-01-01, days is how long the period lasts
-- (0: an instant, at the end of that day). A fact is hidden while a better source says the same of the filing.
-- Clustered by set, facts without dimensions first: a company's are read in one pass over little else.
CREATE TABLE placed_facts (
    fact_set_id  INTEGER NOT NULL REFERENCES fact_sets (id) ON DELETE CASCADE,
    dimension_id INTEGER NOT NULL REFERENCES dimensions (id),
    concept_id   INTEGER NOT NULL REFERENCES concepts (id),
    end_day      INTEGER NOT NULL,
    days         INTEGER NOT NULL CHECK (days >= 0),
    unit_id      INTEGER NOT NULL REFERENCES units (id),
    hidden       INTEGER NOT NULL DEFAULT 0 CHECK (hidden IN (0, 1)),
    value        TEXT,
    decimals     TEXT,
    PRIMARY KEY (fact_set_id, dimension_id, concept_id, end_day, days, unit_id)
) STRICT, WITHOUT ROWID;

INSERT INTO placed_facts (fact_set_id, dimension_id, concept_id, end_day, days, unit_id, value, decimals)
SELECT facts.report_id, contexts.dimension_id, facts.concept_id,
    CAST(julianday(contexts.end_date) - julianday('1970-01-01') AS INTEGER),
    CASE WHEN contexts.start_date IS NULL THEN 0
        ELSE CAST(julianday(contexts.end_date) - julianday(contexts.start_date) AS INTEGER) + 1 END,
    facts.unit_id, facts.value, facts.decimals
FROM facts
JOIN contexts ON contexts.id = facts.context_id;

DROP TABLE facts;
DROP TABLE contexts;
ALTER TABLE placed_facts RENAME TO facts;

CREATE INDEX facts_by_concept ON facts (concept_id, end_day) WHERE dimension_id = 0 AND hidden = 0;

-- Of a filing whose documents were ingested in two sets, the fuller one speaks.
UPDATE facts SET hidden = 1
WHERE fact_set_id IN (
    SELECT id FROM (
        SELECT fact_sets.id, row_number() OVER (
            PARTITION BY reports.filing_id, reports.cik ORDER BY reports.documents DESC, reports.sha256 DESC
        ) AS place
        FROM fact_sets
        JOIN reports ON reports.id = fact_sets.report_id
    )
    WHERE place > 1
);
