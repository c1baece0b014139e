"""Inference on Inferentia or Trainium: a model is served to jobs from a queue, in office hours."""
