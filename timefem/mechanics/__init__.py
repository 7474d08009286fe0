"""What moves: bodies, joints, forces and the system they make."""
