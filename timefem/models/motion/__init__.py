"""Files of measured motions: markers, and tables of joints."""
