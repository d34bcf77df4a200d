"""Judges any program that speaks one of the protocols: every promise is a check, and a failure has its transcript."""
