"""What published wheels say about a Mac, read on any machine: no Mac, no compiler tools, nothing installed."""
