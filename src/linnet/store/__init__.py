"""Sessions on disk: append-only files of JSON lines that form a tree, in the format of pi's version 3."""
