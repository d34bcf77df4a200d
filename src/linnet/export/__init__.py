"""Exports a session as one HTML document to read and to share. Nothing here goes to the network."""
