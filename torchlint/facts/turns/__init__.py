"""What runs again and again, how often, how long, and in which mode."""
