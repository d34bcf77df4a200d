"""The tools of a session: who may run them, who is asked, and what runs beside the agent."""
