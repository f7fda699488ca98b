import type { Clock } from "../base/clock.ts";
import type { PluginRequest, PluginResponse } from "../plugin-api/index.ts";
import { HANDLER_MS, MAX_BODY_BYTES } from "./own-port.ts";
import { createQuestions } from "./questions.ts";
import type { ToPlugin } from "./wire.ts";

/** Requests under /x/<plugin> that wait for the plugin's answer. */
export interface RouteCalls {
  /** Always answers: 413 for a long body, 503 when the plugin ends meanwhile, 504 when it takes too long. */
  ask(request: PluginRequest): Promise<PluginResponse>;
  answer(id: number, response: PluginResponse): void;
  /** The plugin's run has ended. */
  drop(): void;
}

/** The plugin itself gives up after `HANDLER_MS`; this is for one that does not even do that. */
const GRACE_MS = 1_000;
/** Requests that may wait at once; more are refused. own choice */
const MOST_WAITING = 1_000;

/** Makes the waiting room of one plugin's requests. */
export function createRouteCalls(clock: Clock, send: (message: ToPlugin) => void): RouteCalls {
  const gone = { status: 503 };
  const rules = {
    withinMs: HANDLER_MS + GRACE_MS,
    most: MOST_WAITING,
    late: { status: 504 },
    dropped: gone,
    full: gone,
  };
  const questions = createQuestions<PluginResponse>(clock, rules);
  return {
    ask(request) {
      if (request.body.byteLength > MAX_BODY_BYTES) return Promise.resolve({ status: 413 });
      return questions.ask((id) => send({ kind: "request", id, request }));
    },
    answer: questions.answer,
    drop: questions.drop,
  };
}
