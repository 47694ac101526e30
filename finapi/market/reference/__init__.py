"""Companies, securities, sectors and tickers: what the other rooms look names up in."""
