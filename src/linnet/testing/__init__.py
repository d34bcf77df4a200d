"""What tests and benchmarks of linnet, and of programs that embed it, can lean on."""
