"""JSON Schemas and TypeScript of what linnet reads and prints, made from the types that it reads and prints with."""
