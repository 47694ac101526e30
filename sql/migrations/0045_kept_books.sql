-- The book of each company as it is made of all its facts, written with its latest year, so that a first question reads
-- one row: true while made_of is the stamp of the company in latest_years and made_by the rules in force.
CREATE TABLE kept_books (
    cik     INTEGER PRIMARY KEY,
    made_of INTEGER NOT NULL,
    made_by TEXT NOT NULL,
    book    BLOB NOT NULL
) STRICT;
