"""Log directories: what a path holds, broker by broker and cluster by cluster; what a broker put aside or moves."""
