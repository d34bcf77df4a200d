"""What a command line says, as a value: which protocol is spoken, and what the agent is configured with."""
