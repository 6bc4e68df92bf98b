"""What is made again in every turn."""
