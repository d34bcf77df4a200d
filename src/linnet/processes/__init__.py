"""Child processes: started by a supervisor, followed while they run, and killed with all they started."""
