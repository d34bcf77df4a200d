"""Clients of the vendors' APIs: they send a request and stream the reply as deltas. They know no sessions or tools."""
