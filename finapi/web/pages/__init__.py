"""HTML pages: the front page, companies, filings, funds, the documentation, accounts, the operators' pages."""

# The entry of App.static_bodies under which a demo stores the API key that its front page shows to every visitor.
DEMO_KEY = "key to try"
