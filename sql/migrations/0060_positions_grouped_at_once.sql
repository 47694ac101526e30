-- Of a fund's quarter the positions in each major group are counted once they are all written
-- (market/holdings/store.py), not by a trigger for each.
DROP TRIGGER positions_added;
