"""What is decided about agents that run on any of many machines: who owns one, what is written, what is done once."""
