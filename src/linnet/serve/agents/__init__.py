"""Any number of agents in one process: opened, kept, asleep or awake, each with its events and its clients."""
