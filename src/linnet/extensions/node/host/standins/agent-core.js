// In place of pi-agent-core, of which extensions use only types.
export {};
