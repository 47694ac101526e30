-- Open debits are found among the rows behind the last of which all before are closed. An index of them was one page
-- more that every call wrote and waited for.
ALTER TABLE ledger_summed ADD COLUMN closed_to INTEGER NOT NULL DEFAULT 0;
UPDATE ledger_summed SET closed_to = coalesce(
    (SELECT min(id) - 1 FROM ledger WHERE open = 1), (SELECT max(id) FROM ledger), 0);
DROP INDEX ledger_open;
