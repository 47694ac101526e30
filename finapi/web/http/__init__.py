"""One call of the API as values: request, response, parameters and their readers, JSON Schemas, tables."""
