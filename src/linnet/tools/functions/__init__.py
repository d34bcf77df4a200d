"""Makes tools of typed Python functions that users of the SDK and extensions write."""
