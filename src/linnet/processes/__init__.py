"""Runs child processes: a supervisor starts them, and kills each with all that it started."""
