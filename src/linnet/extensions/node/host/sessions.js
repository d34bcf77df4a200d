// `ctx.sessionManager`: the session as it is now. Entries are asked for as they are needed, each once.
import { callNow } from "./channel.js";

const known = { session: undefined, entries: [], byId: new Map() };

function current(instance) {
  instance.checkActive();
  const since = known.entries.at(-1)?.id;
  const got = callNow(instance.index, "entries", { session: known.session, since });
  if (got.whole) Object.assign(known, { session: got.session, entries: [], byId: new Map() });
  for (const entry of got.entries) {
    known.entries.push(entry);
    known.byId.set(entry.id, entry);
  }
  return got;
}

function labels() {
  const found = new Map();
  for (const entry of known.entries) {
    if (entry.type === "label") entry.label ? found.set(entry.targetId, entry) : found.delete(entry.targetId);
  }
  return found;
}

/** Return what an instance may read of its session. */
export function sessionManager(instance) {
  const branch = (from) => {
    const { leafId } = current(instance);
    const path = [];
    for (let at = from ?? leafId; at != null && known.byId.has(at); at = known.byId.get(at).parentId) {
      path.unshift(known.byId.get(at));
    }
    return path;
  };
  const entries = () => (current(instance), [...known.entries]);
  const entry = (id) => (current(instance), known.byId.get(id));
  const state = () => instance.now("state");
  return Object.freeze({
    getEntries: entries,
    getBranch: branch,
    getPathToRoot: branch,
    getLeafId: () => current(instance).leafId ?? null,
    getLeafEntry() {
      const { leafId } = current(instance);
      return known.byId.get(leafId);
    },
    getEntry: entry,
    getChildren: (id) => entries().filter((each) => each.parentId === id),
    getLabel: (id) => (current(instance), labels().get(id)?.label),
    getHeader: () => current(instance).header ?? null,
    getSessionFile: () => state().sessionFile ?? undefined,
    getSessionId: () => state().sessionId,
    getSessionName: () => state().sessionName || undefined,
    getSessionDir: () => state().sessionDir ?? undefined,
    getCwd: () => state().cwd,
    isPersisted: () => Boolean(state().sessionFile),
    getTree() {
      current(instance);
      const named = labels();
      const nodes = new Map();
      const roots = [];
      for (const each of known.entries) {
        const node = { entry: each, children: [] };
        const label = named.get(each.id);
        if (label) Object.assign(node, { label: label.label, labelTimestamp: label.timestamp });
        nodes.set(each.id, node);
        (nodes.get(each.parentId)?.children ?? roots).push(node);
      }
      return roots;
    },
    buildSessionContext: () => instance.now("sessionContext"),
  });
}
