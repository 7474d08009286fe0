"""MJCF files, the format of MuJoCo."""
