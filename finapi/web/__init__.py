"""HTTP: requests and responses, the route table, the WSGI application and one handler module per area."""
