// Goes on once before the agent is done, asks for what cannot be, and tells of what is asked.
export default function (pi: any) {
  let times = 0;
  pi.on("agent_before_settle", ({ outcome, context, entries }: any, ctx: any) => {
    times += 1;
    ctx.ui.notify(`${outcome} ${context.canContinue} ${context.llmMessages.at(-1).role} ${entries.length}`);
    if (times > 1) return { continue: true };
    const entry = { type: "custom_message", customType: "k", content: "once more", display: false };
    return { entries: [entry, { type: "custom", customType: "kept", data: 1 }], continue: true };
  });
  for (const name of ["ui_prompt_start", "ui_prompt_end"]) {
    pi.on(name, ({ kind, title }: any, ctx: any) => ctx.ui.notify(`${name} ${kind} ${title}`));
  }
  pi.registerCommand("ask", { handler: async (_: string, ctx: any) => ctx.ui.notify(await ctx.ui.input("What", "this")) });
}
