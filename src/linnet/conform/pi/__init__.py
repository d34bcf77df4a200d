"""What pi's documents promise, as checks: those of 0.35, of the generations since, and of the protocol before."""
