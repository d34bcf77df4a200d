"""Settings: a row for each, the layers in which they are said, and what holds."""
