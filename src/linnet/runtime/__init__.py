"""Sessions at work: carries out, with threads, files and child processes, what the pure core decides."""
