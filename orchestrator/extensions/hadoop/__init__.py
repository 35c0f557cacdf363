"""Hadoop's file system: HDFS and stores of files as databases, and Hadoop's own jobs on them."""
