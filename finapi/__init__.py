"""finapi serves market data derived from SEC filings over HTTP, from one process and one SQLite file."""

# The one version: package, X-API-Version, /policy and /openapi.json all read it (DECISIONS 2).
__version__ = "1.0.0"
