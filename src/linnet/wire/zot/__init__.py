"""The zot protocol: `zot rpc`, version 1."""
