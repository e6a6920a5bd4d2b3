"""The folds: transactions, gaps and sequences over columns of batches; knows no files."""
