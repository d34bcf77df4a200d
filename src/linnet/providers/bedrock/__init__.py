"""A provider for Amazon Bedrock's Converse API."""
