"""The pi protocol, as `pi --mode rpc` speaks it since it answers commands."""
