"""A model that is a script: what it plays, and the provider that plays it."""
