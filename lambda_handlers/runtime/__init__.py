"""What the handlers share: settings, time, logs, patience with AWS, reading a group and a queue."""
