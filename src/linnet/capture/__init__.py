"""Runs agents with a script of requests, records them without their secrets, and reports on what was recorded."""
