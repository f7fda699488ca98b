import type { CallReport } from "../plugin-api/index.ts";
import type inputs from "../resources/inputs/inputs.ts";
import type { RowOf } from "../schema/resource.ts";

/** An input as it was stored, with what is known of its JSON. `call.pin` is never there: `pin` holds it, sealed. */
export type InputRow = Omit<RowOf<typeof inputs>, "plugin" | "source" | "details" | "call"> & {
  plugin: string;
  source: string;
  details: Readonly<Record<string, unknown>>;
  call: CallReport | null;
};

/** What became of an input. */
export interface InputResult {
  outcome: NonNullable<RowOf<typeof inputs>["outcome"]>;
  reason?: string;
  notificationId?: string;
}
