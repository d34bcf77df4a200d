"""The runtime in your own process. Its types are the zot protocol's, one for one."""
