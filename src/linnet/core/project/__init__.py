"""What a project brings for the agent to read, and what can be typed as `/name`. Pure."""
