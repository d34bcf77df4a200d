"""What others bring to the agent: programs that give it tools."""
