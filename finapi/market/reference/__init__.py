"""Reference data: companies, tickers, securities, CUSIPs, sectors and splits."""
