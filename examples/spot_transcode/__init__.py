"""Videos that are put into a bucket, transcoded by Spot instances with a hardware encoder."""
