"""Bedrock as the scripted model is it: what it refuses, and what it answers."""
