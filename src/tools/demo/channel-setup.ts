import { type ApiClient, listAll } from "../../api-client/api-client.ts";
import { registerDevices } from "../../api-client/register-devices.ts";
import type { Clock } from "../../lib/clock.ts";
import { UpstreamError } from "../../lib/errors.ts";
import { pollUntil } from "../../lib/waits.ts";
import type { SimulatorReady } from "../simulator-process.ts";
import { DEMO_CHANNELS, type DemoChannel, type ServiceFacts } from "./channels.ts";
import { createDemoRecording } from "./demo-recording.ts";

interface Row {
  id: string;
}

/** Fields of an extension that are used here. */
interface Extension extends Row {
  name: string;
  status: { state: string; health: string; reason: string | null } | null;
}

const POLL_INTERVAL_MS = 200;
const READY_TIMEOUT_MS = 30_000;

/** The message to all channels. */
export interface ChannelDemoMessage {
  send: FormData;
  /** Path of the alert feed on the appliance. */
  feedPath: string;
}

/** Configures the plugin of every channel for its simulated service and waits until all are healthy; UpstreamError on timeout. */
export async function configureChannelPlugins(
  api: ApiClient,
  services: SimulatorReady["services"],
  clock: Clock,
  signal: AbortSignal,
): Promise<void> {
  const extensions = await listAll<Extension>(api, "/extensions");
  const channels = new Map(
    DEMO_CHANNELS.map((channel) => {
      const extension = extensions.find(({ name }) => name === channel.plugin);
      if (!extension) throw new UpstreamError("upstream", `The ${channel.plugin} plugin is not installed.`);
      return [extension.id, channel] as const;
    }),
  );
  for (const [id, channel] of channels) {
    const config = channel.config(factsOf(services, channel));
    // The person of the demo has a device on every channel.
    const limit = channel.target.kind === "person" ? { deviceLimit: DEMO_CHANNELS.length } : {};
    await api.put(`/extensions/${id}`, { disabled: false, config, ...limit });
  }
  await waitUntilReady(
    async () => {
      const rows = await listAll<Extension>(api, "/extensions");
      return rows
        .filter(({ id, status }) => channels.has(id) && (status?.state !== "running" || status.health !== "ok"))
        .map(describeUnready);
    },
    clock,
    signal,
  );
}

/** Polls until nothing is missing; UpstreamError on timeout, with what is missing. */
export async function waitUntilReady(
  missing: () => Promise<readonly string[]>,
  clock: Clock,
  signal: AbortSignal,
): Promise<void> {
  let problems: readonly string[] = [];
  const poll = async (): Promise<true | null> => {
    problems = await missing();
    return problems.length === 0 || null;
  };
  const limits = { timeoutMs: READY_TIMEOUT_MS, intervalMs: POLL_INTERVAL_MS, signal };
  if ((await pollUntil(clock, poll, limits)) === null)
    throw new UpstreamError("upstream", `Not ready: ${problems.join("; ")}`);
}

function describeUnready({ name, status }: Extension): string {
  return `${name} is ${status?.state ?? "absent"} (${status?.reason ?? status?.health ?? "no reason given"})`;
}

/** Creates a person with a device on every channel, collaboration groups, and a device group of all devices. */
export async function createChannelDemoData(api: ApiClient, simulator: SimulatorReady): Promise<ChannelDemoMessage> {
  const { services } = simulator;
  const recipients = {
    listId: await createPerson(api, services),
    groups: await createCollaborationGroups(api, services),
  };
  const speakers = DEMO_CHANNELS.filter(({ target }) => target.kind === "device").map((channel) => ({
    type: "speakers",
    deviceIdentifier: channel.address(factsOf(services, channel)),
    description: channel.name,
    attributes: channel.attributes?.(factsOf(services, channel)) ?? {},
  }));
  await registerDevices(api, [...simulator.devices, ...speakers]);
  const everything = await api.post<Row>("/device-groups", { name: "Everything", filterType: "ACCEPT" });
  const send = new FormData();
  send.set("subject", "Every channel");
  send.set("body", "One message by every channel.");
  send.set("alertTone", "chime");
  send.append("distributionListIds[]", recipients.listId);
  send.append("deviceGroupIds[]", everything.id);
  for (const { id } of recipients.groups) send.append("collaborationGroupIds[]", id);
  send.set("audio", new Blob([createDemoRecording()], { type: "audio/wav" }), "every-channel.wav");
  const alertGroup = recipients.groups.find(({ type }) => type === "outbound-cap");
  return { send, feedPath: `/x/cap-out/${alertGroup?.id}/atom` };
}

async function createPerson(api: ApiClient, services: SimulatorReady["services"]): Promise<string> {
  const user = await api.post<Row>("/users", { name: "Amara Okafor", email: "amara.okafor@school.example" });
  for (const channel of DEMO_CHANNELS) {
    const { target } = channel;
    if (target.kind !== "person") continue;
    const facts = factsOf(services, channel);
    const clientIdentifier = channel.clientIdentifier?.(facts);
    await api.post(`/users/${user.id}/devices`, {
      type: target.type,
      name: channel.name,
      deviceIdentifier: channel.address(facts),
      ...(clientIdentifier === undefined ? {} : { clientIdentifier }),
    });
  }
  const list = await api.post<Row>("/distribution-lists", { name: "Staff" });
  await api.post(`/distribution-lists/${list.id}/user-subscriptions`, { userId: user.id });
  return list.id;
}

async function createCollaborationGroups(
  api: ApiClient,
  services: SimulatorReady["services"],
): Promise<(Row & { type: string })[]> {
  const created: (Row & { type: string })[] = [];
  for (const channel of DEMO_CHANNELS) {
    const { target } = channel;
    if (target.kind !== "group") continue;
    const { type, properties } = target;
    const name = channel.address(factsOf(services, channel));
    created.push({ type, ...(await api.post<Row>("/collaboration-groups", { name, type, properties })) });
  }
  return created;
}

function factsOf(services: SimulatorReady["services"], { service }: DemoChannel): ServiceFacts {
  return services[service] ?? {};
}
