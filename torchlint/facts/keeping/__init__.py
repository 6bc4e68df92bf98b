"""What keeps tensors, models and checkpoints alive beyond their use."""
