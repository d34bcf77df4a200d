"""The zot protocol, version 1, as `zot rpc` speaks it."""
