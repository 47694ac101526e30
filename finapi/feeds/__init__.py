"""The feeds: they send new events to connected clients over WebSocket, Socket.IO and Server-Sent Events."""
