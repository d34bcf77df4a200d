"""JSON text that people write: checked against types and schemas, with errors that name a line, and edited in place."""
