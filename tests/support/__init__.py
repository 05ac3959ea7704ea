"""What several test modules share: where things are, how bundles are made, how the command line is run."""
