"""HTTP endpoints for owners of more than five per cent, proposed sales and holders over all forms."""
