"""What each value of a program is, and how the analysis comes to know it."""
