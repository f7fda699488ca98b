import { afterEach } from "vitest";
import plugin from "../../../plugins/cap-in/index.ts";
import type { TriggerInput } from "../../../src/plugin-api/index.ts";
import { createFakeClock, type FakeClock } from "../../support/fake-clock.ts";
import { type HandleHostCall, type InlinePlugin, runInline } from "../inline-plugin.ts";
import { withMemoryState } from "../memory-state.ts";
import { openFeedServer, type TestFeedServer } from "./feed-server.ts";

/** The school, in Munich. */
export const HERE = {
  id: "0198f3a0-0000-7000-8000-00000000e001",
  name: "North campus",
  longitude: 11.5754,
  latitude: 48.1371,
};
const AREAS = [
  {
    ...{ id: HERE.id, name: HERE.name },
    geometryValue: { geometry: { coordinates: [HERE.longitude, HERE.latitude] }, properties: { radiusInM: 400 } },
  },
];

/** A feed that is polled every minute. */
export const FEED = { name: "Weather", everySeconds: 60, signed: false };

export interface CapRun {
  cap: InlinePlugin;
  clock: FakeClock;
  /** Lets time go on until this holds. */
  until(holds: () => boolean): Promise<void>;
  triggered(): TriggerInput[];
}

/** The host's answers to a plugin that knows the school. */
export const areasOf: HandleHostCall = ({ method }) => (method === "resources.list" ? AREAS : undefined);

/** The plugin and its servers, closed after each test of the file that calls this. */
export function capPlugins() {
  const closing: (() => Promise<void>)[] = [];
  afterEach(async () => {
    for (const close of closing.splice(0).reverse()) await close();
  });
  return {
    onEnd: (close: () => Promise<void>): void => void closing.push(close),
    async open(): Promise<TestFeedServer> {
      const server = await openFeedServer();
      closing.push(server.close);
      return server;
    },
    async run(feeds: unknown, config: object = {}, answer: HandleHostCall = withMemoryState(areasOf)): Promise<CapRun> {
      const clock = createFakeClock();
      const given = { feeds, tokens: null, trustedCertificates: null, language: "en", ...config };
      const options = { answer, clock, watches: ["areas-of-interest"], allowedTargets: ["127.0.0.0/8"] };
      const cap = await runInline(plugin, { config: given, ...options });
      closing.push(() => cap.close());
      const triggered = (): TriggerInput[] =>
        cap.calls.filter(({ method }) => method === "trigger").map(({ args }) => args[0] as TriggerInput);
      const until = async (holds: () => boolean): Promise<void> => {
        while (!holds()) await clock.advance(1);
      };
      return { cap, clock, until, triggered };
    },
  };
}
