"""Records by question: those of a topic, a transaction, a key, wherever they are, and what became of them."""
