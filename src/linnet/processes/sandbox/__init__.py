"""Where commands see little and can change less: bubblewrap, Landlock, and what is protected in either."""
