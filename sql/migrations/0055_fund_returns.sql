-- Funds by return without reckoning it in a call: of the positions with prices, where they are enough of the value
-- (market/holdings/performance.py: LEAST_COVERAGE). NULL is not known.
ALTER TABLE fund_returns ADD COLUMN earned REAL
    AS (CASE WHEN priced > 0 AND priced * 100 >= value * 80 THEN gain * 1.0 / priced END) VIRTUAL;
CREATE INDEX fund_returns_by_return ON fund_returns (period, earned DESC, value DESC, cik, holdings, priced);

-- returned_quarters.due is from now on the CIK from which on the returns of funds are to be counted again, and 0 when
-- none are: what is counted in portions goes on where it ended. The triggers of 0052 begin it anew, at 1.
