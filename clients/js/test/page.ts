// What the test of the browser's build does in a page: drive an agent over HTTP, while its server is killed and started.
import { connect, PiDraft, type Event } from "linnet-agent/browser";

export interface Told {
  words: string;
  draft: string;
  states: string[];
  texts: string[];
}

const told: Told = { words: "", draft: "", states: [], texts: [] };

/** Open an agent, and follow it until the page is left. */
export async function drive(url: string, token: string, cwd: string): Promise<void> {
  const agent = await connect({ url, token }).open({ cwd, onConnection: (state) => told.states.push(state) });
  const draft = new PiDraft();
  void (async () => {
    for await (const event of agent.events() as AsyncIterable<Event>) {
      draft.add(event);
      told.draft = draft.text;
      if (event.type === "message_update" && event.assistantMessageEvent.type === "text_delta") told.words += event.assistantMessageEvent.delta;
    }
  })();
  Object.assign(globalThis, {
    told,
    prompt: (message: string) => void agent.prompt(message).text().then((text) => told.texts.push(text), (error) => told.texts.push(String(error))),
  });
}
Object.assign(globalThis, { drive });
