// A tool during which no other may run, and one that does not mind.
export default function (pi: any) {
  for (const executionMode of ["parallel", "sequential"]) {
    pi.registerTool({
      name: executionMode, label: executionMode, description: executionMode, executionMode,
      parameters: { type: "object", properties: {} },
      async execute(_id: string, _params: any, _signal: any, _update: any, ctx: any) {
        ctx.ui.notify(`${executionMode} begins`);
        await new Promise((done) => setTimeout(done, 20));
        ctx.ui.notify(`${executionMode} ends`);
        return { content: [{ type: "text", text: executionMode }], details: {} };
      },
    });
  }
}
