"""The HTTP server: connections, request parsing and threads under a WSGI application. It knows no route.

Start with ``connection_states`` (the life of a connection), then ``connection`` and ``listener``.

waitress supplies the parser, which is overridden almost completely, and the WSGI task. The loop, the connections and
the threads are our own: waitress looks at every connection at every event, cannot abandon a call that never
returns, and cannot hand a WebSocket over to another thread. docs/ARCHITECTURE.md lists the parts of waitress that
are used. These methods are overridden:

RequestParser.__init__            receives the path of the public URL, which is removed from targets
RequestParser.close               also releases the bytes that are reserved for the body
RequestParser.received            the leniency of waitress is a way to smuggle a request past a proxy
ChunkedBody.__init__              the maximum length is known before the chunk that exceeds it is received
ChunkedBody.received              refuses LF without CR, blank lines between chunks, and lines of any length
RequestTask.build_response_header takes a third of the time; a 304 does not end the connection, and a stop does
RequestTask.write                 sends no body in response to HEAD, and logs no warning about it

``tests/httpd/test_overrides.py`` names the tests over sockets that check each of them with any installed version.

The task uses ``write_soon``, ``check_client_disconnected``, ``addr`` and ``server`` of a connection, and ``adj``,
``application``, ``server_name`` and ``effective_port`` of the server.
"""
