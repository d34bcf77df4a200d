"""What extensions are asked, what they are told, and what they show. Pure."""
