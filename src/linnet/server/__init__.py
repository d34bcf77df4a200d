"""Serves clients on pairs of file descriptors, each in its protocol, with sessions of its own."""
