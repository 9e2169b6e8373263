"""What is known of operators, and of one over many sizes."""
