"""The events of an agent, each with a number, in files from which they can be told again."""
