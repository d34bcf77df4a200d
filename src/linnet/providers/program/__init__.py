"""Providers that somebody else wrote in Python: the program that uses the SDK, or an extension."""
