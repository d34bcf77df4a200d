"""JSON that people write and models are given: checked, found by line, edited, held against schemas. Pure."""
