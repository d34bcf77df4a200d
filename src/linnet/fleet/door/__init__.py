"""A door to agents of a depot: clients come to it, and the agents run on workers elsewhere."""
