"""The feeds: the journal's events to whoever is connected, over WebSocket, Socket.IO and Server-Sent Events."""
