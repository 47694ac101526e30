-- Who tells of holdings in any form: one row a holder with how many filings of each family are held. Kept by triggers.
CREATE TABLE holders (
    -- The UUID of its CIK, or of its name where no CIK is told.
    id        TEXT PRIMARY KEY,
    cik       INTEGER,
    form_4    INTEGER NOT NULL DEFAULT 0,
    form_13f  INTEGER NOT NULL DEFAULT 0,
    form_13dg INTEGER NOT NULL DEFAULT 0,
    filings   INTEGER GENERATED ALWAYS AS (form_4 + form_13f + form_13dg) VIRTUAL
) STRICT;

INSERT INTO holders (id, cik, form_13dg)
SELECT holder, max(cik), count(DISTINCT filing_id) FROM schedule_persons GROUP BY holder;
INSERT INTO holders (id, cik, form_4)
SELECT printf('f1a9c1c0-0000-8000-8000-%012d', owner_cik), owner_cik, count(*) FROM insider_form_owners GROUP BY owner_cik
ON CONFLICT (id) DO UPDATE SET form_4 = excluded.form_4;
INSERT INTO holders (id, cik, form_13f)
SELECT printf('f1a9c1c0-0000-8000-8000-%012d', cik), cik, filing_count FROM funds WHERE filing_count > 0
ON CONFLICT (id) DO UPDATE SET form_13f = excluded.form_13f;

CREATE INDEX holders_by_filings ON holders (filings DESC, id, form_4, form_13f, form_13dg);

CREATE TRIGGER holders_form_4_added AFTER INSERT ON insider_form_owners BEGIN
    INSERT INTO holders (id, cik, form_4)
    VALUES (printf('f1a9c1c0-0000-8000-8000-%012d', NEW.owner_cik), NEW.owner_cik, 1)
    ON CONFLICT (id) DO UPDATE SET form_4 = form_4 + 1;
END;
CREATE TRIGGER holders_form_4_removed AFTER DELETE ON insider_form_owners BEGIN
    UPDATE holders SET form_4 = form_4 - 1 WHERE id = printf('f1a9c1c0-0000-8000-8000-%012d', OLD.owner_cik);
    DELETE FROM holders WHERE id = printf('f1a9c1c0-0000-8000-8000-%012d', OLD.owner_cik) AND filings = 0;
END;
CREATE TRIGGER holders_form_13f_counted AFTER UPDATE OF filing_count ON funds WHEN NEW.filing_count <> OLD.filing_count BEGIN
    INSERT INTO holders (id, cik, form_13f)
    VALUES (printf('f1a9c1c0-0000-8000-8000-%012d', NEW.cik), NEW.cik, NEW.filing_count)
    ON CONFLICT (id) DO UPDATE SET form_13f = excluded.form_13f;
    DELETE FROM holders WHERE id = printf('f1a9c1c0-0000-8000-8000-%012d', NEW.cik) AND filings = 0;
END;
-- A person may stand twice on a cover: the filing counts once.
CREATE TRIGGER holders_form_13dg_added AFTER INSERT ON schedule_persons WHEN NOT EXISTS (
    SELECT 1 FROM schedule_persons WHERE filing_id = NEW.filing_id AND holder = NEW.holder AND seq <> NEW.seq
) BEGIN
    INSERT INTO holders (id, cik, form_13dg) VALUES (NEW.holder, NEW.cik, 1)
    ON CONFLICT (id) DO UPDATE SET form_13dg = form_13dg + 1;
END;
CREATE TRIGGER holders_form_13dg_removed AFTER DELETE ON schedule_persons WHEN NOT EXISTS (
    SELECT 1 FROM schedule_persons WHERE filing_id = OLD.filing_id AND holder = OLD.holder
) BEGIN
    UPDATE holders SET form_13dg = form_13dg - 1 WHERE id = OLD.holder;
    DELETE FROM holders WHERE id = OLD.holder AND filings = 0;
END;

-- What is told of an issuer, by the day that it tells of.
CREATE INDEX insider_forms_by_event ON insider_forms (issuer_cik, as_of DESC, id DESC) WHERE is_superseded = 0;
CREATE INDEX schedule_filings_by_event
    ON schedule_filings (issuer_cik, coalesce(event_date, filed_at, '') DESC, id DESC);
CREATE INDEX sale_notices_by_event ON sale_notices (issuer_cik, coalesce(sale_date, filed_at, '') DESC, id DESC);
