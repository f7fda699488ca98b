import { createInputs, type InputDeps, type Inputs } from "../../../src/inputs/inputs.ts";
import {
  callRedirectHooks,
  dialingConfigurationHooks,
  m2mInputHooks,
  routingRequestHooks,
} from "../../../src/inputs/rule-hooks.ts";
import { INPUT_TABLES } from "../../../src/inputs/schema.ts";
import { CallerError } from "../../../src/lib/errors.ts";
import { acceptBatch } from "../../../src/notifications/engine/stages/accept.ts";
import type { CallReport } from "../../../src/plugin-api/index.ts";
import inputs from "../../../src/resources/inputs/inputs.ts";
import messageTemplates from "../../../src/resources/messages/message-templates.ts";
import notifications from "../../../src/resources/notifications/notifications.ts";
import type { RowOf } from "../../../src/schema/resource.ts";
import type { ResourceHooks } from "../../../src/store/store.ts";
import { type BroadcastFixture, openBroadcasts } from "../notifications/notification-fixture.ts";

/** The room of inputs on a store of its own, with messages that are accepted and go no further. */
export interface InputsFixture extends BroadcastFixture {
  inputs: Inputs;
  /** Ids of messages that were ended before their time, in order. */
  aborted: string[];
  /** What scenarios were started with, in order. */
  scenariosStarted: Record<string, unknown>[];
  /** What starting a scenario, or accepting a message, is refused with. */
  refuses: { scenarios: Error | null; messages: Error | null };
  /** A template to a list with one user. */
  template(subject: string, more?: object): Promise<string>;
  /** Takes an input of the plugin `p` and waits until it was handled. */
  take(
    source: string,
    values?: Record<string, unknown>,
    more?: { key?: string; drill?: boolean; call?: CallReport },
  ): Promise<void>;
  /** A step of a call. */
  call(state: CallReport["state"], calledNumber: string, more?: Partial<CallReport>): Promise<void>;
  /** The messages sent so far, oldest first. */
  sent(): RowOf<typeof notifications>[];
  /** The inputs so far, oldest first. */
  listed(): RowOf<typeof inputs>[];
  /** Waits until no input waits for its turn. */
  settle(): Promise<void>;
  /** Lets what goes on come to its next rest, whether or not an input still waits. */
  turns(): Promise<void>;
  /** Ends the room and begins another on the same data; what `meanwhile` does finds none that has begun. */
  restart(meanwhile?: () => Promise<void>): Promise<void>;
}

/** Opens the fixture; the room has begun. */
export async function openInputs(): Promise<InputsFixture> {
  const scene = await openBroadcasts({
    "call-aware-call-redirects": callRedirectHooks as unknown as ResourceHooks,
    "call-aware-routing-requests": routingRequestHooks as unknown as ResourceHooks,
    "m2m-inputs": m2mInputHooks as unknown as ResourceHooks,
    "dialcast-dialing-configurations": dialingConfigurationHooks as unknown as ResourceHooks,
  });
  const { store, clock, by, needs } = scene;
  await store.write((tx) => {
    for (const { sql } of INPUT_TABLES) tx.run(sql);
  });
  const list = await scene.list("Staff", [await scene.user("Ann")]);
  const aborted: string[] = [];
  const scenariosStarted: Record<string, unknown>[] = [];
  const refuses: InputsFixture["refuses"] = { scenarios: null, messages: null };
  let keys = 0;
  const room: InputDeps = {
    ...{ store, clock, by, log: needs.log, endpointId: () => scene.endpointId },
    notificationService: {
      async sendBatch(messages, as, belong) {
        if (refuses.messages) throw refuses.messages;
        return acceptBatch(messages, as, belong, needs);
      },
      async abort(id) {
        aborted.push(id);
        if (store.get(notifications, id)) return {} as never;
        throw new CallerError("not-found", "Resource not found.");
      },
    },
    async startScenario(input) {
      if (refuses.scenarios) throw refuses.scenarios;
      scenariosStarted.push({ ...input });
      return { id: "" };
    },
  };
  const begin = (): Inputs => {
    const made = createInputs(room);
    made.start();
    return made;
  };
  const fixture: InputsFixture = {
    ...scene,
    inputs: begin(),
    ...{ aborted, scenariosStarted, refuses },
    async template(subject, more = {}) {
      const given = { name: subject, subject, distributionListIds: [list], ...more };
      return (await scene.create(messageTemplates, given)).id;
    },
    async take(source, values = {}, { key = `key-${++keys}`, drill, call } = {}) {
      await fixture.inputs.enqueue("p", {
        source,
        dedupeKey: key,
        values,
        ...(drill ? { drill } : {}),
        ...(call ? { call } : {}),
      });
      await fixture.settle();
    },
    call: (state, calledNumber, more = {}) =>
      fixture.take("Trunk", {}, { call: { callId: "c1", state, calledNumber, ...more } }),
    sent: () => store.find(notifications, {}),
    listed: () => store.find(inputs, {}),
    async settle() {
      for (let turns = 0; store.count(inputs, { outcome: "waiting" }) > 0; turns++) {
        // A PIN is verified in another thread, so turns are counted generously.
        if (turns > 200_000) throw new Error("the inputs do not come to rest");
        await new Promise((resolve) => setImmediate(resolve));
        await clock.advance(0);
      }
    },
    async turns() {
      for (let at = 0; at < 50; at++) await new Promise((resolve) => setImmediate(resolve));
    },
    async restart(meanwhile) {
      await fixture.inputs.stop();
      await meanwhile?.();
      fixture.inputs = begin();
      await fixture.settle();
    },
    async close() {
      await fixture.inputs.stop();
      await scene.close();
    },
  };
  return fixture;
}
