"""What is wrong with a problem or with a solution: reachability, turns, what happens between points."""
