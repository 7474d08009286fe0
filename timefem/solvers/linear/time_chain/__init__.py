"""The embedded LU of matrices kept in time order."""
