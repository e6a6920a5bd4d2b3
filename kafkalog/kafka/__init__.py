"""What Kafka's bytes mean: layouts, messages, codecs, side files; knows no files."""
