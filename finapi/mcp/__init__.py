"""Model Context Protocol: tools by question, resources and prompts over the API's calls, for hosts of language models.

It asks by whatever sends a request, and imports the client and ``core`` alone: the same code answers on standard input
and output for a server elsewhere, and inside the server over HTTP.
"""

# Revisions of the protocol: those that begin with a handshake, and those that have none.
WITH_HANDSHAKE = ("2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05")
WITHOUT = ("2026-07-28",)
VERSIONS = (*WITHOUT, *WITH_HANDSHAKE)
