"""What commands in the sandbox may reach of the network, by name: a proxy in the agent, and its entrance in there."""
