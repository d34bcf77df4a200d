"""What a project brings for the agent: instructions, skills, prompt templates, and names that a sandbox protects."""
