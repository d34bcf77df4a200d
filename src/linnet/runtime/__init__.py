"""Carries out what the core decides."""
