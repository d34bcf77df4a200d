import type { Ending } from "./errors.js";

/** A line that came. Where events are numbered, the last line of one has its number. */
export interface Line {
  text: string;
  seq?: number | undefined;
}

/** A line to send. */
export interface Sent {
  text: string;
  /** The name of the command. */
  type: string;
  /** Its id, if it is to be answered. */
  id?: string | undefined;
}

/** What is known of an agent before it has said a word. */
export interface Known {
  id?: string;
  seq?: number | undefined;
  isAttached?: boolean;
}

/** The way to an agent, which may be lost and found again. */
export interface Transport {
  /** Whether it can be connected again, and events are numbered so that nothing is missed. */
  readonly resumes: boolean;
  /** Whether answers come apart from events, so that their order says nothing. */
  readonly apart: boolean;
  /** Whether nothing more will be written, so that what is left had better be read. */
  readonly hasEnded?: boolean;
  /** Called when something has changed that the reader should know of. */
  onChange?: () => void;
  /** Called with answers that come apart. */
  onAnswer?: (text: string) => void;
  /**
   * Connect, and return the lines that come after an event, in batches; they end when the connection does. Throws
   * AgentGone if there is no use in trying again.
   */
  connect(after: number | undefined): Promise<AsyncIterable<readonly Line[]>>;
  /** Send a line. On a connection that is lost it is dropped: what is not answered is sent again. */
  send(line: Sent): void;
  /** End the conversation in an orderly way, in so many milliseconds. */
  close(patience: number): void;
  /** Wait until all is over; return how it ended. */
  gone(): Promise<Ending>;
}
