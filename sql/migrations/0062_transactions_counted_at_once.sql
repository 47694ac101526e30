-- The transactions of a form are counted once they are all written (market/insiders/store.py): for a trigger each SQLite
-- copied every page of every index that it changed to a temporary file.
DROP TRIGGER insider_transactions_added;
-- The forms of an issuer name its transactions: nothing else used the index.
DROP TRIGGER insider_sic;
DROP INDEX insider_transactions_of_issuer;
CREATE TRIGGER insider_sic AFTER UPDATE OF sic ON companies WHEN NEW.sic IS NOT OLD.sic BEGIN
    UPDATE insider_transactions SET sic = NEW.sic
    WHERE form_id IN (SELECT id FROM insider_forms WHERE issuer_cik = NEW.cik);
    UPDATE insider_forms SET sic = NEW.sic WHERE issuer_cik = NEW.cik;
END;
