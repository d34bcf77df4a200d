// A route that streams an answer, for whatever serves web standard requests: Next.js, Hono, Remix, Deno, Bun, workers.
import { connect, Refused } from "linnet-agent";

const server = connect({ url: process.env["LINNET_URL"]!, token: process.env["LINNET_TOKEN"] ?? "" });

/** `{"message", "agent"?}` is answered with the text as it is said. Who hangs up aborts the run. */
export async function POST(request: Request): Promise<Response> {
  const { message, agent: id } = (await request.json()) as { message: string; agent?: string };
  const agent = id ? await server.attach(id) : await server.open({ cwd: process.env["LINNET_FOLDER"]! });
  const run = agent.prompt(message, { signal: request.signal });
  try {
    await run.accepted();
  } catch (error) {
    await agent.close();
    if (error instanceof Refused) return Response.json({ error: error.reason }, { status: 409 });
    throw error;
  }
  const text = new ReadableStream<string>({
    async start(controller) {
      try {
        for await (const event of run) {
          if (event.type === "message_update" && event.assistantMessageEvent.type === "text_delta") {
            controller.enqueue(event.assistantMessageEvent.delta);
          }
        }
        controller.close();
      } catch (error) {
        controller.error(error);
      } finally {
        await agent.close(); // The connection: the agent stays, for the next message.
      }
    },
  });
  return new Response(text.pipeThrough(new TextEncoderStream()), {
    headers: { "content-type": "text/plain; charset=utf-8", "x-agent": agent.id! },
  });
}
