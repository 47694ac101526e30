-- name: counts_of_market
SELECT 'filings' AS name, count(*) AS number FROM filings
UNION ALL
SELECT 'facts', count(*) FROM facts

-- name: counts_of_accounts
SELECT 'accounts' AS name, count(*) AS number FROM users
UNION ALL
SELECT 'ledger_rows', count(*) FROM ledger

-- name: uneven_feeds
SELECT feeds.name, count(*) AS number, min(events.seq) AS first, max(events.seq) AS last, feeds.last_seq
FROM feeds
JOIN events ON events.feed = feeds.name
GROUP BY feeds.name, feeds.last_seq
HAVING count(*) <> max(events.seq) - min(events.seq) + 1 OR max(events.seq) <> feeds.last_seq
ORDER BY feeds.name

-- name: unequal_facts
-- Fact sets whose stored number of facts is wrong.
SELECT fact_sets.id, filings.accession, fact_sets.facts AS stored,
    (SELECT count(*) FROM facts WHERE facts.fact_set_id = fact_sets.id) AS found
FROM fact_sets
JOIN filings ON filings.id = fact_sets.filing_id
WHERE found <> stored AND fact_sets.id > :id
ORDER BY fact_sets.id
LIMIT :limit

-- name: uncounted
-- Stored counts that differ from the numbers of rows.
SELECT held_counts.name, held_counts.number AS stored, counted.number AS found
FROM (
    SELECT 'filings' AS name, count(*) AS number FROM filings WHERE accession NOT GLOB 'unfiled-*'
    UNION ALL
    SELECT 'insider_transactions', count(*) FROM insider_transactions WHERE superseded_by IS NULL
    UNION ALL
    SELECT 'holdings', count(*) FROM holdings
    UNION ALL
    SELECT 'prices', count(*) FROM prices
    UNION ALL
    SELECT 'companies', count(*) FROM companies
    UNION ALL
    SELECT 'facts', coalesce(sum(shown), 0) FROM fact_sets
    UNION ALL
    SELECT 'tickers', count(*) FROM tickers
    UNION ALL
    SELECT 'insiders', count(*) FROM insiders
) AS counted
JOIN held_counts ON held_counts.name = counted.name AND held_counts.number <> counted.number
UNION ALL
SELECT * FROM (
    SELECT iif(term = '', 'listed filings', 'filings listed under ' || substr(term, 2)), term_counts.filings,
        (SELECT count(*) FROM filing_terms WHERE filing_terms.term = term_counts.term) AS found
    FROM term_counts
    WHERE found <> term_counts.filings
    ORDER BY term
    LIMIT 20
)
UNION ALL
SELECT * FROM (
    SELECT family || ' of holder ' || id, sum(stored) AS stored, sum(found) AS found
    FROM (
        SELECT id, 'Forms 3, 4 and 5' AS family, form_4 AS stored, 0 AS found FROM holders
        UNION ALL SELECT id, '13F reports', form_13f, 0 FROM holders
        UNION ALL SELECT id, 'Schedules 13D and 13G', form_13dg, 0 FROM holders
        UNION ALL
        SELECT printf('f1a9c1c0-0000-8000-8000-%012d', owner_cik), 'Forms 3, 4 and 5', 0, count(*)
        FROM insider_form_owners GROUP BY owner_cik
        UNION ALL
        SELECT printf('f1a9c1c0-0000-8000-8000-%012d', cik), '13F reports', 0, count(DISTINCT accession)
        FROM holdings_reports GROUP BY cik
        UNION ALL
        SELECT holder, 'Schedules 13D and 13G', 0, count(DISTINCT filing_id) FROM schedule_persons GROUP BY holder
    ) AS counted
    GROUP BY id, family
    HAVING sum(stored) <> sum(found)
    ORDER BY id, family
    LIMIT 20
)

-- name: bodies_after
SELECT filing_bodies.id, filings.accession, filing_bodies.packed, filing_bodies.sha256
FROM filing_bodies
JOIN filings ON filings.id = filing_bodies.filing_id
WHERE filing_bodies.id > :id
ORDER BY filing_bodies.id
LIMIT :limit
