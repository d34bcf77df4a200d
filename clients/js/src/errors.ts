/** The base of all errors of this package. */
export class LinnetError extends Error {
  override name = "LinnetError";
}

/** The agent, or its server, refused a command. Nothing has changed unless the protocol's page says so. */
export class Refused extends LinnetError {
  override name = "Refused";
  constructor(
    readonly command: string,
    readonly reason: string,
    /** One word for programs. Servers tell it. */
    readonly code?: string,
  ) {
    super(`${command} was refused: ${reason}`);
  }
}

/** A run or a compaction failed or was aborted. */
export class RunFailed extends LinnetError {
  override name = "RunFailed";
  constructor(
    readonly reason: string,
    /** What was said until then. */
    readonly text = "",
  ) {
    super(reason);
  }
}

/** A deadline has passed. Nothing was aborted, and the agent can be used as before. */
export class TimedOut extends LinnetError {
  override name = "TimedOut";
  constructor(
    readonly waitedFor: string,
    readonly milliseconds: number,
  ) {
    super(`${waitedFor} took longer than ${milliseconds} ms`);
  }
}

/** How a conversation ended. */
export interface Ending {
  /** Why, in words. */
  reason?: string | undefined;
  /** The exit code of a process; null if a signal ended it. */
  exitCode?: number | null | undefined;
  /** The signal that ended a process. */
  signal?: string | null | undefined;
  /** The end of what it printed on stderr. */
  stderr?: string | undefined;
}

/** The agent has ended, or was closed: nothing can be asked of it any more. */
export class AgentGone extends LinnetError implements Ending {
  override name = "AgentGone";
  readonly exitCode: number | null;
  readonly signal: string | null;
  readonly stderr: string;
  readonly reason: string;

  constructor({ reason, exitCode = null, signal = null, stderr = "" }: Ending) {
    reason ||= "the agent has gone";
    super(`${reason}\n${stderr}`.trimEnd());
    this.exitCode = exitCode;
    this.signal = signal;
    this.stderr = stderr;
    this.reason = reason;
  }
}
