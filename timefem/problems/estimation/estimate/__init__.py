"""What an estimation finds: the motion, how certain it is, and how well it fits."""
