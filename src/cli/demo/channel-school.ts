import { type Clock, sleep } from "../../base/clock.ts";
import { UpstreamError } from "../../base/errors.ts";
import { type ApiClient, listAll } from "../api-client.ts";
import type { CampusReady } from "../campus-process.ts";
import { registerDevices } from "../register-devices.ts";
import { CHANNELS, type Channel, type ServiceFacts } from "./channels.ts";
import { makeRecording } from "./recording.ts";

interface Row {
  id: string;
}

/** An extension, as far as it matters here. */
interface Extension extends Row {
  name: string;
  status: { state: string; health: string; reason: string | null } | null;
}

const LOOK_EVERY_MS = 200;
const LONGEST_MS = 30_000;

/** What the message to all channels is made of. */
export interface ChannelSchool {
  send: FormData;
  /** Path of the alert feed on the appliance, for whoever follows it. */
  feedPath: string;
}

/** Configures every channel's plugin for its far end and waits until all are well; UpstreamError after half a minute. */
export async function configureChannels(
  api: ApiClient,
  services: CampusReady["services"],
  clock: Clock,
  signal: AbortSignal,
): Promise<void> {
  const extensions = await listAll<Extension>(api, "/extensions");
  const wanted = new Map(
    CHANNELS.map((channel) => {
      const extension = extensions.find(({ name }) => name === channel.plugin);
      if (!extension) throw new UpstreamError("upstream", `The ${channel.plugin} plugin is not installed.`);
      return [extension.id, channel] as const;
    }),
  );
  for (const [id, channel] of wanted) {
    const config = channel.config(factsOf(services, channel));
    // One person has a device on every channel.
    const limit = channel.target.kind === "person" ? { deviceLimit: CHANNELS.length } : {};
    await api.put(`/extensions/${id}`, { disabled: false, config, ...limit });
  }
  await waitUntil(
    async () => {
      const rows = await listAll<Extension>(api, "/extensions");
      return rows
        .filter(({ id, status }) => wanted.has(id) && (status?.state !== "running" || status.health !== "ok"))
        .map(complaintOf);
    },
    clock,
    signal,
  );
}

/** Waits until nothing is missing any more; UpstreamError after half a minute, with what is. */
export async function waitUntil(
  missing: () => Promise<readonly string[]>,
  clock: Clock,
  signal: AbortSignal,
): Promise<void> {
  const until = clock.monotonicMs() + LONGEST_MS;
  for (;;) {
    const words = await missing();
    if (words.length === 0) return;
    if (clock.monotonicMs() > until) throw new UpstreamError("upstream", `Not ready: ${words.join("; ")}`);
    await sleep(clock, LOOK_EVERY_MS, signal);
  }
}

function complaintOf({ name, status }: Extension): string {
  return `${name} is ${status?.state ?? "absent"} (${status?.reason ?? status?.health ?? "no reason given"})`;
}

/** Makes a person with a device on every channel, groups of other systems, and a group with every kind of device. */
export async function makeChannelSchool(api: ApiClient, campus: CampusReady): Promise<ChannelSchool> {
  const { services } = campus;
  const reached = { listId: await makePerson(api, services), groups: await makeGroups(api, services) };
  const speakers = CHANNELS.filter(({ target }) => target.kind === "device").map((channel) => ({
    type: "speakers",
    deviceIdentifier: channel.address(factsOf(services, channel)),
    description: channel.name,
    attributes: channel.attributes?.(factsOf(services, channel)) ?? {},
  }));
  await registerDevices(api, [...campus.devices, ...speakers]);
  const everything = await api.post<Row>("/device-groups", { name: "Everything", filterType: "ACCEPT" });
  const send = new FormData();
  send.set("subject", "Every channel");
  send.set("body", "One message, by every way there is.");
  send.set("alertTone", "chime");
  send.append("distributionListIds[]", reached.listId);
  send.append("deviceGroupIds[]", everything.id);
  for (const { id } of reached.groups) send.append("collaborationGroupIds[]", id);
  send.set("audio", new Blob([makeRecording()], { type: "audio/wav" }), "every-channel.wav");
  const town = reached.groups.find(({ type }) => type === "outbound-cap");
  return { send, feedPath: `/x/cap-out/${town?.id}/atom` };
}

async function makePerson(api: ApiClient, services: CampusReady["services"]): Promise<string> {
  const user = await api.post<Row>("/users", { name: "Amara Okafor", email: "amara.okafor@school.example" });
  for (const channel of CHANNELS) {
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

async function makeGroups(api: ApiClient, services: CampusReady["services"]): Promise<(Row & { type: string })[]> {
  const made: (Row & { type: string })[] = [];
  for (const channel of CHANNELS) {
    const { target } = channel;
    if (target.kind !== "group") continue;
    const { type, properties } = target;
    const name = channel.address(factsOf(services, channel));
    made.push({ type, ...(await api.post<Row>("/collaboration-groups", { name, type, properties })) });
  }
  return made;
}

function factsOf(services: CampusReady["services"], { service }: Channel): ServiceFacts {
  return services[service] ?? {};
}
