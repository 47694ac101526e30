-- What a transaction is of the holding before it, in per cent to four places: to work it out of decimal texts for every
-- row that a threshold looks at costs as much as all the rest of the list.

ALTER TABLE insider_transactions ADD COLUMN percent_of_holding REAL;
UPDATE insider_transactions SET percent_of_holding = round(100.0 * shares / nullif(max(0, following_shares - shares
    * CASE acquired_disposed WHEN 'A' THEN 1 WHEN 'D' THEN -1 END), 0), 4);
