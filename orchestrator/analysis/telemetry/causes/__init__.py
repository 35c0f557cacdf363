"""What held a node back? Values of a node → its cause, in words."""
