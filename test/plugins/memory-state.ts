import type { HandleHostCall } from "./inline-plugin.ts";

/** Answers `state.get` and `state.set` as the host does, with values that outlive a run; other calls go on to `others`. */
export function withMemoryState(others: HandleHostCall = () => undefined): HandleHostCall {
  const values = new Map<unknown, string>();
  return (call) => {
    const [key, value] = call.args;
    if (call.method === "state.get") {
      const kept = values.get(key);
      return kept === undefined ? undefined : JSON.parse(kept);
    }
    if (call.method !== "state.set") return others(call);
    if (value === undefined) values.delete(key);
    else values.set(key, JSON.stringify(value));
    return undefined;
  };
}
