"""The listening side: connections, request parsing and threads under the WSGI application; it knows no route.

waitress reads requests and runs the application. The loop, the connections and the threads are our own: waitress's ask
every connection what it waits for at every event, cannot leave a request behind that never ends, nor hand a WebSocket
to another thread. docs/ARCHITECTURE.md lists the parts of waitress that are used. Overridden are:

RequestParser.close               what was taken of a budget for the body is given back with it
RequestParser.received            leniencies of waitress's are ways to smuggle a request past a proxy
ChunkedBody.__init__              the limit of a body, known before the chunk that exceeds it is taken
ChunkedBody.received              5 LF CR LF for a size, blank lines between chunks and lines of any length are refused
RequestTask.build_response_header a third of the time; a 304 does not end the connection, a stop of the server does
RequestTask.write                 nothing of a body is sent, nor warned of, in the answer to HEAD

``tests/test_overrides.py`` names the tests over sockets by which each is checked, whatever version is installed.

Of a connection its task uses ``write_soon``, ``check_client_disconnected``, ``addr`` and ``server``; of that ``adj``,
``application``, ``server_name`` and ``effective_port``.
"""
