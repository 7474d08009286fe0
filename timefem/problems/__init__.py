"""Problems: data only; one folder for each kind."""
