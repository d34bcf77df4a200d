"""What extensions are asked before something happens, and what they are told after it."""
