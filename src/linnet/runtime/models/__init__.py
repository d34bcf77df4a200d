"""Which providers and models can be used, with which keys and addresses, and which of them is meant."""
