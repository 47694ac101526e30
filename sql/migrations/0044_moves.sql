-- What funds bought and sold most in a quarter, whoever they are.
CREATE INDEX positions_by_flow ON positions (period, status, abs(flow) DESC, cik, security_id)
    WHERE kind = 0 AND flow IS NOT NULL;
