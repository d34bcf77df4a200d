"""A provider for Google's generateContent API, at Google's own address and on Vertex AI."""
