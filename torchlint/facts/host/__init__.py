"""What costs host memory or time around the training: data sets, profilers, debugging modes, figures."""
