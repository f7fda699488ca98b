import { type Clock, systemClock } from "../../src/lib/clock.ts";
import { NetworkUnreachableError } from "../../src/lib/network-route.ts";
import type {
  AccountMessage,
  DeliveryItem,
  DeviceFilterRequest,
  OutcomeLevel,
  PluginDefinition,
  PluginEvents,
  PluginReport,
  PluginReportCell,
  PluginReportRequest,
  PluginRequest,
  PluginResponse,
  StopRequest,
} from "../../src/plugin-api/index.ts";
import { launchInline } from "../../src/plugin-host/plugin-instance.ts";
import type { FromPlugin, OutcomeReport, PluginReportResult } from "../../src/plugin-host/plugin-protocol.ts";

/** A call that the plugin made of its host. */
export interface HostCall {
  method: string;
  args: unknown[];
}

/** A plugin that runs in this thread behind the real door; the test is its host. */
export interface InlinePlugin {
  readonly urls: Readonly<Record<string, string>>;
  /** Every report so far, oldest first. */
  readonly outcomes: readonly OutcomeReport[];
  readonly statuses: readonly { state: string; reason: string | null }[];
  readonly calls: readonly HostCall[];
  /** Everything about calls to the appliance that needs no answer: voice, keys and ends. */
  readonly fromCalls: readonly Extract<FromPlugin, { kind: `phone-${string}` }>[];
  /** Ends a call to the appliance, as the host does. */
  hangUp(callId: string): void;
  deliver(...items: DeliveryItem[]): void;
  stop(reason: StopRequest["reason"], ...deliveryIds: number[]): void;
  /** Tells an event of the core. */
  event<K extends keyof PluginEvents>(name: K, payload: PluginEvents[K]): void;
  /** Tells that a row of a watched resource changed. */
  changed(path: string, id: string): void;
  /** Asks the plugin's filter, as the host does before a message. */
  filter(request: DeviceFilterRequest): Promise<Extract<FromPlugin, { kind: "filtered" }>["result"]>;
  /** Has a message sent that is no notification: why it was not, or null. */
  accountMessage(message: AccountMessage): Promise<string | null>;
  /** The reports that the plugin offers. */
  readonly reports: readonly PluginReport[];
  /** Reads a report: its lines, or the problem. */
  report(key: string, request: PluginReportRequest): Promise<PluginReportResult>;
  /** Sends a request to the plugin's route, as the main server does. */
  request(request: Partial<PluginRequest> & Pick<PluginRequest, "url">): Promise<PluginResponse>;
  /** Resolves with the first status that `fits`, already told or still to come. */
  said(fits: (status: { state: string; reason: string | null }) => boolean): Promise<object>;
  /** Resolves when the plugin has made `count` calls of its host in all. */
  called(count: number): Promise<void>;
  /** Resolves with the first report of this delivery at this level, already made or still to come. */
  outcome(deliveryId: number, level: OutcomeLevel): Promise<OutcomeReport>;
  /** Resolves with the delivery's acceptance, else with a failure of it that was not told yet. */
  answered(deliveryId: number): Promise<OutcomeReport>;
  /** The levels reported of one delivery, in order. */
  levels(deliveryId: number): OutcomeLevel[];
  close(): Promise<void>;
}

/** What the test says to the plugin's calls: a value or the promise of one, or an error that refuses the call. */
export type HandleHostCall = (call: HostCall) => unknown;

/** What is special about a run. */
export interface InlineOptions {
  config: Record<string, unknown>;
  /** Names of own ports; they open on loopback. */
  ports?: readonly string[];
  /** Resources whose rows it may see. */
  watches?: readonly string[];
  answer?: HandleHostCall;
  clock?: Clock;
  /** Networks of this machine that `fetch` may reach. */
  allowedTargets?: readonly string[];
}

