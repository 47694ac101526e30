"""HTML pages: the front page, companies, filings, funds, the documentation, accounts, the operators' pages."""
