"""The pages of a company: overview, statements, standardised series, charts, filings, owners, proofs of figures."""
