"""The project's folder: whether it is trusted, and the instructions, templates and skills found in it."""
