"""Threads that are kept for reuse, one event loop, and the token that interrupts whatever blocks on an abort."""
