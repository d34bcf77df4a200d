"""Agents run by a script and recorded without their secrets, and reports on what was recorded."""
