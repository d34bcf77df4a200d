"""Settings as people say them: a row for each, and how flags, files and variables become layers of them."""
