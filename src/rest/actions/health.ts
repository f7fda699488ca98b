import { option, text, timestamp } from "../../schema/field.ts";
import { type Action, json } from "../action.ts";

const SHORT_HEALTH = {
  status: option("In one word.", ["GREEN", "YELLOW", "RED"], { required: true }),
  version: text("Version of the software.", { required: true }),
  since: timestamp("When it last changed.", { required: true }),
};

/** How the appliance is, for programs that watch it; also at `/health` and `/metrics`. own choice: all of it */
export const healthActions: readonly Action[] = [
  {
    method: "get",
    at: "health",
    outsideVersion: true,
    permission: "open",
    doc: "How the appliance is, in one word: 503 when it is RED, else 200. The reasons are told to known users, at its endpoint.",
    answers: { kind: "members", fields: SHORT_HEALTH },
    async handle({ needs }) {
      const { status, since } = needs.watch.health();
      const body = { status, version: needs.watch.version, since: new Date(since).toISOString() };
      return json(body, status === "RED" ? 503 : 200);
    },
  },
  {
    method: "get",
    at: "metrics",
    outsideVersion: true,
    doc: "Numbers for graphs, in the text format of Prometheus.",
    answers: { kind: "bytes", types: ["text/plain"] },
    async handle({ needs }) {
      const { text: written, contentType } = needs.watch.metrics;
      return { type: contentType, body: await written() };
    },
  },
];
