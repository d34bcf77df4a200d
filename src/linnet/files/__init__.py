"""Files of ours, whatever lies in their place: read with care, replaced in one step, written by one at a time."""
