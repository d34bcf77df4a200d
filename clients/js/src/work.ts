import type { Command, Frame, Reply } from "./conversation.js";

/**
 * Follows what an agent does, by what is sent to it and what comes back.
 *
 * Every command that begins something is put into `ended` once, in the end, or its answer was a refusal.
 */
export interface Work {
  /** Whether commands are answered at all. */
  readonly answers: boolean;
  /** The ids of commands whose work has begun, or is over with everything that followed; whoever reads empties them. */
  readonly begun: string[];
  readonly ended: string[];
  /** Whether nothing runs, waits or is about to follow by itself. */
  isFree(): boolean;
  /** Whether only the agent can tell if it is idle. Then it is asked, with `get_state`. */
  asks(): boolean;
  sent(id: string, type: string): void;
  answered(id: string, command: Command, reply: Reply): void;
  heard(event: Frame): void;
  /** Take in the answer to `get_state`. */
  learned(reply: Reply): void;
  /** Nobody knows what happened meanwhile, or before this client came. */
  lost(): void;
}

/**
 * Of pi's protocol: busy from the moment something is sent that begins work until nothing follows from it any more.
 *
 * `agent_end` is not the end: a retry, a compaction or a queued message may follow it. An agent that settles says
 * `agent_settled` then. Of others no event tells, so they are asked while it is unsure.
 *
 * `settles` is whether it does; the first `agent_settled` or `disposition` shows it. `apart` is whether answers and events
 * come on different ways, so that a run may be over before it is answered.
 */
export function piWork(settles: boolean, apart: boolean): Work {
  const begun: string[] = [];
  const ended: string[] = [];
  let open: string[] = [];
  const unanswered = new Map<string, number>(); // And how many runs had begun when it was sent.
  let runs = 0;
  let isOwed = false; // A prompt was accepted, and its run has not begun.
  let isRunning = false;
  let isSettling = false; // A run has ended, and `agent_settled` is to come.
  let isRetrying = false;
  let isCompacting = false;
  let isUnsure = false;
  const isBusy = () => isOwed || isRunning || isRetrying || isCompacting || isSettling || unanswered.size > 0;
  const isFree = () => !isBusy() && !isUnsure;
  const stop = () => {
    isOwed = isRunning = isRetrying = isCompacting = isSettling = false;
  };
  const settle = () => {
    if (isFree()) ended.push(...open.splice(0));
  };
  return {
    answers: true,
    begun,
    ended,
    isFree,
    asks: () => isUnsure && !isBusy(),
    sent(id, type) {
      // Commands from which a run may follow, or that end one first.
      if (/^(prompt|steer|follow_up)$/.test(type) || moves(type)) unanswered.set(id, runs);
      if (type === "prompt") {
        open.push(id);
        begun.push(id);
      }
    },
    answered(id, { type, message }, { success, data }) {
      if (type === "abort" && isOwed && !(apart && settles)) {
        isOwed = false; // The run that was to begin may never do so.
        isUnsure = true;
      }
      const before = unanswered.get(id);
      if (!unanswered.delete(id)) return;
      if (!success) open = open.filter((other) => other !== id);
      else if (moves(type)) {
        // Whatever ran was ended first. Some versions of pi do that without a word.
        stop();
        isUnsure = true;
      } else if (!isRunning && !isRetrying && !(apart && runs > before!)) {
        const disposition = data?.disposition;
        settles ||= disposition !== undefined;
        if (disposition ? disposition === "started" : type === "prompt" && !/^\//.test(message)) isOwed = true;
        else isUnsure = true; // Handled by an extension, perhaps; or queued, which some versions leave at that.
      }
      settle();
    },
    heard({ type, willRetry }) {
      if (type === "agent_start") {
        runs++;
        isRunning = true;
        isOwed = isUnsure = isSettling = false;
      } else if (type === "agent_end") {
        isRunning = false;
        isSettling = settles;
        isUnsure = !settles;
      } else if (type === "agent_settled") {
        // While something runs this is about something else, or the run broke off: better ask.
        isUnsure = isRunning || (isOwed && !apart);
        const isStillOwed = isOwed && apart;
        stop();
        isOwed = isStillOwed;
        settles = true;
      } else if (type === "auto_retry_start") isRetrying = true;
      else if (type === "auto_retry_end") {
        isRetrying = false;
        isUnsure = true;
      } else if (/^(auto_)?compaction_start$/.test(type)) isCompacting = true;
      else if (/^(auto_)?compaction_end$/.test(type)) {
        isCompacting = false;
        isUnsure = true;
        isOwed ||= !!willRetry;
      } else return;
      settle();
    },
    learned({ data }) {
      // An agent that does not know the question is taken to be idle.
      if (!data?.isStreaming && !data?.isCompacting) isUnsure = false;
      settle();
    },
    lost() {
      stop();
      isUnsure = true;
    },
  };
}

const moves = (type: string) => /^(compact|(new|switch)_session|branch|fork|clone|navigate)$/.test(type);
