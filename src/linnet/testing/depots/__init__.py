"""Parts of `linnet.testing.depot_contract`."""
