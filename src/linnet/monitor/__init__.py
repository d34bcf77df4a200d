"""Watches an agent's stream: folds it into what the agent does now, for how long, and what it has cost."""
