-- Insiders' transactions by their own day and by code, and by value whatever they are: what windows and thresholds
-- are looked for in.

CREATE INDEX insider_transactions_by_date ON insider_transactions (date, filed_day DESC, form_id DESC, seq DESC)
    WHERE superseded_by IS NULL;
CREATE INDEX insider_transactions_by_code ON insider_transactions (code, filed_day DESC, form_id DESC, seq DESC)
    WHERE superseded_by IS NULL;
DROP INDEX insider_transactions_by_value;
CREATE INDEX insider_transactions_by_value
    ON insider_transactions (direction, value DESC, filed_day DESC, form_id DESC, seq DESC)
    WHERE superseded_by IS NULL;
