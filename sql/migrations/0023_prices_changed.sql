-- How often days or actions of a ticker were added or told otherwise: what was made of its prices knows by it
-- whether it is still true.
ALTER TABLE price_series ADD COLUMN changed INTEGER NOT NULL DEFAULT 0;
