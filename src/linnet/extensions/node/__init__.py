"""Extensions written for pi, in TypeScript or JavaScript: one host in Node carries all of a session."""
