"""Agents over HTTP: an ASGI application, and the server that runs it. Needs the extra `[serve]`."""
