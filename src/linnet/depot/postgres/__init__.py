"""A depot in Postgres. Nobody who keeps files imports it."""
