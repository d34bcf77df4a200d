"""Any agent's stream folded into one state: what it does now, for how long, and what it has cost."""
