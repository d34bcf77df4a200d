"""Extensions in any language: a folder with a manifest, and a program that speaks JSON lines as zot's do."""
