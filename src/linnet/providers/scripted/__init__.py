"""A provider without a model: it plays a script, for tests and for trying linnet offline."""