/** Starts a plugin and resolves when it is active; rejects with what `activate` threw. */
export async function runInline(plugin: PluginDefinition, options: InlineOptions): Promise<InlinePlugin> {
  const { config, ports = [], watches = [], answer = () => undefined, clock = systemClock } = options;
  const urls: Record<string, string> = {};
  const outcomes: OutcomeReport[] = [];
  const statuses: { state: string; reason: string | null }[] = [];
  const calls: HostCall[] = [];
  const fromCalls: Extract<FromPlugin, { kind: `phone-${string}` }>[] = [];
  const waiting = new Set<() => void>();
  const filtered = new Map<number, (result: Extract<FromPlugin, { kind: "filtered" }>["result"]) => void>();
  const mailed = new Map<number, (problem: string | null) => void>();
  const reports: PluginReport[] = [];
  const lines = new Map<number, (readonly PluginReportCell[])[]>();
  const reported = new Map<number, (result: PluginReportResult) => void>();
  const answers = new Map<number, (response: PluginResponse) => void>();
  let requests = 0;
  let started: { resolve(): void; reject(error: Error): void } | null = null;
  let onStopped = (): void => {};

  /** Resolves as soon as `probe`, asked after every message of the plugin, gives something. */
  const when = <T>(probe: () => T | undefined | false): Promise<T> =>
    new Promise((resolve) => {
      const look = (): void => {
        const found = probe();
        if (!found) return;
        waiting.delete(look);
        resolve(found);
      };
      waiting.add(look);
      look();
    });

  /** Thousands of deliveries are waited for at once. */
  const first = new Map<string, OutcomeReport>();
  const keyOf = (deliveryId: number, level: OutcomeLevel): string => `${deliveryId} ${level}`;
  const keep = (notes: readonly OutcomeReport[]): void => {
    outcomes.push(...notes);
    for (const note of notes) {
      const key = keyOf(note.deliveryId, note.level);
      if (!first.has(key)) first.set(key, note);
    }
  };

  const takeFailure = (deliveryId: number): OutcomeReport | undefined => {
    const key = keyOf(deliveryId, "failed");
    const failure = first.get(key);
    first.delete(key);
    return failure;
  };

  const hear = (message: FromPlugin): void => {
    if (message.kind === "active") started?.resolve();
    if (message.kind === "fault") started?.reject(new Error(message.message));
    if (message.kind === "listening") urls[message.name] = message.url;
    if (message.kind === "outcomes") keep(message.notes);
    if (message.kind === "status") statuses.push({ state: message.state, reason: message.reason });
    if (message.kind === "stopped") onStopped();
    if (message.kind === "call") respond(message);
    if (message.kind === "phone-voice" || message.kind === "phone-key" || message.kind === "phone-end")
      fromCalls.push(message);
    if (message.kind === "response") answers.get(message.id)?.(message.response);
    if (message.kind === "filtered") filtered.get(message.id)?.(message.result);
    if (message.kind === "account-message-sent") mailed.get(message.id)?.(message.problem);
    if (message.kind === "report-offered") reports.push(message.report);
    if (message.kind === "report-lines") lines.get(message.id)?.push(...message.lines);
    if (message.kind === "reported") {
      const { id, problem } = message;
      reported.get(id)?.(problem === null ? { lines: lines.get(id) ?? [] } : { problem });
    }
    for (const look of [...waiting]) look();
  };
  const respond = ({ id, method, args }: Extract<FromPlugin, { kind: "call" }>): void => {
    const call = { method, args };
    calls.push(call);
    const value = answer(call);
    if (value instanceof Promise) void value.then((late) => instance.send({ kind: "reply", id, value: late }));
    else if (value instanceof Error) {
      const isUnreachable = value instanceof NetworkUnreachableError;
      instance.send({ kind: "refusal", id, message: value.message, ...(isUnreachable && { noNetwork: true }) });
    } else instance.send({ kind: "reply", id, value });
  };
  const init = {
    plugin: "under-test",
    config,
    ports: Object.fromEntries(ports.map((name) => [name, { host: "127.0.0.1", port: 0, publicUrl: null }])),
    watches: [...watches],
    allowedTargets: options.allowedTargets ?? ["127.0.0.0/8"],
    baseUrl: "https://bells.example.org",
    multicastInterface: "127.0.0.1",
  };
  const active = new Promise<void>((resolve, reject) => {
    started = { resolve, reject };
  });
  const instance = launchInline(plugin, clock)(init, { onMessage: hear, onEnd: () => {} });
  await active;
  return {
    urls,
    outcomes,
    statuses,
    calls,
    fromCalls,
    hangUp: (callId) => instance.send({ kind: "phone-hang-up", callId }),
    deliver: (...items) => instance.send({ kind: "deliver", items }),
    stop: (reason, ...deliveryIds) => instance.send({ kind: "stop", request: { deliveryIds, reason } }),
    event: (name, payload) => instance.send({ kind: "event", name, payload }),
    changed: (path, id) => instance.send({ kind: "change", path, id, op: "update" }),
    filter: (request) =>
      new Promise((resolve) => {
        const id = ++requests;
        filtered.set(id, resolve);
        instance.send({ kind: "filter", id, request });
      }),
    accountMessage: (message) =>
      new Promise((resolve) => {
        const id = ++requests;
        mailed.set(id, resolve);
        instance.send({ kind: "account-message", id, message });
      }),
    reports,
    report: (key, request) =>
      new Promise((resolve) => {
        const id = ++requests;
        reported.set(id, resolve);
        lines.set(id, []);
        instance.send({ kind: "report", id, key, request });
      }),
    request: (given) =>
      new Promise((resolve) => {
        const id = ++requests;
        answers.set(id, resolve);
        const usual = { method: "POST", headers: {}, body: new Uint8Array(), remoteAddress: "127.0.0.1" };
        instance.send({ kind: "request", id, request: { ...usual, ...given } });
      }),
    said: (fits) => when(() => statuses.find(fits)),
    called: async (count) => void (await when(() => calls.length >= count)),
    outcome: (deliveryId, level) => when(() => first.get(keyOf(deliveryId, level))),
    answered: (deliveryId) => when(() => first.get(keyOf(deliveryId, "accepted")) ?? takeFailure(deliveryId)),
    levels: (deliveryId) => outcomes.filter((note) => note.deliveryId === deliveryId).map((note) => note.level),
    async close() {
      const stopped = new Promise<void>((resolve) => {
        onStopped = resolve;
      });
      instance.send({ kind: "shutdown" });
      await stopped;
      await instance.kill();
    },
  };
}
