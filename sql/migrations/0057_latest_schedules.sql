-- Joint filers may part, and filings without a CUSIP may go before those of two classes: which filing is the latest is
-- worked out from what follows each, no longer from the first that all lead back to.

DROP INDEX schedule_filings_by_thread;
ALTER TABLE schedule_filings DROP COLUMN thread;

UPDATE schedule_persons AS mine
SET is_current = 0
WHERE is_current AND EXISTS (
    SELECT 1 FROM schedule_persons AS later
    WHERE later.issuer_cik = mine.issuer_cik AND later.holder = mine.holder AND later.cusip = mine.cusip
        AND (later.filed_day, later.filing_id) > (mine.filed_day, mine.filing_id)
);

UPDATE schedule_filings AS mine
SET is_latest = NOT EXISTS (
    SELECT 1 FROM schedule_persons AS leading
    WHERE leading.filing_id = mine.id AND leading.seq = mine.lead_seq AND NOT leading.is_current
) AND NOT EXISTS (
    SELECT 1 FROM schedule_filings AS later
    WHERE later.prior_id = mine.id AND later.is_amendment AND later.kind = mine.kind
);
