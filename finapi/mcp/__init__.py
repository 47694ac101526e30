"""Model Context Protocol for hosts of language models: tools, resources and prompts over the operations of the API.

The package does no I/O: a function sends the requests to the API. It imports only ``client`` and ``core``, so that the
same code answers on standard input and output for a remote server, and over HTTP inside the server.
"""

# Revisions of the protocol. The older ones begin with a handshake (``initialize``); the newer ones have none.
HANDSHAKE_VERSIONS = ("2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05")
STATELESS_VERSIONS = ("2026-07-28",)
VERSIONS = (*STATELESS_VERSIONS, *HANDSHAKE_VERSIONS)
