"""Carries out a job in its thread, from its first event to its last: runs, retries, compactions, parallel tools."""
