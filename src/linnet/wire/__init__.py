"""Translators between lines of JSON and the core's words. Pure: bytes in, bytes out."""
