"""The embedded LU of matrices kept in time order: as a whole, or the inside of their elements first."""
