import type { CallReport } from "../plugin-api/index.ts";
import type inputs from "../resources/inputs/inputs.ts";
import type { RowOf } from "../schema/resource.ts";

/** A stored input with its parsed JSON. `call.pin` is never stored; `pin` holds it sealed. */
export type InputRow = Omit<RowOf<typeof inputs>, "plugin" | "source" | "details" | "call"> & {
  plugin: string;
  source: string;
  details: Readonly<Record<string, unknown>>;
  call: CallReport | null;
};

export interface InputResult {
  outcome: NonNullable<RowOf<typeof inputs>["outcome"]>;
  reason?: string;
  notificationId?: string;
}
