"""`linnet watch`: one agent of any kind on a page, while another program uses it."""
